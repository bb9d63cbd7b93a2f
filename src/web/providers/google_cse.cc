// Google's Custom Search JSON API. https://developers.google.com/custom-search/v1
//
// It ends on 1 January 2027 and takes no new customers, so it is off unless it is enabled. A key
// goes together with an engine ("cx"), and both travel in the query part. Errors are {"error":
// {"message", "errors": [{"reason"}], "details": [{"reason", "metadata"}]}}; one status stands for
// the day's quota and for the minute's, which only words tell apart. Days end at midnight in
// California. An answer without results has no list.
#include "base/json.h"
#include "base/text.h"
#include "guard/retry_after.h"
#include "web/hit_list.h"
#include "web/pacific_time.h"
#include "web/provider.h"
#include "web/providers/google_terms.h"
#include "web/url_query.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

namespace sluice::web {
namespace {

constexpr ProviderSpec kSpec = {
    .name = "google_cse",
    .default_base_url = "https://www.googleapis.com",
    .keys_variable = "GOOGLE_CSE_API_KEYS",
    .key_variable = "GOOGLE_CSE_API_KEY",
    .default_timeout = Millis(8'000),
    .micro_usd_per_unit = 5'000,
    .enabled_by_default = false,
    .needs_engine = true,
    .engine_variable = "GOOGLE_CSE_ENGINE_ID",
    .notice = "Google ends this service on 1 January 2027; remove it from the routes by then",
    .can =
        {
            .max_results = 10,
            .max_page = 100,
            .max_depth = 100,
            .max_query_code_points = 2'000,
            .domains = {.include = 1,
                        .exclude = 1,
                        .one_list = true,
                        .operators = 10,
                        .words = kGoogleWords},
            .country = true,
            .locale = true,
            .freshness_period = true,
            .freshness_range = true,
            .safe_search = true,
        },
};

// A minute's quota, where the answer does not say when it is back.
constexpr Millis kMinutePause{60'000};

// What of an answer is read. The rest of a page map is large.
constexpr std::string_view kFields =
    "kind,error,items(title,link,snippet,pagemap/metatags/article:published_time)";

std::string_view date_restriction(Freshness::Period period) {
    switch (period) {
        case Freshness::Period::kDay:
            return "d1";
        case Freshness::Period::kWeek:
            return "w1";
        case Freshness::Period::kMonth:
            return "m1";
        case Freshness::Period::kYear:
            return "y1";
        case Freshness::Period::kAny:
        case Freshness::Period::kRange:
            break;
    }
    return {};
}

// "2026-01-05" as "20260105".
std::string digits_of(std::string_view iso) {
    std::string digits(iso);
    std::erase(digits, '-');
    return digits;
}

void add_freshness(UrlQuery& query, const Freshness& freshness) {
    if (freshness.period == Freshness::Period::kRange) {
        query.add("sort", "date:r:" + digits_of(freshness.from) + ":" + digits_of(freshness.to));
    } else if (const auto period = date_restriction(freshness.period); !period.empty()) {
        query.add("dateRestrict", period);
    }
}

// It takes one site, to keep to or to keep out.
void add_site(UrlQuery& query, const SearchRequest& request) {
    if (!request.include_domains.empty()) {
        query.add("siteSearch", request.include_domains.front()).add("siteSearchFilter", "i");
    } else if (!request.exclude_domains.empty()) {
        query.add("siteSearch", request.exclude_domains.front()).add("siteSearchFilter", "e");
    }
}

std::string address(const SearchRequest& request, const CallSite& site,
                    std::string_view engine_id) {
    std::string url(site.base_url);
    url += "/customsearch/v1";
    UrlQuery query(url);
    query.add("cx", engine_id).add("q", request.query.reveal()).add("num", request.max_results);
    if (request.page > 1) {
        query.add("start", (request.page - 1) * request.max_results + 1);  // counts items, from 1
    }
    if (!request.country.empty()) {
        query.add("gl", request.country);
    }
    if (!request.locale.empty()) {
        query.add("hl", google_language(request.locale));
    }
    add_freshness(query, request.freshness);
    add_site(query, request);
    if (request.safe_search != SafeSearch::kUnset) {
        // It knows two levels; moderate gets the stricter one rather than none.
        query.add("safe", request.safe_search == SafeSearch::kOff ? "off" : "active");
    }
    query.add("fields", kFields);
    return url;
}

// The page's own word, else the date that the snippet begins with: "Sep 14, 2026 ... How silica".
std::string_view published_of(const JsonValue& item, std::string_view snippet) {
    if (const auto tags = item.find("pagemap", "metatags")) {
        const JsonElements all = tags->elements(1);
        const auto time =
            all.empty() ? std::string_view() : all.front().string_at("article:published_time");
        if (!time.empty()) {
            return time;
        }
    }
    constexpr std::string_view kAfterDate = " ... ";
    constexpr std::size_t kMaxDateBytes = 20;
    const std::size_t end = snippet.substr(0, kMaxDateBytes).find(kAfterDate);
    return end == std::string_view::npos ? std::string_view() : snippet.substr(0, end);
}

RawHit read_item(const JsonValue& item) {
    RawHit raw;
    raw.url = item.string_at("link");
    raw.title = item.string_at("title");
    raw.snippet = item.string_at("snippet");
    raw.published = published_of(item, raw.snippet);
    return raw;
}

// Whether a member of the error's list `name` has that reason.
bool has_reason(const Signal& signal, std::string_view name, std::string_view reason) {
    const auto list = signal.json ? signal.json->find("error", name) : std::optional<JsonValue>();
    if (!list) {
        return false;
    }
    return std::ranges::any_of(list->elements(kMaxItemsRead), [reason](const JsonValue& entry) {
        return entry.string_at("reason") == reason;
    });
}

bool says(const Signal& signal, std::string_view words) {
    return contains_ignoring_case(signal.text("error", "message"), words);
}

bool names_daily_limit(const Signal& signal) {
    const auto list =
        signal.json ? signal.json->find("error", "details") : std::optional<JsonValue>();
    if (!list) {
        return false;
    }
    return std::ranges::any_of(list->elements(kMaxItemsRead), [](const JsonValue& entry) {
        return contains_ignoring_case(
            entry.string_at("metadata", "quota_limit").substr(0, Signal::kMaxTextBytes), "PerDay");
    });
}

std::optional<Millis> until_midnight(const Signal& signal) {
    return std::chrono::ceil<Millis>(next_pacific_midnight(signal.wall_now) - signal.wall_now);
}

std::optional<Millis> minute_or_retry_after(const Signal& signal) {
    return guard::parse_retry_after(signal.response.header("retry-after"), signal.wall_now)
        .value_or(kMinutePause);
}

// A row for one reason of the older form of quota errors.
template <const auto& kReason>
bool has_error_reason(const Signal& signal) {
    return has_reason(signal, "errors", kReason);
}

constexpr char kDaily[] = "dailyLimitExceeded";
constexpr char kQuota[] = "quotaExceeded";
constexpr char kRate[] = "rateLimitExceeded";
constexpr char kUserRate[] = "userRateLimitExceeded";

constexpr auto kRows = std::to_array<BlameRow>({
    {.status = 400,
     .when = [](const Signal& signal) { return has_reason(signal, "details", "API_KEY_INVALID"); },
     .effect = Effect::kQuarantine,
     .outcome = Outcome::kAuthFailed},
    {.status = 400,
     .when = [](const Signal& signal) { return says(signal, "api key"); },
     .effect = Effect::kQuarantine,
     .outcome = Outcome::kAuthFailed},
    {.status = 403,
     .when = has_error_reason<kDaily>,
     .effect = Effect::kExhaust,
     .outcome = Outcome::kQuotaExhausted,
     .reach = Reach::kAccount,
     .penalty = until_midnight},
    {.status = 403,
     .when = has_error_reason<kQuota>,
     .effect = Effect::kExhaust,
     .outcome = Outcome::kQuotaExhausted,
     .reach = Reach::kAccount,
     .penalty = until_midnight},
    {.status = 403,
     .when = has_error_reason<kRate>,
     .effect = Effect::kCool,
     .outcome = Outcome::kRateLimited,
     .penalty = minute_or_retry_after},
    {.status = 403,
     .when = has_error_reason<kUserRate>,
     .effect = Effect::kCool,
     .outcome = Outcome::kRateLimited,
     .penalty = minute_or_retry_after},
    {.status = 429,
     .when = [](const Signal& signal) { return says(signal, "per day"); },
     .effect = Effect::kExhaust,
     .outcome = Outcome::kQuotaExhausted,
     .reach = Reach::kAccount,
     .penalty = until_midnight},
    {.status = 429,
     .when = names_daily_limit,
     .effect = Effect::kExhaust,
     .outcome = Outcome::kQuotaExhausted,
     .reach = Reach::kAccount,
     .penalty = until_midnight},
    {.status = 429,
     .effect = Effect::kCool,
     .outcome = Outcome::kRateLimited,
     .penalty = minute_or_retry_after},
});

class GoogleCse final : public Provider {
 public:
    const ProviderSpec& spec() const override { return kSpec; }

    io::ClientRequest build(const SearchRequest& request, const ProviderKey& key,
                            const CallSite& site) const override {
        const std::string_view engine_id =
            key.engine_id.empty() ? site.engine_id : std::string_view(key.engine_id);
        io::ClientRequest call;
        call.url = address(request, site, engine_id);
        call.headers = {{"Accept", "application/json"}};
        call.secret_query.emplace_back("key", key.secret);
        return call;
    }

    std::optional<ProviderAnswer> parse(const JsonValue& body,
                                        const SearchRequest& request) const override {
        ProviderAnswer answer;
        const auto list = body.find("items");
        if (!list) {
            const bool nothing_found = body.string_at("kind") == "customsearch#search";
            return nothing_found ? std::optional(std::move(answer)) : std::nullopt;
        }
        auto hits = read_hits(*list, request.max_results, read_item);
        if (!hits) {
            return std::nullopt;
        }
        answer.hits = *std::move(hits);
        return answer;
    }

    std::span<const BlameRow> blame_rows() const override { return kRows; }
};

}  // namespace

const Provider& google_cse_provider() {
    static const GoogleCse instance;
    return instance;
}

}  // namespace sluice::web
