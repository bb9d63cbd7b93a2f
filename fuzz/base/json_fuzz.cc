// Any bytes through the reader. What it accepts is written again, and the result must read back as
// the same document; what it refuses must be refused with a message that is text.
#include "base/json.h"
#include "base/result.h"
#include "base/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using sluice::JsonReader;
using sluice::JsonValue;
using sluice::JsonWriter;

constexpr sluice::JsonLimits kLimits{.max_bytes = 64 * 1024, .max_depth = 32};

// Bounded by the reader's depth.
void write(JsonWriter& out, const JsonValue& value) {
    switch (value.type()) {
        case JsonValue::Type::kNull:
            out.null();
            return;
        case JsonValue::Type::kBoolean:
            out.value(value.as_boolean().value());
            return;
        case JsonValue::Type::kInteger:
            if (const auto integer = value.as_integer()) {
                out.value(*integer);
            } else {
                out.value(value.as_number().value());
            }
            return;
        case JsonValue::Type::kNumber:
            out.value(value.as_number().value());
            return;
        case JsonValue::Type::kString:
            out.value(value.as_string().value());
            return;
        case JsonValue::Type::kArray:
            out.begin_array();
            for (const JsonValue& element : value.elements()) {
                write(out, element);
            }
            out.end_array();
            return;
        case JsonValue::Type::kObject:
            out.begin_object();
            for (const auto& [key, member] : value.members()) {
                out.key(key);
                write(out, member);
            }
            out.end_object();
            return;
    }
}

std::string written(const JsonValue& value) {
    std::string text;
    JsonWriter writer(text);
    write(writer, value);
    return text;
}

bool same(const JsonValue& a, const JsonValue& b) {
    if (a.is_array()) {
        return b.is_array() && std::ranges::equal(a.elements(), b.elements(), same);
    }
    if (a.is_object()) {
        const auto x = a.members();
        const auto y = b.members();
        bool equal = b.is_object() && x.size() == y.size();
        for (std::size_t i = 0; equal && i < x.size(); ++i) {
            equal = x[i].first == y[i].first && same(x[i].second, y[i].second);
        }
        return equal;
    }
    return a.as_number() == b.as_number() && a.as_string() == b.as_string() &&
           a.as_boolean() == b.as_boolean() && a.is_null() == b.is_null();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static JsonReader reader(kLimits);
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto value = reader.parse(bytes);
    if (!value.ok()) {
        SLUICE_ASSERT(sluice::is_valid_utf8(value.error().message));
        SLUICE_ASSERT(!value.error().message.empty());
    } else {
        SLUICE_ASSERT(sluice::is_valid_utf8(bytes));
        const std::string text = written(*value);
        // Room for escapes that are longer than what they stand for.
        JsonReader second(
            {.max_bytes = 6 * kLimits.max_bytes + 64, .max_depth = kLimits.max_depth});
        const auto again = second.parse(text);
        SLUICE_ASSERT(again.ok() && same(*value, *again));
        SLUICE_ASSERT(written(*again) == text);
    }
    // The same bytes as a text to be escaped.
    std::string quoted;
    sluice::append_json_string(quoted, bytes);
    JsonReader third({.max_bytes = 6 * size + 64, .max_depth = 1});
    const auto text = third.parse(quoted);
    SLUICE_ASSERT(text.ok() && text->is_string());
    SLUICE_ASSERT(!sluice::is_valid_utf8(bytes) || text->as_string() == bytes);
    return 0;
}
