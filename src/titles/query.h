// The first step of a title search: what was typed becomes a query, or an answer that costs nobody
// anything.
#pragma once

#include "base/secret.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::titles {

// Both in code points. The most counts for what was typed and for its match copy, since a match
// copy can be longer (U+FDFA becomes 18 code points).
inline constexpr std::size_t kMaxQueryCodePoints = 64;
inline constexpr std::size_t kMinQueryCodePoints = 2;

// In the order in which they are tested: the first that applies.
enum class QueryVerdict : std::uint8_t {
    kInvalid,   // not UTF-8, or it has a NUL
    kBlank,     // missing, or nothing is left of it in the match copy: the whole list is shown
    kTooLong,   // more than kMaxQueryCodePoints
    kTooShort,  // a match copy of less than kMinQueryCodePoints
    kUsable,
};

struct TitleQuery {
    QueryVerdict verdict = QueryVerdict::kBlank;
    // What was typed, to be shown in the form again whatever the verdict is: valid UTF-8 in which
    // control characters and ill-formed pieces are U+FFFD. Not escaped for any markup.
    QueryText display;
    // The match copy (titles/match_copy.h): what is scored, and part of the cache's key. Empty
    // unless the verdict is kUsable.
    QueryText match;
};

// `typed` is the decoded value of `q`, nothing when the request has none. The time it takes grows
// with its length, which the caller bounds. Thread-safe.
TitleQuery read_title_query(std::optional<std::string_view> typed);

}  // namespace sluice::titles
