#include "io/exchange.h"

#include "base/hash.h"
#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>

namespace sluice::io {

namespace {

constexpr std::int64_t kFormat = 1;
// Of a body that becomes part of a file; one that is nested deeper is kept as text.
constexpr std::size_t kBodyDepth = 48;
constexpr std::size_t kFileDepth = 64;
constexpr std::int64_t kLongestLatencyMs = 3'600'000;

constexpr std::array kMethods = {Method::kGet, Method::kHead,  Method::kPost,
                                 Method::kPut, Method::kPatch, Method::kDelete};
// How a transfer can fail, and whose fault that can be.
constexpr std::array kCodes = {Code::kUnavailable, Code::kUpstreamFailed, Code::kTimeout,
                               Code::kPayloadTooLarge, Code::kInvalidRequest};
constexpr std::array kBlames = {Blame::kProvider, Blame::kGateway};

using Headers = std::vector<std::pair<std::string, std::string>>;

Error wrong(std::string_view field, std::string_view what) {
    return Error{
        Code::kInvalidRequest, Blame::kCaller, std::string(field).append(": ").append(what), {}};
}

std::string without_credentials(std::string_view url) {
    const std::size_t scheme = url.find("://");
    const std::size_t host = scheme == std::string_view::npos ? 0 : scheme + 3;
    const std::size_t at = url.substr(0, url.find('/', host)).rfind('@');
    if (at == std::string_view::npos || at < host) {
        return std::string(url);
    }
    return std::string(url.substr(0, host)).append(url.substr(at + 1));
}

// In order of their names, for match_key(), or as they stand.
enum class Order : bool { kKept, kSorted };

void append_value(JsonWriter& json, const JsonValue& value, Order order) {
    switch (value.type()) {
        case JsonValue::Type::kNull:
            json.null();
            return;
        case JsonValue::Type::kBoolean:
            json.value(value.as_boolean().value_or(false));
            return;
        case JsonValue::Type::kInteger:
            if (const auto whole = value.as_integer()) {
                json.value(*whole);
                return;
            }
            [[fallthrough]];
        case JsonValue::Type::kNumber:
            json.value(value.as_number().value_or(0));
            return;
        case JsonValue::Type::kString:
            json.value(value.as_string().value_or(std::string_view()));
            return;
        case JsonValue::Type::kArray:
            json.begin_array();
            for (const JsonValue& element : value.elements()) {
                append_value(json, element, order);
            }
            json.end_array();
            return;
        case JsonValue::Type::kObject: {
            auto members = value.members();
            if (order == Order::kSorted) {
                std::ranges::sort(members, {}, [](const auto& member) { return member.first; });
            }
            json.begin_object();
            for (const auto& [name, member] : members) {
                json.key(name);
                append_value(json, member, order);
            }
            json.end_object();
            return;
        }
    }
}

std::string text_of(const JsonValue& value, Order order) {
    std::string text;
    JsonWriter json(text);
    append_value(json, value, order);
    return text;
}

void write_headers(JsonWriter& json, const Headers& headers) {
    json.key("headers").begin_array();
    for (const auto& [name, value] : headers) {
        json.value(name + ": " + value);
    }
    json.end_array();
}

void write_body(JsonWriter& json, const std::string& body, JsonReader& reader) {
    if (body.empty()) {
        return;
    }
    if (const auto value = reader.parse(body); value.ok()) {
        append_value(json.key("body"), *value, Order::kKept);
    } else if (is_valid_utf8(body)) {
        json.field("body_text", body);
    } else {
        json.field("body_hex", to_hex(body));
    }
}

std::optional<std::string> from_hex(std::string_view digits) {
    std::string bytes;
    bytes.reserve(digits.size() / 2);
    for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
        const char* const begin = digits.data() + at;
        unsigned value = 0;
        const auto [end, error] = std::from_chars(begin, begin + 2, value, 16);
        if (error != std::errc() || end != begin + 2) {
            return std::nullopt;
        }
        bytes.push_back(static_cast<char>(value));
    }
    return digits.size() % 2 == 0 ? std::optional(std::move(bytes)) : std::nullopt;
}

// An object of the file: its members by name, with errors that name the whole path.
class Fields {
 public:
    Fields(JsonValue object, std::string path) : object_(object), path_(std::move(path)) {}

    std::string path_of(std::string_view name) const {
        return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
    }
    Error wrong_at(std::string_view name, std::string_view what) const {
        return wrong(path_of(name), what);
    }
    std::optional<JsonValue> find(std::string_view name) const { return object_.find(name); }

    Status knows_only(const std::vector<std::string_view>& names) const {
        for (const auto& [name, value] : object_.members()) {
            if (std::ranges::find(names, name) != names.end()) {
                continue;
            }
            const auto guess = nearest(name, names);
            return wrong_at(
                is_valid_utf8(name) && name.size() <= 64 && !has_control_characters(name)
                    ? name
                    : "a member",
                guess ? "unknown; did you mean " + std::string(*guess) + "?" : "unknown");
        }
        return {};
    }

