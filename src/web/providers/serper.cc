// Serper: Google's results, as a service. https://serper.dev
//
// Its errors are {"message", "statusCode"} without a machine-readable code, and 400 covers three
// things: a bad query, an account without credits, and a query that a free account may not ask. It
// sends no rate-limit headers.
#include "base/json.h"
#include "base/text.h"
#include "guard/retry_after.h"
#include "web/hit_list.h"
#include "web/plain_text.h"
#include "web/provider.h"
#include "web/providers/google_terms.h"

#include <algorithm>
#include <array>
#include <span>

namespace sluice::web {
namespace {

constexpr ProviderSpec kSpec = {
    .name = "serper",
    .default_base_url = "https://google.serper.dev",
    .keys_variable = "SERPER_API_KEYS",
    .key_variable = "SERPER_API_KEY",
    .default_timeout = Millis(8'000),
    .unit = "credits",
    .micro_usd_per_unit = 1'000,                        // the smallest package
    .rate = {.tokens = 50, .interval = Millis(1'000)},  // of the smallest package
    .option = Constraint::kMaxResults,
    .can =
        {
            .max_results = 100,
            .max_page = 100,
            .max_query_code_points = 2'000,
            .domains = {.operators = 10, .words = kGoogleWords},
            .country = true,
            .country_in_news = true,
            .locale = true,
            .freshness_period = true,
            .freshness_range = true,
            .news = true,
            .answer = true,
            .safe_search = true,
        },
};

// What it returns unasked. A larger number costs more credits, and a free account that combines one
// with operators is refused, so the number is sent only where it differs.
constexpr std::uint32_t kDefaultResults = 10;

// A rate-limited key's, where the answer names no time.
constexpr Millis kRateLimitPause{2'000};

// "2026-01-05" as Google's custom range has it: "1/5/2026".
std::string american_date(std::string_view iso) {
    const auto without_zero = [](std::string_view two_digits) {
        return two_digits.starts_with('0') ? two_digits.substr(1) : two_digits;
    };
    SLUICE_ASSERT(iso.size() == 10);
    std::string out(without_zero(iso.substr(5, 2)));
    out += '/';
    out += without_zero(iso.substr(8, 2));
    out += '/';
    out += iso.substr(0, 4);
    return out;
}

std::string time_filter(const Freshness& freshness) {
    switch (freshness.period) {
        case Freshness::Period::kAny:
            return {};
        case Freshness::Period::kDay:
            return "qdr:d";
        case Freshness::Period::kWeek:
            return "qdr:w";
        case Freshness::Period::kMonth:
            return "qdr:m";
        case Freshness::Period::kYear:
            return "qdr:y";
        case Freshness::Period::kRange:
            return "cdr:1,cd_min:" + american_date(freshness.from) +
                   ",cd_max:" + american_date(freshness.to);
    }
    return {};
}

// The option that a free account may be refused.
bool has_number(const SearchRequest& request) {
    return request.max_results != kDefaultResults;
}

std::string request_body(const SearchRequest& request, BuildVariant variant) {
    std::string body;
    JsonWriter json(body);
    json.begin_object().field("q", request.query.reveal());
    if (has_number(request) && variant == BuildVariant::kFull) {
        json.field("num", request.max_results);
    }
    if (request.page > 1) {
        json.field("page", request.page);
    }
    if (!request.country.empty()) {
        json.field("gl", request.country);
    }
    if (!request.locale.empty()) {
        json.field("hl", google_language(request.locale));
    }
    if (const std::string filter = time_filter(request.freshness); !filter.empty()) {
        json.field("tbs", filter);
    }
    if (request.safe_search != SafeSearch::kUnset) {
        // It knows two levels; moderate gets the stricter one rather than none.
        json.field("safe", request.safe_search == SafeSearch::kOff ? "off" : "active");
    }
    json.end_object();
    return body;
}

RawHit read_item(const JsonValue& item) {
    return {
        .url = item.string_at("link"),
        .title = item.string_at("title"),
        .snippet = item.string_at("snippet"),
        .published = item.string_at("date"),
    };
}

std::optional<std::string> read_answer(const JsonValue& body) {
    for (const std::string_view member : {"answer", "snippet"}) {
        if (auto text = answer_text(body.string_at("answerBox", member))) {
            return text;
        }
    }
    return std::nullopt;
}

bool says(const Signal& signal, std::string_view words) {
    return contains_ignoring_case(signal.text("message"), words);
}

// Its ceiling is queries per second, and it does not say when to come back.
std::optional<Millis> moment_or_retry_after(const Signal& signal) {
    return guard::parse_retry_after(signal.response.header("retry-after"), signal.wall_now)
        .value_or(kRateLimitPause);
}

constexpr auto kRows = std::to_array<BlameRow>({
    {.status = 429,
     .effect = Effect::kCool,
     .outcome = Outcome::kRateLimited,
     .penalty = moment_or_retry_after},
    {.status = 400,
     .when = [](const Signal& signal) { return says(signal, "not enough credits"); },
     .effect = Effect::kExhaust,
     .outcome = Outcome::kQuotaExhausted},
    {.status = 400,
     .when = [](const Signal& signal) { return says(signal, "not allowed for free accounts"); },
     .effect = Effect::kKeyCannot,
     .outcome = Outcome::kPlanLimit,
     .again = Again::kWithoutOption},
});

class Serper final : public Provider {
 public:
    const ProviderSpec& spec() const override { return kSpec; }

    io::ClientRequest build(const SearchRequest& request, const ProviderKey& key,
                            const CallSite& site) const override {
        io::ClientRequest call =
            json_post(site, request.topic == Topic::kNews ? "/news" : "/search",
                      request_body(request, site.variant));
        call.secret_headers.emplace_back("X-API-KEY", key.secret);
        return call;
    }

    bool sends_option(const SearchRequest& request) const override { return has_number(request); }

    std::optional<ProviderAnswer> parse(const JsonValue& body,
                                        const SearchRequest& request) const override {
        ProviderAnswer answer;
        if (const auto list = body.find(request.topic == Topic::kNews ? "news" : "organic")) {
            auto hits = read_hits(*list, request.max_results, read_item);
            if (!hits) {
                return std::nullopt;
            }
            answer.hits = *std::move(hits);
        } else if (!body.find("searchParameters")) {
            return std::nullopt;  // the echo of the query is what makes a list-less answer Serper's
        }
        if (request.want_answer) {
            answer.answer = read_answer(body);
        }
        answer.cost = charged(kSpec, body.find("credits"));
        return answer;
    }

    std::span<const BlameRow> blame_rows() const override { return kRows; }

    // A page of up to ten results is one credit, a larger one two.
    Cost price(const SearchRequest& request) const override {
        return cost_of(kSpec, request.max_results > kDefaultResults ? 2 : 1);
    }
};

}  // namespace

const Provider& serper_provider() {
    static const Serper instance;
    return instance;
}

}  // namespace sluice::web
