#include "case_file.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace sluice::web::testing {
namespace {

[[noreturn]] void fail(std::string_view what, std::string_view name) {
    throw std::runtime_error(std::string(what) + ": " + std::string(name));
}

std::string text_of(const JsonValue& value) {
    const auto text = value.as_string();
    if (!text) {
        fail("not a text", canonical(value));
    }
    return std::string(*text);
}

std::uint32_t number_of(const JsonValue& value) {
    const auto number = value.as_integer();
    if (!number) {
        fail("not a whole number", canonical(value));
    }
    return static_cast<std::uint32_t>(*number);
}

std::vector<std::string> texts_of(const JsonValue& value) {
    std::vector<std::string> texts;
    for (const JsonValue& element : value.elements()) {
        texts.push_back(text_of(element));
    }
    return texts;
}

Freshness freshness_of(std::string_view text) {
    if (const auto dots = text.find(".."); dots != std::string_view::npos) {
        return {Freshness::Period::kRange, std::string(text.substr(0, dots)),
                std::string(text.substr(dots + 2))};
    }
    static const std::vector<std::pair<std::string_view, Freshness::Period>> periods = {
        {"day", Freshness::Period::kDay},
        {"week", Freshness::Period::kWeek},
        {"month", Freshness::Period::kMonth},
        {"year", Freshness::Period::kYear}};
    for (const auto& [name, period] : periods) {
        if (name == text) {
            return {.period = period};
        }
    }
    fail("no such freshness", text);
}

SafeSearch safe_search_of(std::string_view text) {
    if (text == "off") {
        return SafeSearch::kOff;
    }
    if (text == "moderate") {
        return SafeSearch::kModerate;
    }
    if (text == "strict") {
        return SafeSearch::kStrict;
    }
    fail("no such safe search", text);
}

void read_field(SearchRequest& request, std::string_view name, const JsonValue& value) {
    if (name == "query") {
        request.query = QueryText(text_of(value));
    } else if (name == "max_results") {
        request.max_results = number_of(value);
    } else if (name == "page") {
        request.page = number_of(value);
    } else if (name == "locale") {
        request.locale = text_of(value);
    } else if (name == "country") {
        request.country = text_of(value);
    } else if (name == "freshness") {
        request.freshness = freshness_of(text_of(value));
    } else if (name == "topic") {
        request.topic = text_of(value) == "news" ? Topic::kNews : Topic::kGeneral;
    } else if (name == "want_answer") {
        request.want_answer = value.as_boolean().value();
    } else if (name == "want_content") {
        request.want_content = value.as_boolean().value();
    } else if (name == "include_domains") {
        request.include_domains = texts_of(value);
    } else if (name == "exclude_domains") {
        request.exclude_domains = texts_of(value);
    } else if (name == "safe_search") {
        request.safe_search = safe_search_of(text_of(value));
    } else {
        fail("no such field of a request", name);
    }
}

void write_canonical(JsonWriter& json, const JsonValue& value) {
    switch (value.type()) {
        case JsonValue::Type::kNull:
            json.null();
            return;
        case JsonValue::Type::kBoolean:
            json.value(*value.as_boolean());
            return;
        case JsonValue::Type::kInteger:
        case JsonValue::Type::kNumber:
            json.value(*value.as_number());
            return;
        case JsonValue::Type::kString:
            json.value(*value.as_string());
            return;
        case JsonValue::Type::kArray:
            json.begin_array();
            for (const JsonValue& element : value.elements()) {
                write_canonical(json, element);
            }
            json.end_array();
            return;
        case JsonValue::Type::kObject:
            break;
    }
    auto members = value.members();
    std::ranges::sort(members, {}, [](const auto& member) { return member.first; });
    json.begin_object();
    for (const auto& [name, member] : members) {
        json.key(name);
        write_canonical(json, member);
    }
    json.end_object();
}

void write_hit(JsonWriter& json, const Hit& hit) {
    json.begin_object().field("url", hit.url).field("title", hit.title);
    if (!hit.snippet.empty()) {
        json.field("snippet", hit.snippet);
    }
    if (!hit.content.empty()) {
        json.field("content", hit.content);
    }
    if (hit.score) {
        json.field("score", *hit.score);
    }
    if (hit.published_at) {
        json.field("published_at", *hit.published_at);
    }
    json.end_object();
}

void write_answer(JsonWriter& json, const ProviderAnswer& answer) {
    json.begin_object().key("hits").begin_array();
    for (const Hit& hit : answer.hits) {
        write_hit(json, hit);
    }
    json.end_array();
    if (answer.answer) {
        json.field("answer", *answer.answer);
    }
    if (answer.cost) {
        json.key("cost").begin_object().field("units", answer.cost->units);
        json.field("micro_usd", answer.cost->micro_usd).end_object();
    }
    json.end_object();
}

void write_verdict(JsonWriter& json, const Verdict& verdict) {
    json.begin_object()
        .field("effect", name_of(verdict.effect))
        .field("outcome", to_string(verdict.outcome));
    if (verdict.penalty) {
        json.field("penalty_s", static_cast<double>(verdict.penalty->count()) / 1000);
    }
    if (verdict.reach != Reach::kKey) {
        json.field("reach", name_of(verdict.reach));
    }
    if (verdict.again == Again::kWithoutOption) {
        json.field("again", "without_option");
    }
    json.field("detail", verdict.detail).end_object();
}

}  // namespace

