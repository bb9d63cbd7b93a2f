// What a provider says about an error, made fit for traces, logs and the answer to a caller.
#pragma once

#include "base/json.h"
#include "base/secret.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::web {

inline constexpr std::size_t kMaxDetailBytes = 200;

// The message in an error body of any shape in use: a string under message, detail, error, title or
// their nested forms ("error": {"message"}, "detail": [{"msg"}], "errors": [...]). Empty: there is
// none. Points into `body`.
std::string_view error_words(const JsonValue& body);

// One line of at most kMaxDetailBytes. Services do quote what they refuse: parts of the key are
// replaced (web/key_mask.h), and so is the query, ignoring case, percent-encoded as well, and cut
// short as well (from 16 bytes on). A query of one to three bytes is replaced only where it stands
// alone.
std::string safe_detail(std::string_view words, const Secret& key, const QueryText& query);

}  // namespace sluice::web
