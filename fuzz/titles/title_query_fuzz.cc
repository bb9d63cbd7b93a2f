// The value of `q` as it stands in an address: whatever is accepted keeps to the limits that the
// scorer relies on, and what is shown again is clean.
#include "base/result.h"
#include "base/text.h"
#include "titles/match_copy.h"
#include "titles/query.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

void check_match_copy(std::string_view match) {
    SLUICE_ASSERT(sluice::is_valid_utf8(match));
    SLUICE_ASSERT(sluice::titles::match_copy(match) == match);
    SLUICE_ASSERT(match.find("  ") == std::string_view::npos);
    SLUICE_ASSERT(match.empty() || (match.front() != ' ' && match.back() != ' '));
}

void check(std::string_view typed) {
    using sluice::titles::QueryVerdict;
    const auto query = sluice::titles::read_title_query(typed);
    SLUICE_ASSERT(sluice::is_valid_utf8(query.display.reveal()));
    SLUICE_ASSERT(!sluice::has_control_characters(query.display.reveal()));
    const std::string_view match = query.match.reveal();
    SLUICE_ASSERT(match.empty() == (query.verdict != QueryVerdict::kUsable));
    if (query.verdict == QueryVerdict::kUsable) {
        const std::size_t length = sluice::count_code_points(match);
        SLUICE_ASSERT(length >= sluice::titles::kMinQueryCodePoints);
        SLUICE_ASSERT(length <= sluice::titles::kMaxQueryCodePoints);
    }
    SLUICE_ASSERT((query.verdict == QueryVerdict::kInvalid) ==
                  (!sluice::is_valid_utf8(typed) || typed.find('\0') != std::string_view::npos));
    check_match_copy(match);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    check(bytes);
    check_match_copy(sluice::titles::match_copy(bytes));
    if (const auto decoded = sluice::percent_decode(bytes, sluice::PlusIsSpace::kYes)) {
        check(*decoded);
    }
    return 0;
}