    Result<Fields> object(std::string_view name) const {
        const auto value = find(name);
        if (!value || !value->is_object()) {
            return wrong_at(name, "expected an object");
        }
        return Fields(*value, path_of(name));
    }

    Result<std::string> text(std::string_view name) const {
        const auto value = find(name);
        const auto text = value ? value->as_string() : std::nullopt;
        return text ? Result<std::string>(std::string(*text)) : wrong_at(name, "expected a text");
    }

    Result<std::int64_t> integer(std::string_view name, std::int64_t least,
                                 std::int64_t most) const {
        const auto value = find(name);
        const auto number = value ? value->as_integer() : std::nullopt;
        if (!number || *number < least || *number > most) {
            return wrong_at(name, "expected a whole number from " + std::to_string(least) + " to " +
                                      std::to_string(most));
        }
        return *number;
    }

    // One of `words`, by the name that to_string() gives it.
    template <class Words>
    Result<typename Words::value_type> word(std::string_view name, const Words& words) const {
        const auto value = find(name);
        const auto text = value ? value->as_string() : std::nullopt;
        std::string expected;
        for (const auto& candidate : words) {
            if (text && *text == to_string(candidate)) {
                return candidate;
            }
            expected.append(expected.empty() ? "" : ", ").append(to_string(candidate));
        }
        return wrong_at(name, "expected one of " + expected);
    }

    Result<Headers> headers() const {
        Headers headers;
        const auto list = find("headers");
        if (list && !list->is_array()) {
            return wrong_at("headers", "expected a list of \"name: value\"");
        }
        for (const JsonValue& line : list ? list->elements() : JsonElements()) {
            const std::string_view text = line.as_string().value_or(std::string_view());
            const std::size_t colon = text.find(':');
            if (colon == std::string_view::npos || colon == 0 ||
                text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
                return wrong_at("headers", "expected a list of \"name: value\", each one line");
            }
            headers.emplace_back(trim(text.substr(0, colon)), trim(text.substr(colon + 1)));
        }
        return headers;
    }

    Result<std::string> body() const {
        const auto json = find("body");
        const auto text = find("body_text");
        const auto hex = find("body_hex");
        if (int{json.has_value()} + int{text.has_value()} + int{hex.has_value()} > 1) {
            return wrong_at("body", "expected one of body, body_text and body_hex");
        }
        if (json) {
            return text_of(*json, Order::kKept);
        }
        if (text) {
            return this->text("body_text");
        }
        auto bytes = hex ? from_hex(hex->as_string().value_or("x")) : std::string();
        return bytes ? Result<std::string>(*std::move(bytes))
                     : wrong_at("body_hex", "expected pairs of hexadecimal digits");
    }

 private:
    JsonValue object_;
    std::string path_;
};

Result<ExchangeRequest> read_request(const Fields& file,
                                     std::span<const std::string_view> upstreams) {
    ExchangeRequest request;
    TRY(request.upstream, file.text("provider"));
    if (std::ranges::find(upstreams, request.upstream) == upstreams.end()) {
        const auto guess = nearest(request.upstream, {upstreams.begin(), upstreams.end()});
        return file.wrong_at("provider",
                             guess ? "no such provider; did you mean " + std::string(*guess) + "?"
                                   : "no such provider");
    }
    TRY(const Fields fields, file.object("request"));
    TRY_STATUS(fields.knows_only(
        {"method", "base_url", "target", "headers", "removed", "body", "body_text", "body_hex"}));
    TRY(request.method, fields.word("method", kMethods));
    TRY(request.target, fields.text("target"));
    if (!request.target.empty() && !request.target.starts_with('/') &&
        !request.target.starts_with('?')) {
        return fields.wrong_at("target", "expected what follows the base URL, \"/path?query\"");
    }
    TRY(request.headers, fields.headers());
    TRY(request.body, fields.body());
    return request;
}

Result<ClientResponse> read_response(const Fields& fields) {
    TRY_STATUS(fields.knows_only({"status", "headers", "body", "body_text", "body_hex"}));
    ClientResponse response;
    TRY(const std::int64_t status, fields.integer("status", 100, 599));
    response.status = static_cast<int>(status);
    TRY(response.headers, fields.headers());
    for (auto& [name, value] : response.headers) {
        name = to_lower(name);
    }
    TRY(response.body, fields.body());
    return response;
}

Status read_error(const Fields& fields, Error& error) {
    TRY_STATUS(fields.knows_only({"code", "blame", "message"}));
    TRY(error.code, fields.word("code", kCodes));
    TRY(error.blame, fields.word("blame", kBlames));
    TRY(error.message, fields.text("message"));
    return {};
}

// So that two spellings of one value are the same.
std::string encoded_anew(std::string_view text) {
    const auto plain = percent_decode(text, PlusIsSpace::kYes);
    return plain ? percent_encode(*plain) : std::string(text);
}

std::vector<std::string> sorted_parameters(std::string_view query) {
    std::vector<std::string> parameters;
    while (!query.empty()) {
        const std::string_view one = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), one.size() + 1));
        const std::size_t equals = std::min(one.find('='), one.size());
        parameters.push_back(
            encoded_anew(one.substr(0, equals)) +
            (equals < one.size() ? "=" + encoded_anew(one.substr(equals + 1)) : ""));
    }
    std::ranges::sort(parameters);
    return parameters;
}

