#include "surface/common/json_fields.h"

#include "base/text.h"
#include "surface/common/responses.h"

namespace sluice::surface {

Error wrong_field(std::string_view field, std::string_view expected) {
    return invalid_request(std::string(field) + ": expected " + std::string(expected));
}

Error unknown_field(std::string_view name, const std::vector<std::string_view>& known) {
    std::string message = "unknown field " + shown_name(name);
    if (const auto guess = nearest(name, known)) {
        message += "; did you mean '" + std::string(*guess) + "'?";
    }
    return invalid_request(std::move(message));
}

Result<std::string> text_of(std::string_view field, const JsonValue& value) {
    const auto text = value.as_string();
    if (!text) {
        return wrong_field(field, "a text");
    }
    return std::string(*text);
}

Result<std::int64_t> number_of(std::string_view field, const JsonValue& value, std::int64_t max) {
    const auto number = value.as_integer();
    if (!number || *number < 1 || *number > max) {
        return wrong_field(field, "a whole number from 1 to " + std::to_string(max));
    }
    return *number;
}

Result<bool> boolean_of(std::string_view field, const JsonValue& value) {
    const auto boolean = value.as_boolean();
    if (!boolean) {
        return wrong_field(field, "true or false");
    }
    return *boolean;
}

}  // namespace sluice::surface
