// A body that is a JSON object, read field by field: each by the row of its name, each at most
// once, and a message for every mistake that names the field, what was expected and the nearest
// known name. Any thread; pure.
#pragma once

#include "base/json.h"
#include "base/result.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::surface {

// What becomes of a field's value.
template <class Target>
struct JsonField {
    std::string_view name;
    Status (*apply)(Target& target, const JsonValue& value);
};

// "title: expected a text"
Error wrong_field(std::string_view field, std::string_view expected);
// "unknown field 'titel'; did you mean 'title'?"
Error unknown_field(std::string_view name, const std::vector<std::string_view>& known);

// Errors as wrong_field() has them.
Result<std::string> text_of(std::string_view field, const JsonValue& value);
Result<std::int64_t> number_of(std::string_view field, const JsonValue& value, std::int64_t max);
Result<bool> boolean_of(std::string_view field, const JsonValue& value);

// A row's `apply` for a value that is read by `Read` and kept in `Member`.
template <class Target, auto Read, auto Member>
Status keep(Target& target, const JsonValue& value) {
    TRY(auto read, Read(value));
    std::invoke(Member, target) = std::move(read);
    return {};
}

// What stands in `body` of `fields` goes to `target`. kInvalidRequest, the caller's to mend.
template <class Target>
Status read_fields(JsonReader& reader, std::string_view body,
                   std::span<const JsonField<Target>> fields, Target& target) {
    TRY(const JsonValue root, reader.parse(body));
    if (!root.is_object()) {
        return Error{Code::kInvalidRequest, Blame::kCaller, "expected a JSON object", {}};
    }
    std::vector<std::string_view> seen;
    for (const auto& [name, value] : root.members()) {
        const auto field = std::ranges::find(fields, name, &JsonField<Target>::name);
        if (field == fields.end()) {
            std::vector<std::string_view> known;
            for (const auto& row : fields) {
                known.push_back(row.name);
            }
            return unknown_field(name, known);
        }
        if (std::ranges::find(seen, field->name) != seen.end()) {
            return Error{Code::kInvalidRequest,
                         Blame::kCaller,
                         std::string(field->name) + ": given twice",
                         {}};
        }
        seen.push_back(field->name);
        TRY_STATUS(field->apply(target, value));
    }
    return {};
}

}  // namespace sluice::surface