std::string_view path_of(const ExchangeRequest& request) {
    return std::string_view(request.target).substr(0, request.target.find('?'));
}

}  // namespace

ExchangeRequest without_secrets(const ClientRequest& request) {
    ExchangeRequest plain;
    plain.upstream = request.upstream;
    const std::size_t base = std::min(request.base_bytes, request.url.size());
    plain.base_url = without_credentials(std::string_view(request.url).substr(0, base));
    plain.target = request.url.substr(base);
    plain.method = request.method;
    plain.headers = request.headers;
    plain.body = request.body;
    for (const auto& [name, value] : request.secret_headers) {
        plain.removed.push_back("header " + name);
    }
    for (const auto& [name, value] : request.secret_query) {
        plain.removed.push_back("parameter " + name);
    }
    return plain;
}

std::string operation_of(const ExchangeRequest& request) {
    return std::string(to_string(request.method))
        .append(" ")
        .append(request.upstream)
        .append(" ")
        .append(path_of(request));
}

ExchangeFormat::ExchangeFormat()
    : files_(JsonLimits{.max_bytes = kMaxFileBytes, .max_depth = kFileDepth}),
      bodies_(JsonLimits{.max_bytes = kMaxFileBytes, .max_depth = kBodyDepth}) {}

std::string ExchangeFormat::write(const Exchange& exchange) {
    const ExchangeRequest& request = exchange.request;
    std::string out;
    JsonWriter json(out);
    json.begin_object().field("sluice_recording", kFormat).field("provider", request.upstream);
    json.field("recorded_at", exchange.recorded_at).key("request").begin_object();
    json.field("method", to_string(request.method)).field("base_url", request.base_url);
    json.field("target", request.target);
    write_headers(json, request.headers);
    json.field("removed", request.removed);
    write_body(json, request.body, bodies_);
    json.end_object();
    if (exchange.outcome.ok()) {
        json.key("response").begin_object().field("status", exchange.outcome->status);
        write_headers(json, exchange.outcome->headers);
        write_body(json, exchange.outcome->body, bodies_);
        json.end_object();
    } else {
        const Error& error = exchange.outcome.error();
        json.key("error").begin_object().field("code", to_string(error.code));
        json.field("blame", to_string(error.blame)).field("message", error.message).end_object();
    }
    json.field("latency_ms", exchange.latency.count()).end_object();
    bodies_.shrink();
    return indented_json(out) + "\n";
}

Result<Exchange> ExchangeFormat::read(std::string_view bytes,
                                      std::span<const std::string_view> upstreams) {
    TRY(const JsonValue root, files_.parse(bytes));
    if (!root.is_object()) {
        return wrong("the file", "expected an object");
    }
    const Fields file(root, "");
    TRY([[maybe_unused]] const auto format, file.integer("sluice_recording", kFormat, kFormat));
    TRY_STATUS(file.knows_only({"sluice_recording", "provider", "recorded_at", "request",
                                "response", "error", "latency_ms", "note"}));
    TRY(ExchangeRequest request, read_request(file, upstreams));
    Exchange exchange{std::move(request), Error(), {}, {}};
    if (file.find("response").has_value() == file.find("error").has_value()) {
        return file.wrong_at("response", "expected either response or error");
    }
    if (file.find("response")) {
        TRY(const Fields fields, file.object("response"));
        TRY(ClientResponse response, read_response(fields));
        exchange.outcome = std::move(response);
    } else {
        TRY(const Fields fields, file.object("error"));
        TRY_STATUS(read_error(fields, exchange.outcome.error()));
    }
    if (file.find("latency_ms")) {
        TRY(const std::int64_t latency, file.integer("latency_ms", 0, kLongestLatencyMs));
        exchange.latency = Millis(latency);
    }
    return exchange;
}

std::string ExchangeFormat::match_key(const ExchangeRequest& request) {
    std::string key = operation_of(request);
    const std::size_t query = request.target.find('?');
    if (query != std::string::npos) {
        for (const std::string& parameter :
             sorted_parameters(std::string_view(request.target).substr(query + 1))) {
            key.append("\n").append(parameter);
        }
    }
    key.append("\n\n");
    const auto json = bodies_.parse(request.body);
    return key.append(json.ok() ? text_of(*json, Order::kSorted) : request.body);
}

}  // namespace sluice::io