ProviderKey usual_key() {
    return {"k1", Secret(std::string(kUsualSecret))};
}

SearchRequest usual_request() {
    SearchRequest request;
    request.query = QueryText(std::string(kUsualQuery));
    return request;
}

WallTime usual_now() {
    using namespace std::chrono;
    return sys_days(2026y / November / 30) + hours(12);
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        fail("can't read", path);
    }
    std::ostringstream text;
    text << file.rdbuf();
    return std::move(text).str();
}

std::vector<std::string> json_files(const std::string& folder) {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".json") {
            paths.push_back(entry.path().string());
        }
    }
    std::ranges::sort(paths);
    return paths;
}

Document::Document(const std::string& text)
    : root_([&] {
          auto parsed = reader_.parse(text);
          if (!parsed) {
              fail(parsed.error().message, text.substr(0, 80));
          }
          return *parsed;
      }()) {}

std::string canonical(const JsonValue& value) {
    std::string out;
    JsonWriter json(out);
    write_canonical(json, value);
    return out;
}

std::string canonical(const std::string& json) {
    return canonical(Document(json).root());
}

SearchRequest read_request(const JsonValue& fields) {
    SearchRequest request = usual_request();
    for (const auto& [name, value] : fields.members()) {
        read_field(request, name, value);
    }
    return request;
}

io::ClientResponse read_response(const JsonValue& response) {
    io::ClientResponse out;
    for (const auto& [name, value] : response.members()) {
        if (name == "status") {
            out.status = static_cast<int>(number_of(value));
        } else if (name == "headers") {
            for (const auto& [header, text] : value.members()) {
                std::string lower(header);
                std::ranges::transform(lower, lower.begin(), [](char c) {
                    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
                });
                out.headers.emplace_back(std::move(lower), text_of(text));
            }
        } else if (name == "body") {
            out.body = canonical(value);
        } else if (name == "text") {
            out.body = text_of(value);
        } else {
            fail("no such member of a response", name);
        }
    }
    return out;
}

io::ClientResponse read_answer(const JsonValue& root, const std::string& folder) {
    if (const auto inline_response = root.find("response")) {
        return read_response(*inline_response);
    }
    const std::string fixture(root.string_at("fixture"));
    const Document file(read_file(folder + "fixtures/" + fixture + ".json"));
    return read_response(file.root());
}

WallTime read_time(std::string_view text) {
    const auto part = [text](std::size_t at, std::size_t size) {
        int value = 0;
        std::from_chars(text.data() + at, text.data() + at + size, value);
        return value;
    };
    if (text.size() != 20) {
        fail("not a time", text);
    }
    using namespace std::chrono;
    const year_month_day day(year(part(0, 4)), month(static_cast<unsigned>(part(5, 2))),
                             std::chrono::day(static_cast<unsigned>(part(8, 2))));
    return sys_days(day) + hours(part(11, 2)) + minutes(part(14, 2)) + seconds(part(17, 2));
}

std::string_view name_of(Effect effect) {
    switch (effect) {
        case Effect::kCool:
            return "cool";
        case Effect::kExhaust:
            return "exhaust";
        case Effect::kQuarantine:
            return "quarantine";
        case Effect::kKeyCannot:
            return "key_cannot";
        case Effect::kCaller:
            return "caller";
        case Effect::kProvider:
            return "provider";
        case Effect::kGateway:
            return "gateway";
        case Effect::kEmpty:
            return "empty";
    }
    return "unknown";
}

std::string_view name_of(Reach reach) {
    switch (reach) {
        case Reach::kKey:
            return "key";
        case Reach::kAccount:
            return "account";
        case Reach::kProvider:
            return "provider";
    }
    return "unknown";
}

std::string describe(const Judgement& judgement) {
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    if (const auto* answer = std::get_if<ProviderAnswer>(&judgement)) {
        json.key("answer");
        write_answer(json, *answer);
    } else {
        json.key("verdict");
        write_verdict(json, std::get<Verdict>(judgement));
    }
    json.end_object();
    return canonical(out);
}

}  // namespace sluice::web::testing
