// Exa: a search engine of its own, made for programs. https://exa.ai
//
// Errors are {"requestId", "error", "tag"}. Its rate and its credit belong to the team, so all keys
// of one team are refused together. It has no pages and no languages, and periods are told to it as
// dates. Without `contents` a result has no text at all. Each answer says what it cost.
#include "base/json.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "guard/retry_after.h"
#include "web/hit_list.h"
#include "web/plain_text.h"
#include "web/provider.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <span>

namespace sluice::web {
namespace {

// So many results are in the price of a search; each further one costs extra.
constexpr std::uint32_t kIncludedResults = 10;
constexpr std::int64_t kMicroUsdPerFurtherResult = 1'000;

constexpr ProviderSpec kSpec = {
    .name = "exa",
    .default_base_url = "https://api.exa.ai",
    .keys_variable = "EXA_API_KEYS",
    .key_variable = "EXA_API_KEY",
    .default_timeout = Millis(15'000),
    .unit = "searches",
    .micro_usd_per_unit = 7'000,
    .rate = {.tokens = 10, .interval = Millis(1'000)},  // of a team
    .can =
        {
            .max_results = 100,
            .included_results = kIncludedResults,
            .domains = {.include = 1'200, .exclude = 1'200},
            .country = true,
            .country_in_news = true,
            .freshness_period = true,
            .freshness_range = true,
            .news = true,
            .answer = true,
            .content = true,
            .safe_search = true,
        },
};

// Of one page's text, so that fifty of them stay inside what an answer may have.
constexpr int kMaxTextCharacters = 100'000;

// The team's ceiling is queries per second, and it does not say when to come back.
constexpr Millis kRateLimitPause{1'000};

std::chrono::days length_of(Freshness::Period period) {
    using std::chrono::days;
    switch (period) {
        case Freshness::Period::kDay:
            return days(1);
        case Freshness::Period::kWeek:
            return days(7);
        case Freshness::Period::kMonth:
            return days(31);
        case Freshness::Period::kYear:
            return days(366);
        case Freshness::Period::kAny:
        case Freshness::Period::kRange:
            break;
    }
    return days(0);
}

void write_freshness(JsonWriter& json, const Freshness& freshness, WallTime now) {
    if (freshness.period == Freshness::Period::kAny) {
        return;
    }
    if (freshness.period == Freshness::Period::kRange) {
        json.field("startPublishedDate", freshness.from + "T00:00:00Z");
        json.field("endPublishedDate", freshness.to + "T23:59:59Z");
        return;
    }
    json.field("startPublishedDate", rfc3339(now - length_of(freshness.period)));
}

// The highlights are the snippet; the text is the page's.
void write_contents(JsonWriter& json, bool want_text) {
    json.key("contents").begin_object().field("highlights", true);
    if (want_text) {
        json.key("text").begin_object().field("maxCharacters", kMaxTextCharacters).end_object();
    }
    json.end_object();
}

std::string request_body(const SearchRequest& request, WallTime now) {
    std::string body;
    JsonWriter json(body);
    json.begin_object()
        .field("query", request.query.reveal())
        .field("type", "auto")
        .field("numResults", request.max_results);
    if (request.topic == Topic::kNews) {
        json.field("category", "news");
    }
    if (!request.country.empty()) {
        json.field("userLocation", to_upper(request.country));
    }
    write_freshness(json, request.freshness, now);
    if (!request.include_domains.empty()) {
        json.field("includeDomains", request.include_domains);
    }
    if (!request.exclude_domains.empty()) {
        json.field("excludeDomains", request.exclude_domains);
    }
    if (request.safe_search == SafeSearch::kModerate ||
        request.safe_search == SafeSearch::kStrict) {
        json.field("moderation", true);
    }
    if (request.want_answer) {
        json.key("outputSchema").begin_object().field("type", "text").end_object();
    }
    write_contents(json, request.want_content);
    json.end_object();
    return body;
}

// The best text that there is: its highlights, else a summary, else the beginning of the page.
RawHit read_item(const JsonValue& item) {
    const auto score = item.find("score");
    const std::string_view text = item.string_at("text");
    const std::string_view summary = item.string_at("summary");
    return {
        .url = item.string_at("url"),
        .title = item.string_at("title"),
        .snippet = summary.empty() ? text : summary,
        .content = text,
        .score = score ? score->as_number() : std::nullopt,
        .published = item.string_at("publishedDate"),
        .joined_snippet = join_texts(item.find("highlights"), " … "),
    };
}

// {"costDollars": {"total": 0.007}}
std::optional<Cost> read_cost(const JsonValue& body) {
    constexpr double kMostUsd = 100;  // of one search; far beyond any price list
    const auto total = body.find("costDollars", "total");
    const auto usd = total ? total->as_number() : std::nullopt;
    if (!usd || !(*usd >= 0 && *usd <= kMostUsd)) {
        return std::nullopt;
    }
    return Cost{1, std::llround(*usd * 1'000'000)};
}

bool has_tag(const Signal& signal, std::string_view tag) {
    return signal.text("tag") == tag;
}

std::optional<Millis> moment_or_retry_after(const Signal& signal) {
    return guard::parse_retry_after(signal.response.header("retry-after"), signal.wall_now)
        .value_or(kRateLimitPause);
}

constexpr auto kRows = std::to_array<BlameRow>({
    {.status = 429,
     .effect = Effect::kCool,
     .outcome = Outcome::kRateLimited,
     .reach = Reach::kAccount,
     .penalty = moment_or_retry_after},
    // Asks to be paid on the spot, which it does of those who show no key.
    {.status = 402,
     .when =
         [](const Signal& signal) {
             const std::string_view tag = signal.text("tag");
             return tag.starts_with("X402_") || tag.starts_with("MPP_");
         },
     .effect = Effect::kQuarantine,
     .outcome = Outcome::kAuthFailed},
    {.status = 402,
     .when = [](const Signal& signal) { return has_tag(signal, "API_KEY_BUDGET_EXCEEDED"); },
     .effect = Effect::kExhaust,
     .outcome = Outcome::kQuotaExhausted},
    {.status = 402,
     .effect = Effect::kExhaust,
     .outcome = Outcome::kQuotaExhausted,
     .reach = Reach::kAccount},
    {.status = 403,
     .when =
         [](const Signal& signal) {
             return has_tag(signal, "FEATURE_DISABLED") || has_tag(signal, "INSUFFICIENT_SCOPE");
         },
     .effect = Effect::kKeyCannot,
     .outcome = Outcome::kPlanLimit},
    {.status = 403,
     .when =
         [](const Signal& signal) {
             return has_tag(signal, "PROHIBITED_CONTENT") ||
                    contains_ignoring_case(signal.text("tag"), "content_filter") ||
                    contains_ignoring_case(signal.text("error"), "content filter");
         },
     .effect = Effect::kCaller,
     .outcome = Outcome::kBadRequest},
    {.status = 403,
     .when = [](const Signal& signal) { return has_tag(signal, "TEAM_BLOCKED"); },
     .effect = Effect::kQuarantine,
     .outcome = Outcome::kAuthFailed,
     .reach = Reach::kAccount},
    // How many results one may ask for depends on the plan.
    {.status = 400,
     .when = [](const Signal& signal) { return has_tag(signal, "NUM_RESULTS_EXCEEDED"); },
     .effect = Effect::kKeyCannot,
     .outcome = Outcome::kPlanLimit},
});

class Exa final : public Provider {
 public:
    const ProviderSpec& spec() const override { return kSpec; }

    io::ClientRequest build(const SearchRequest& request, const ProviderKey& key,
                            const CallSite& site) const override {
        io::ClientRequest call = json_post(site, "/search", request_body(request, site.wall_now));
        call.secret_headers.emplace_back("x-api-key", key.secret);
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
        if (!request.want_content) {
            std::ranges::for_each(answer.hits, [](Hit& hit) { hit.content.clear(); });
        }
        if (request.want_answer) {
            answer.answer = answer_text(body.string_at("output", "content"));
        }
        answer.cost = read_cost(body);
        return answer;
    }

    std::span<const BlameRow> blame_rows() const override { return kRows; }

    Cost price(const SearchRequest& request) const override {
        const std::uint32_t further =
            std::max(request.max_results, kIncludedResults) - kIncludedResults;
        return {1, kSpec.micro_usd_per_unit + further * kMicroUsdPerFurtherResult};
    }
};

}  // namespace

const Provider& exa_provider() {
    static const Exa instance;
    return instance;
}

}  // namespace sluice::web
