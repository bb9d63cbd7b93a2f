#include "surface/common/query_string.h"

#include "base/text.h"
#include "surface/common/responses.h"

#include <algorithm>
#include <utility>

namespace sluice::surface {

namespace {

// Escape by escape, so that a bad one spoils no other.
std::string decode_leniently(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t plain = std::min(text.find_first_of("%+"), text.size());
        out += text.substr(0, plain);
        text.remove_prefix(plain);
        const std::string_view piece = text.substr(0, text.starts_with('%') ? 3 : 1);
        const auto decoded = percent_decode(piece, PlusIsSpace::kYes);
        const std::string_view taken = text.substr(0, decoded ? piece.size() : 1);
        out += decoded ? *decoded : std::string(taken);
        text.remove_prefix(taken.size());
    }
    return out;
}

}  // namespace

Result<std::vector<QueryField>> read_query_string(std::string_view query) {
    std::vector<QueryField> fields;
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(pair.size() + 1, query.size()));
        if (pair.empty()) {
            continue;
        }
        const std::size_t equals = std::min(pair.find('='), pair.size());
        auto name = percent_decode(pair.substr(0, equals), PlusIsSpace::kYes);
        auto value =
            percent_decode(pair.substr(std::min(equals + 1, pair.size())), PlusIsSpace::kYes);
        if (!name || !value || !is_valid_utf8(*name) || !is_valid_utf8(*value)) {
            return invalid_request("the query string is not percent-encoded UTF-8");
        }
        fields.push_back({*std::move(name), *std::move(value)});
    }
    return fields;
}

std::optional<std::string> first_field(std::string_view form, std::string_view name) {
    while (!form.empty()) {
        const std::string_view pair = form.substr(0, form.find('&'));
        form.remove_prefix(std::min(pair.size() + 1, form.size()));
        const std::size_t equals = std::min(pair.find('='), pair.size());
        if (decode_leniently(pair.substr(0, equals)) == name && !pair.empty()) {
            return decode_leniently(pair.substr(std::min(equals + 1, pair.size())));
        }
    }
    return std::nullopt;
}

}  // namespace sluice::surface
