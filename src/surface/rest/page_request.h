// From JSON to what it asks of the pages: bodies of the pages API, and lines of an import. Any
// thread; pure.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "base/secret.h"
#include "titles/page.h"
#include "titles/page_store.h"

#include <optional>
#include <string_view>

namespace sluice::surface {

struct PageAddition {
    titles::NewPage page;
    Secret pin = {};  // empty: none; yet to be hashed
};

struct PageChange {
    titles::PagePatch patch = {};
    std::optional<Secret> pin = {};  // empty text: is taken away; else yet to be hashed
};

// Errors of all: kInvalidRequest, with the field, what was expected, and the nearest known name of
// one that is not known. A PIN is never in a message.
Result<PageAddition> parse_new_page(std::string_view body);
Result<PageChange> parse_page_change(std::string_view body);
// As `sluice pages import` reads it: without a PIN. `reader` has kPageLimits.
Result<titles::NewPage> parse_page_line(JsonReader& reader, std::string_view line);
// A query string: limit, offset, sort, all.
Result<titles::PageQuery> parse_page_query(std::string_view query);

// A page with its body in JSON, in which a byte may take six.
inline constexpr JsonLimits kPageLimits{.max_bytes = 6 * titles::kMaxBodyBytes + 16 * 1024,
                                        .max_depth = 4};

}  // namespace sluice::surface
