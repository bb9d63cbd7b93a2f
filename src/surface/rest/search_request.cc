#include "surface/rest/search_request.h"

#include "base/json.h"
#include "base/text.h"
#include "surface/common/query_string.h"
#include "surface/common/responses.h"
#include "surface/rest/search_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::surface {

namespace {

using web::SearchRequest;

// Of a body. The server has bounded its size by server.max_body_bytes before it gets here.
constexpr JsonLimits kBodyLimits{.max_bytes = std::size_t{1} << 30, .max_depth = 8};

const SearchField* find_field(std::string_view name) {
    for (const SearchField& field : search_fields()) {
        if (field.name == name) {
            return &field;
        }
    }
    return nullptr;
}

// What other search services call some of our fields.
std::optional<std::string_view> name_elsewhere(std::string_view name) {
    struct Synonym {
        std::string_view theirs;
        std::string_view ours;
    };
    static constexpr auto kSynonyms = std::to_array<Synonym>({
        {"q", "query"},
        {"num", "max_results"},
        {"count", "max_results"},
        {"limit", "max_results"},
        {"numResults", "max_results"},
        {"num_results", "max_results"},
        {"pageno", "page"},
        {"offset", "page"},
        {"gl", "country"},
        {"hl", "locale"},
        {"lang", "locale"},
        {"language", "locale"},
        {"time_range", "freshness"},
        {"safesearch", "safe_search"},
        {"include_answer", "answer"},
        {"include_raw_content", "content"},
    });
    for (const Synonym& synonym : kSynonyms) {
        if (synonym.theirs == name && find_field(synonym.ours) != nullptr) {
            return synonym.ours;
        }
    }
    return std::nullopt;
}

Error unknown_field(std::string_view name) {
    std::vector<std::string_view> known;
    for (const SearchField& field : search_fields()) {
        known.push_back(field.name);
    }
    std::string message = "unknown field " + shown_name(name);
    auto guess = name_elsewhere(name);
    if (!guess) {
        guess = nearest(name, known);
    }
    if (guess) {
        message += "; did you mean '" + std::string(*guess) + "'?";
    }
    return invalid_request(std::move(message));
}

Error wrong_value(const SearchField& field, std::string_view expected) {
    return invalid_request(std::string(field.name) + ": " + std::string(expected));
}

std::string_view expected_type(FieldType type) {
    switch (type) {
        case FieldType::kText:
            return "expected a text";
        case FieldType::kInteger:
            return "expected a whole number";
        case FieldType::kBoolean:
            return "expected true or false";
        case FieldType::kTextList:
            return "expected a list of texts";
    }
    SLUICE_ASSERT(false && "a FieldType outside its enumeration");
}

// Range and choices, then the field's own rule.
Status apply(const SearchField& field, SearchRequest& request, FieldValue value) {
    if (field.type == FieldType::kInteger &&
        (value.integer < field.min || value.integer > field.max)) {
        return wrong_value(field, "expected a whole number from " + std::to_string(field.min) +
                                      " to " + std::to_string(field.max));
    }
    if (!field.choices.empty() &&
        std::find(field.choices.begin(), field.choices.end(), value.text) == field.choices.end()) {
        std::string expected = "expected one of:";
        for (std::string_view choice : field.choices) {
            expected.append(" ").append(choice);
        }
        return wrong_value(field, expected);
    }
    Status status = field.apply(request, std::move(value));
    if (!status.ok()) {
        return wrong_value(field, status.error().message);
    }
    return {};
}

std::optional<FieldValue> value_of(const JsonValue& json, FieldType type) {
    FieldValue value;
    switch (type) {
        case FieldType::kText:
            if (auto text = json.as_string()) {
                value.text = *text;
                return value;
            }
            return std::nullopt;
        case FieldType::kInteger:
            if (auto integer = json.as_integer()) {
                value.integer = *integer;
                return value;
            }
            return std::nullopt;
        case FieldType::kBoolean:
            if (auto boolean = json.as_boolean()) {
                value.boolean = *boolean;
                return value;
            }
            return std::nullopt;
        case FieldType::kTextList:
            if (!json.is_array()) {
                return std::nullopt;
            }
            for (const JsonValue& element : json.elements()) {
                const auto text = element.as_string();
                if (!text) {
                    return std::nullopt;
                }
                value.list.emplace_back(*text);
            }
            return value;
    }
    SLUICE_ASSERT(false && "a FieldType outside its enumeration");
}

std::optional<FieldValue> value_of(const std::string& text, FieldType type) {
    FieldValue value;
    switch (type) {
        case FieldType::kText:
            value.text = text;
            return value;
        case FieldType::kInteger: {
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), value.integer);
            if (error != std::errc() || end != text.data() + text.size()) {
                return std::nullopt;
            }
            return value;
        }
        case FieldType::kBoolean: {
            const std::string word = to_lower(text);
            if (word != "true" && word != "false" && word != "1" && word != "0") {
                return std::nullopt;
            }
            value.boolean = word == "true" || word == "1";
            return value;
        }
        case FieldType::kTextList:
            for (std::string_view item : split_list(text)) {
                value.list.emplace_back(item);
            }
            return value;
    }
    SLUICE_ASSERT(false && "a FieldType outside its enumeration");
}

Status check_whole(const SearchRequest& request) {
    if (request.query.empty()) {
        return invalid_request("query: required");
    }
    for (const std::string& domain : request.include_domains) {
        if (std::binary_search(request.exclude_domains.begin(), request.exclude_domains.end(),
                               domain)) {
            return invalid_request(
                "include_domains and exclude_domains: the same domain is in both");
        }
    }
    return {};
}

}  // namespace

Result<web::SearchRequest> parse_search_json(std::string_view body) {
    thread_local JsonReader reader(kBodyLimits);
    if (trim(body).empty()) {
        return invalid_request(
            "expected a JSON object such as {\"query\": \"...\"}; the body is empty");
    }
    TRY(const JsonValue root, reader.parse(body));
    if (!root.is_object()) {
        return invalid_request("expected a JSON object such as {\"query\": \"...\"}");
    }
    SearchRequest request;
    std::vector<std::string_view> seen;
    for (const auto& [name, json] : root.members()) {
        const SearchField* field = find_field(name);
        if (field == nullptr) {
            return unknown_field(name);
        }
        if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
            return wrong_value(*field, "given twice");
        }
        seen.push_back(field->name);
        if (json.is_null()) {
            continue;
        }
        auto value = value_of(json, field->type);
        if (!value) {
            return wrong_value(*field, expected_type(field->type));
        }
        TRY_STATUS(apply(*field, request, std::move(*value)));
    }
    TRY_STATUS(check_whole(request));
    return request;
}

Result<web::SearchRequest> parse_search_query(std::string_view query) {
    SearchRequest request;
    std::vector<const SearchField*> seen;
    TRY(const std::vector<QueryField> fields, read_query_string(query));
    for (const auto& [name, text] : fields) {
        const SearchField* field = find_field(name == "q" ? "query" : std::string_view(name));
        if (field == nullptr) {
            return unknown_field(name);
        }
        if (std::find(seen.begin(), seen.end(), field) != seen.end()) {
            return wrong_value(*field, "given twice");
        }
        seen.push_back(field);
        // Many clients send every parameter they know, the unused ones empty.
        if (text.empty() && field->name != "query") {
            continue;
        }
        auto value = value_of(text, field->type);
        if (!value) {
            return wrong_value(*field, expected_type(field->type));
        }
        TRY_STATUS(apply(*field, request, std::move(*value)));
    }
    TRY_STATUS(check_whole(request));
    return request;
}

}  // namespace sluice::surface
