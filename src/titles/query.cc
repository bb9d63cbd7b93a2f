#include "titles/query.h"

#include "base/text.h"
#include "titles/match_copy.h"

#include <string>
#include <utility>

namespace sluice::titles {

namespace {

constexpr std::string_view kReplacement = "\uFFFD";

// U+0000 to U+001F and U+007F to U+009F, which are one or two bytes long.
bool is_control(std::string_view character) {
    const auto first = static_cast<unsigned char>(character[0]);
    if (character.size() == 1) {
        return first < 0x20 || first == 0x7F;
    }
    return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

std::string display_copy(std::string_view typed) {
    std::string out;
    out.reserve(typed.size());
    while (!typed.empty()) {
        const Utf8Piece piece = first_utf8(typed);
        const std::string_view character = typed.substr(0, piece.bytes);
        out += piece.valid && !is_control(character) ? character : kReplacement;
        typed.remove_prefix(piece.bytes);
    }
    return out;
}

QueryVerdict judge(std::string_view typed, std::string_view match) {
    if (match.empty()) {
        return QueryVerdict::kBlank;
    }
    const std::size_t length = count_code_points(match);
    if (length > kMaxQueryCodePoints || count_code_points(typed) > kMaxQueryCodePoints) {
        return QueryVerdict::kTooLong;
    }
    return length < kMinQueryCodePoints ? QueryVerdict::kTooShort : QueryVerdict::kUsable;
}

}  // namespace

TitleQuery read_title_query(std::optional<std::string_view> typed) {
    if (!typed) {
        return {};
    }
    TitleQuery query;
    query.display = QueryText(display_copy(*typed));
    if (!is_valid_utf8(*typed) || typed->find('\0') != std::string_view::npos) {
        query.verdict = QueryVerdict::kInvalid;
        return query;
    }
    std::string match = match_copy(*typed);
    query.verdict = judge(*typed, match);
    if (query.verdict == QueryVerdict::kUsable) {
        query.match = QueryText(std::move(match));
    }
    return query;
}

}  // namespace sluice::titles
