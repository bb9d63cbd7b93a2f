// Brave: a web index of its own. https://brave.com/search/api/
//
// Errors are {"error": {"code", "detail", "meta"}}, documented as a list "errors". A bad key is a
// 422 like a bad query, an option that a plan lacks a 400. Each answer tells of every window of
// requests, one entry a window in four headers of the same order. What was not found is not there:
// an answer without results has no list. Titles and texts are HTML.
#include "base/json.h"
#include "base/text.h"
#include "web/hit_list.h"
#include "web/provider.h"
#include "web/providers/brave_terms.h"
#include "web/url_query.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <span>

namespace sluice::web {
namespace {

constexpr ProviderSpec kSpec = {
    .name = "brave",
    .default_base_url = "https://api.search.brave.com",
    .keys_variable = "BRAVE_API_KEYS",
    .key_variable = "BRAVE_API_KEY",
    .default_timeout = Millis(8'000),
    .micro_usd_per_unit = 5'000,
    .rate = {.tokens = 50, .interval = Millis(1'000)},
    .option = Constraint::kContent,
    .can =
        {
            .max_results = 20,
            .max_news_results = 50,
            .included_results = 20,
            .max_page = 10,
            .max_query_code_points = 400,
            .max_query_words = 50,
            .domains = {.operators = 20},
            .country = true,
            .countries = kBraveCountries,
            .country_in_news = true,
            .locale = true,
            .knows_locale = [](std::string_view locale) { return !brave_language(locale).empty(); },
            .freshness_period = true,
            .freshness_range = true,
            .news = true,
            .content = true,
            .safe_search = true,
        },
};

std::string freshness_text(const Freshness& freshness) {
    switch (freshness.period) {
        case Freshness::Period::kAny:
            return {};
        case Freshness::Period::kDay:
            return "pd";
        case Freshness::Period::kWeek:
            return "pw";
        case Freshness::Period::kMonth:
            return "pm";
        case Freshness::Period::kYear:
            return "py";
        case Freshness::Period::kRange:
            return freshness.from + "to" + freshness.to;
    }
    return {};
}

std::string_view safe_search_text(SafeSearch level) {
    switch (level) {
        case SafeSearch::kUnset:
            return {};
        case SafeSearch::kOff:
            return "off";
        case SafeSearch::kModerate:
            return "moderate";
        case SafeSearch::kStrict:
            return "strict";
    }
    return {};
}

std::string address(const SearchRequest& request, const CallSite& site) {
    const bool news = request.topic == Topic::kNews;
    std::string url(site.base_url);
    url += news ? "/res/v1/news/search" : "/res/v1/web/search";
    UrlQuery query(url);
    query.add("q", request.query.reveal()).add("count", request.max_results);
    if (request.page > 1) {
        query.add("offset", request.page - 1);  // it counts pages, from 0
    }
    if (!request.country.empty()) {
        query.add("country", to_upper(request.country));
    }
    if (!request.locale.empty()) {
        query.add("search_lang", brave_language(request.locale));
    }
    if (const std::string freshness = freshness_text(request.freshness); !freshness.empty()) {
        query.add("freshness", freshness);
    }
    if (const auto level = safe_search_text(request.safe_search); !level.empty()) {
        query.add("safesearch", level);
    }
    if (!news) {
        query.add("result_filter", "web").add("text_decorations", "false");
    }
    if (request.want_content && site.variant == BuildVariant::kFull) {
        query.add("extra_snippets", "true");
    }
    return url;
}

RawHit read_item(const JsonValue& item) {
    RawHit raw;
    raw.url = item.string_at("url");
    raw.title = item.string_at("title");
    raw.snippet = item.string_at("description");
    raw.published = item.string_at("page_age");
    raw.joined_content = join_texts(item.find("extra_snippets"), "\n\n");
    raw.form = TextForm::kHtml;
    return raw;
}

// More than any plan has.
constexpr std::size_t kMaxWindows = 4;

std::optional<std::int64_t> whole_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole && value >= 0 ? std::optional(value) : std::nullopt;
}

// Seconds as they stand in a header; a window of more than a year is none.
std::optional<Millis> seconds_of(std::string_view text) {
    constexpr std::int64_t kMostSeconds = 366 * 86'400;
    const auto value = whole_number(text);
    return value && *value <= kMostSeconds ? std::optional(std::chrono::seconds(*value))
                                           : std::nullopt;
}

// One window: "2000;w=2592000" of the policy with its entries of the other two headers.
std::optional<RateWindow> window_of(std::string_view policy, std::string_view remaining,
                                    std::string_view reset) {
    const std::size_t parameter = policy.find(";w=");
    if (parameter == std::string_view::npos) {
        return std::nullopt;
    }
    const auto limit = whole_number(trim(policy.substr(0, parameter)));
    const auto length = seconds_of(policy.substr(parameter + 3));
    const auto left = whole_number(remaining);
    const auto until = seconds_of(reset);
    if (!limit || !length || !left || !until || *limit == 0) {  // 0: without limit
        return std::nullopt;
    }
    return RateWindow{*length, *limit, *left, *until};
}

std::size_t read_windows(const io::ClientResponse& response, std::span<RateWindow> out) {
    const auto policies = split_list(response.header("x-ratelimit-policy"));
    const auto remaining = split_list(response.header("x-ratelimit-remaining"));
    const auto resets = split_list(response.header("x-ratelimit-reset"));
    if (policies.size() != remaining.size() || policies.size() != resets.size()) {
        return 0;
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i < policies.size() && count < out.size(); ++i) {
        if (const auto window = window_of(policies[i], remaining[i], resets[i])) {
            out[count++] = *window;
        }
    }
    std::ranges::sort(out.first(count), {}, &RateWindow::length);
    return count;
}

struct Windows {
    explicit Windows(const io::ClientResponse& response) : count(read_windows(response, all)) {}

    std::array<RateWindow, kMaxWindows> all{};
    std::size_t count;
};

// The window that a plan is sold by is much longer than the one that smooths calls.
constexpr Millis kShortestQuota{3'600'000};

// The quota, where the answer says that nothing of it is left.
std::optional<RateWindow> spent_quota(const Signal& signal) {
    const Windows windows(signal.response);
    if (windows.count == 0) {
        return std::nullopt;
    }
    const RateWindow& longest = windows.all[windows.count - 1];
    const bool spent = longest.length >= kShortestQuota && longest.remaining == 0;
    return spent ? std::optional(longest) : std::nullopt;
}

// The error object: live answers have one, the documentation's example a list.
std::optional<JsonValue> error_of(const Signal& signal) {
    if (!signal.json) {
        return std::nullopt;
    }
    if (auto error = signal.json->find("error")) {
        return error;
    }
    const auto list = signal.json->find("errors");
    if (!list || list->elements(1).empty()) {
        return std::nullopt;
    }
    return list->elements(1).front();
}

bool has_code(const Signal& signal, std::string_view code) {
    const auto error = error_of(signal);
    return error && error->string_at("code") == code;
}

// {"meta": {"errors": [{"loc": ["header", ...]}]}}: the request was fine, the key was not there.
bool complains_of_header(const Signal& signal) {
    const auto error = error_of(signal);
    const auto list = error ? error->find("meta", "errors") : std::nullopt;
    if (!list) {
        return false;
    }
    return std::ranges::any_of(list->elements(kMaxItemsRead), [](const JsonValue& complaint) {
        const auto place = complaint.find("loc");
        return place && !place->elements(1).empty() &&
               place->elements(1).front().as_string() == "header";
    });
}

std::optional<Millis> until_quota_is_back(const Signal& signal) {
    const Windows windows(signal.response);
    return windows.count == 0 ? std::nullopt : std::optional(windows.all[windows.count - 1].reset);
}

std::optional<Millis> until_shortest_is_over(const Signal& signal) {
    constexpr Millis kAtLeast{1'000};
    const Windows windows(signal.response);
    return windows.count == 0 ? std::nullopt
                              : std::optional(std::max(windows.all[0].reset, kAtLeast));
}

constexpr auto kRows = std::to_array<BlameRow>({
    {.status = 422,
     .when = [](const Signal& signal) { return has_code(signal, "SUBSCRIPTION_TOKEN_INVALID"); },
     .effect = Effect::kQuarantine,
     .outcome = Outcome::kAuthFailed},
    {.status = 422,
     .when = complains_of_header,
     .effect = Effect::kQuarantine,
     .outcome = Outcome::kAuthFailed},
    {.status = 404,
     .when = [](const Signal& signal) { return has_code(signal, "SUBSCRIPTION_NOT_FOUND"); },
     .effect = Effect::kQuarantine,
     .outcome = Outcome::kAuthFailed},
    {.status = 400,
     .when = [](const Signal& signal) { return has_code(signal, "OPTION_NOT_IN_PLAN"); },
     .effect = Effect::kKeyCannot,
     .outcome = Outcome::kPlanLimit,
     .again = Again::kWithoutOption},
    {.status = 429,
     .when = [](const Signal& signal) { return has_code(signal, "QUOTA_LIMITED"); },
     .effect = Effect::kExhaust,
     .outcome = Outcome::kQuotaExhausted,
     .penalty = until_quota_is_back},
    {.status = 429,
     .when = [](const Signal& signal) { return has_code(signal, "USAGE_LIMIT_EXCEEDED"); },
     .effect = Effect::kExhaust,
     .outcome = Outcome::kQuotaExhausted,
     .penalty = until_quota_is_back},
    {.status = 429,
     .when = [](const Signal& signal) { return spent_quota(signal).has_value(); },
     .effect = Effect::kExhaust,
     .outcome = Outcome::kQuotaExhausted,
     .penalty = until_quota_is_back},
    {.status = 429,
     .effect = Effect::kCool,
     .outcome = Outcome::kRateLimited,
     .penalty = until_shortest_is_over},
    // Keys are never refused so: something in front of the API blocks us.
    {.status = 403, .effect = Effect::kProvider, .outcome = Outcome::kBlocked},
});

class Brave final : public Provider {
 public:
    const ProviderSpec& spec() const override { return kSpec; }

    io::ClientRequest build(const SearchRequest& request, const ProviderKey& key,
                            const CallSite& site) const override {
        io::ClientRequest call;
        call.url = address(request, site);
        call.headers = {{"Accept", "application/json"}};
        call.secret_headers.emplace_back("X-Subscription-Token", key.secret);
        return call;
    }

    bool sends_option(const SearchRequest& request) const override { return request.want_content; }

    std::optional<ProviderAnswer> parse(const JsonValue& body,
                                        const SearchRequest& request) const override {
        const bool news = request.topic == Topic::kNews;
        const auto list = news ? body.find("results") : body.find("web", "results");
        ProviderAnswer answer;
        if (!list) {
            const bool nothing_found =
                body.string_at("type") == (news ? "news" : "search") && (news || !body.find("web"));
            return nothing_found ? std::optional(std::move(answer)) : std::nullopt;
        }
        auto hits = read_hits(*list, request.max_results, read_item);
        if (!hits) {
            return std::nullopt;
        }
        answer.hits = *std::move(hits);
        if (!request.want_content) {
            std::ranges::for_each(answer.hits, [](Hit& hit) { hit.content.clear(); });
        }
        return answer;
    }

    std::span<const BlameRow> blame_rows() const override { return kRows; }

    std::size_t rate_windows(const io::ClientResponse& response,
                             std::span<RateWindow> out) const override {
        return read_windows(response, out);
    }
};

}  // namespace

const Provider& brave_provider() {
    static const Brave instance;
    return instance;
}

}  // namespace sluice::web
