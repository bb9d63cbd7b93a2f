// The fields of a native search request, declared once: their names, types, limits and help, how
// each is put into a web::SearchRequest, for JSON bodies and for query strings alike. /openapi.json
// and the docs come from the same table.
#pragma once

#include "base/result.h"
#include "web/types.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::surface {

enum class FieldType : std::uint8_t { kText, kInteger, kBoolean, kTextList };

// A value as it came in; the member that the field's type names is set.
struct FieldValue {
    std::string text;
    std::int64_t integer = 0;
    bool boolean = false;
    std::vector<std::string> list;
};

struct SearchField {
    std::string_view name;
    FieldType type;
    std::string_view help;
    std::vector<std::string_view> choices = {};  // of a text field; empty: free text
    std::int64_t min = 0;                        // of an integer
    std::int64_t max = 0;
    // Puts a value of the right type and range into the request. Its error says what was expected,
    // without the field's name.
    Status (*apply)(web::SearchRequest& request, FieldValue value);
};

// All of them, the native ones first. Any thread; they live as long as the process.
std::span<const SearchField> search_fields();

// Limits of a request, whatever the providers' own are.
inline constexpr std::size_t kMaxQueryCodePoints = 2'000;
inline constexpr std::size_t kMaxDomains = 300;
inline constexpr std::size_t kMaxSessionIdBytes = 128;

}  // namespace sluice::surface
