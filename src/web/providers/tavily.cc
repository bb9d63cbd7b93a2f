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
#include <array>
#include <chrono>
#include <span>

namespace sluice::web {
namespace {

constexpr ProviderSpec kSpec = {
    .name = "tavily",
    .default_base_url = "https://api.tavily.com",
    .keys_variable = "TAVILY_API_KEYS",
    .key_variable = "TAVILY_API_KEY",
    .default_timeout = Millis(15'000),
    .unit = "credits",
    .micro_usd_per_unit = 8'000,                            // pay as you go
    .rate = {.tokens = 1'000, .interval = Millis(60'000)},  // of a production key
    .may_limit_address = true,
    .can =
        {
            .max_results = 20,
            .included_results = 20,
            .max_query_code_points = 400,
            .domains = {.include = 300, .exclude = 150},
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
        .field("search_depth", "basic")  // what price() is for, whatever is usual for a key
        .field("max_results", request.max_results);
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
    json.field("include_usage", true);
    if (!request.include_domains.empty()) {
        json.field("include_domains", request.include_domains);
    }
    if (!request.exclude_domains.empty()) {
        json.field("exclude_domains", request.exclude_domains);
    }
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

// The limits of keys and plans are counted by calendar month.
std::optional<Millis> until_next_month(const Signal& signal) {
    using std::chrono::floor;
    const std::chrono::year_month_day today(floor<std::chrono::days>(signal.wall_now));
    const auto next = today.year() / today.month() / 1 + std::chrono::months(1);
    return std::chrono::ceil<Millis>(std::chrono::sys_days(next) - signal.wall_now);
}

// A spent allowance names its wait in the body: {"error": {"retry_after_seconds"}}.
std::optional<Millis> wait_in_body(const Signal& signal) {
    using Seconds = std::chrono::duration<double>;
    const auto value = signal.json ? signal.json->find("error", "retry_after_seconds")
                                   : std::optional<JsonValue>();
    const auto wait = value ? value->as_number() : std::nullopt;
    if (!wait) {
        return std::nullopt;
    }
    return std::chrono::ceil<Millis>(
        std::clamp<Seconds>(Seconds(*wait), guard::kMinRetryAfter, guard::kMaxRetryAfter));
}

constexpr auto kRows = std::to_array<BlameRow>({
    // A request that it will not serve; a bad key is a 401.
    {.status = 403,
     .when = [](const Signal& signal) { return signal.json.has_value(); },
     .effect = Effect::kCaller,
     .outcome = Outcome::kBadRequest},
    {.status = 403, .effect = Effect::kProvider, .outcome = Outcome::kBlocked},
    {.status = {432, 433},
     .effect = Effect::kExhaust,
     .outcome = Outcome::kQuotaExhausted,
     .penalty = until_next_month},
    {.status = 429,
     .effect = Effect::kCool,
     .outcome = Outcome::kRateLimited,
     .penalty = wait_in_body},
});

class Tavily final : public Provider {
 public:
    const ProviderSpec& spec() const override { return kSpec; }

    io::ClientRequest build(const SearchRequest& request, const ProviderKey& key,
                            const CallSite& site) const override {
        io::ClientRequest call = json_post(site, "/search", request_body(request));
        std::string credentials = "Bearer ";
        credentials += key.secret.reveal();
        call.secret_headers.emplace_back("Authorization", Secret(std::move(credentials)));
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
        answer.cost = charged(kSpec, body.find("usage", "credits"));
        if (request.want_answer) {
            answer.answer = answer_text(body.string_at("answer"));
        }
        return answer;
    }

    std::span<const BlameRow> blame_rows() const override { return kRows; }
};

}  // namespace

const Provider& tavily_provider() {
    static const Tavily instance;
    return instance;
}

}  // namespace sluice::web
