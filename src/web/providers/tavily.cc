// Tavily: a search engine made for language models. https://docs.tavily.com
//
// Errors are {"detail": {"error": ...}}, though detail may also be a string or a list. Two statuses
// are its own: 432, the limit of a key or plan, and 433, the ceiling of pay-as-you-go. There are no
// pages, and it takes a country by its English name and only outside the news.
#include "base/json.h"
#include "guard/retry_after.h"
#include "web/hit_list.h"
#include "web/plain_text.h"
#include "web/provider.h"
#include "web/providers/tavily_countries.h"

#include <algorithm>
#include <chrono>

namespace sluice::web {
namespace {

constexpr ProviderSpec kSpec = {
    .name = "tavily",
    .default_base_url = "https://api.tavily.com",
    .keys_variable = "TAVILY_API_KEYS",
    .key_variable = "TAVILY_API_KEY",
    .default_timeout = Millis(15'000),
    .rate = {.tokens = 1'000, .interval = Millis(60'000)},  // of a production key
    .can =
        {
            .max_results = 20,
            .max_page = 1,
            .max_query_code_points = 400,
            .max_domains = 150,  // 300 to include, 150 to exclude
            .country = true,
            .countries = kTavilyCountryCodes,
            .freshness_period = true,
            .freshness_range = true,
            .news = true,
            .answer = true,
            .content = true,
        },
};

std::string_view time_range(Freshness::Period period) {
    switch (period) {
        case Freshness::Period::kDay:
            return "day";
        case Freshness::Period::kWeek:
            return "week";
        case Freshness::Period::kMonth:
            return "month";
        case Freshness::Period::kYear:
            return "year";
        case Freshness::Period::kAny:
        case Freshness::Period::kRange:
            return {};
    }
    return {};
}

void write_list(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
    if (texts.empty()) {
        return;
    }
    json.key(name).begin_array();
    for (const std::string& text : texts) {
        json.value(text);
    }
    json.end_array();
}

void write_freshness(JsonWriter& json, const Freshness& freshness) {
    if (freshness.period == Freshness::Period::kRange) {
        json.field("start_date", freshness.from).field("end_date", freshness.to);
    } else if (const auto range = time_range(freshness.period); !range.empty()) {
        json.field("time_range", range);
    }
}

std::string request_body(const SearchRequest& request) {
    std::string body;
    JsonWriter json(body);
    json.begin_object()
        .field("query", request.query.reveal())
        .field("topic", request.topic == Topic::kNews ? "news" : "general")
        .field("max_results", std::min(request.max_results, kSpec.can.max_results));
    if (const auto country = tavily_country_name(request.country); !country.empty()) {
        json.field("country", country);
    }
    write_freshness(json, request.freshness);
    if (request.want_answer) {
        json.field("include_answer", "basic");
    }
    if (request.want_content) {
        json.field("include_raw_content", "markdown");
    }
    write_list(json, "include_domains", request.include_domains);
    write_list(json, "exclude_domains", request.exclude_domains);
    json.end_object();
    return body;
}

RawHit read_item(const JsonValue& item) {
    const auto score = item.find("score");
    return {
        .url = item.string_at("url"),
        .title = item.string_at("title"),
        .snippet = item.string_at("content"),
        .content = item.string_at("raw_content"),
        .score = score ? score->as_number() : std::nullopt,
        .published = item.string_at("published_date"),
    };
}

// Both limits are counted by calendar month.
Millis until_next_month(WallTime now) {
    using std::chrono::floor;
    const std::chrono::year_month_day today(floor<std::chrono::days>(now));
    const auto next = today.year() / today.month() / 1 + std::chrono::months(1);
    return std::chrono::ceil<Millis>(std::chrono::sys_days(next) - now);
}

// A spent allowance names its wait in the body: {"error": {"retry_after_seconds"}}.
std::optional<Millis> wait_in_body(const JsonValue& body) {
    using Seconds = std::chrono::duration<double>;
    const auto value = body.find("error", "retry_after_seconds");
    const auto wait = value ? value->as_number() : std::nullopt;
    if (!wait) {
        return std::nullopt;
    }
    return std::chrono::ceil<Millis>(
        std::clamp<Seconds>(Seconds(*wait), guard::kMinRetryAfter, guard::kMaxRetryAfter));
}

class Tavily final : public Provider {
 public:
    const ProviderSpec& spec() const override { return kSpec; }

    io::ClientRequest build(const SearchRequest& request, const ProviderKey& key,
                            std::string_view base_url) const override {
        io::ClientRequest call;
        call.method = io::Method::kPost;
        call.url = std::string(base_url) + "/search";
        call.headers = {{"Accept", "application/json"}, {"Content-Type", "application/json"}};
        std::string credentials = "Bearer ";
        credentials += key.secret.reveal();
        call.secret_headers.emplace_back("Authorization", Secret(std::move(credentials)));
        call.body = request_body(request);
        return call;
    }

    std::optional<ProviderAnswer> parse(const JsonValue& body,
                                        const SearchRequest& request) const override {
        const auto list = body.find("results");
        if (!list) {
            return std::nullopt;
        }
        auto hits = read_hits(*list, request.max_results, read_item);
        if (!hits) {
            return std::nullopt;
        }
        ProviderAnswer answer;
        answer.hits = *std::move(hits);
        if (request.want_answer) {
            std::string text = many_lines(body.string_at("answer"), kMaxAnswerBytes);
            if (!text.empty()) {
                answer.answer = std::move(text);
            }
        }
        return answer;
    }

    std::optional<Verdict> classify(const io::ClientResponse& response,
                                    const std::optional<JsonValue>& body,
                                    WallTime wall_now) const override {
        switch (response.status) {
            case 403:  // a request that it will not serve; a bad key is a 401
                if (body) {
                    return Verdict{Effect::kCaller, Outcome::kBadRequest};
                }
                return Verdict{Effect::kProvider, Outcome::kBlocked};
            case 432:
            case 433:
                return Verdict{Effect::kExhaust, Outcome::kQuotaExhausted,
                               until_next_month(wall_now)};
            case 429:
                if (const auto wait = body ? wait_in_body(*body) : std::nullopt) {
                    return Verdict{Effect::kCool, Outcome::kRateLimited, wait};
                }
                return std::nullopt;
            default:
                return std::nullopt;
        }
    }
};

}  // namespace

const Provider& tavily_provider() {
    static const Tavily instance;
    return instance;
}

}  // namespace sluice::web
