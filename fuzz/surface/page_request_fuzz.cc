// Any bytes as a body of the pages API, as a line of an import and as a query string. Whatever is
// accepted keeps to the limits that the store relies on.
#include "base/result.h"
#include "base/text.h"
#include "surface/rest/page_request.h"
#include "titles/slug.h"
#include "titles/visible.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using namespace sluice;

void check_error(const Error& error) {
    SLUICE_ASSERT(error.blame == Blame::kCaller);
    SLUICE_ASSERT(is_valid_utf8(error.message));
}

void check_line(std::string_view text, std::size_t most) {
    SLUICE_ASSERT(is_valid_utf8(text) && !has_control_characters(text));
    SLUICE_ASSERT(count_code_points(text) <= most);
}

void check_page(const titles::NewPage& page) {
    check_line(page.title, titles::kMaxTitleCodePoints);
    check_line(page.author, titles::kMaxAuthorCodePoints);
    SLUICE_ASSERT(titles::is_visible(page.title));
    SLUICE_ASSERT(page.slug.empty() || titles::is_slug(page.slug));
    SLUICE_ASSERT(page.body.size() <= titles::kMaxBodyBytes && is_valid_utf8(page.body));
    SLUICE_ASSERT(page.id.value_or(1) >= 1 && page.id.value_or(1) <= titles::kMaxPageNumber);
    SLUICE_ASSERT(page.version.value_or(1) >= 1);
    SLUICE_ASSERT(page.pin_hash.empty());
    SLUICE_ASSERT(titles::is_slug(titles::slug_of(page.title)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto addition = surface::parse_new_page(bytes);
    if (addition.ok()) {
        check_page(addition->page);
        SLUICE_ASSERT(addition->pin.empty() || addition->page.is_claimed);
        SLUICE_ASSERT(addition->pin.reveal().size() <= titles::kMaxPinBytes);
    } else {
        check_error(addition.error());
    }
    const auto change = surface::parse_page_change(bytes);
    if (change.ok()) {
        SLUICE_ASSERT(change->pin || !change->patch.changes_nothing());
        check_line(change->patch.title.value_or(""), titles::kMaxTitleCodePoints);
        SLUICE_ASSERT(!change->patch.pin_hash);
    } else {
        check_error(change.error());
    }
    JsonReader reader(surface::kPageLimits);
    const auto page = surface::parse_page_line(reader, bytes);
    if (page.ok()) {
        check_page(*page);
    } else {
        check_error(page.error());
    }
    const auto query = surface::parse_page_query(bytes);
    if (query.ok()) {
        SLUICE_ASSERT(query->limit >= 1 && query->limit <= titles::kMaxListed);
        SLUICE_ASSERT(query->offset <= titles::kMaxPages);
    } else {
        check_error(query.error());
    }
    return 0;
}
