#include "surface/rest/search_fields.h"

#include "base/text.h"
#include "web/config.h"
#include "web/provider.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace sluice::surface {

namespace {

using web::SearchRequest;
using Period = web::Freshness::Period;

Error invalid(std::string message) {
    return Error{Code::kInvalidRequest, Blame::kCaller, std::move(message), {}};
}

// A calendar day as ISO 8601 writes it.
bool is_iso_day(std::string_view text) {
    if (text.size() != 10 || text[4] != '-' || text[7] != '-') {
        return false;
    }
    std::array<int, 3> parts{};
    constexpr std::array<std::pair<std::size_t, std::size_t>, 3> kRanges = {
        {{0, 4}, {5, 2}, {8, 2}}};
    for (std::size_t i = 0; i < 3; ++i) {
        const char* first = text.data() + kRanges[i].first;
        const char* last = first + kRanges[i].second;
        const auto [end, error] = std::from_chars(first, last, parts[i]);
        if (error != std::errc() || end != last || parts[i] < 0) {
            return false;
        }
    }
    const bool leap = (parts[0] % 4 == 0 && parts[0] % 100 != 0) || parts[0] % 400 == 0;
    const std::array<int, 12> days = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return parts[1] >= 1 && parts[1] <= 12 && parts[2] >= 1 &&
           parts[2] <= days[static_cast<std::size_t>(parts[1] - 1)];
}

// "MM/DD/YYYY" with one or two digits for month and day -> ISO; nothing when it is not a day.
std::optional<std::string> iso_from_us_day(std::string_view text) {
    const std::vector<std::string_view> parts = split_list(text, '/');
    if (parts.size() != 3 || parts[0].size() > 2 || parts[1].size() > 2 || parts[2].size() != 4) {
        return std::nullopt;
    }
    const auto two = [](std::string_view digits) {
        return digits.size() == 1 ? "0" + std::string(digits) : std::string(digits);
    };
    std::string iso = std::string(parts[2]) + "-" + two(parts[0]) + "-" + two(parts[1]);
    if (!is_iso_day(iso)) {
        return std::nullopt;
    }
    return iso;
}

bool is_domain(std::string_view domain) {
    if (domain.empty() || domain.size() > kMaxDomainBytes || domain.find('.') == domain.npos ||
        domain.front() == '.' || domain.back() == '.' || domain.find("..") != domain.npos) {
        return false;
    }
    return std::all_of(domain.begin(), domain.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= 0x80 || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '.' || c == '_';
    });
}

// Adds domains, lower-cased; a set in the end, so that their order does not matter.
Status add_domains(std::vector<std::string>& target, const std::vector<std::string>& domains) {
    for (const std::string& raw : domains) {
        std::string domain = to_lower(trim(raw));
        if (!is_domain(domain)) {
            return invalid("expected host names such as example.org");
        }
        target.push_back(std::move(domain));
    }
    std::sort(target.begin(), target.end());
    target.erase(std::unique(target.begin(), target.end()), target.end());
    if (target.size() > kMaxDomains) {
        return invalid("expected at most " + std::to_string(kMaxDomains) + " domains");
    }
    return {};
}

Status set_query(SearchRequest& r, FieldValue v) {
    const std::string_view text = trim(v.text);
    if (text.empty()) {
        return invalid("expected a text that is not blank");
    }
    if (text.find('\0') != text.npos) {
        return invalid("expected a text without NUL");
    }
    if (count_code_points(text) > kMaxQueryCodePoints) {
        return invalid("expected at most " + std::to_string(kMaxQueryCodePoints) + " characters");
    }
    r.query = QueryText(std::string(text));
    return {};
}

Status set_country(SearchRequest& r, FieldValue v) {
    const std::string country = to_lower(v.text);
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    if (country.size() != 2 || !is_letter(country[0]) || !is_letter(country[1])) {
        return invalid("expected a two-letter country code (ISO 3166-1), such as de");
    }
    r.country = country;
    return {};
}

Status set_locale(SearchRequest& r, FieldValue v) {
    const bool plain = std::all_of(v.text.begin(), v.text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-';
    });
    if (v.text.size() < 2 || v.text.size() > 35 || !plain || v.text.front() == '-' ||
        v.text.back() == '-') {
        return invalid("expected a language tag (BCP 47), such as de or pt-BR");
    }
    r.locale = v.text;
    return {};
}

Status set_freshness(SearchRequest& r, FieldValue v) {
    constexpr std::array<std::pair<std::string_view, Period>, 4> kPeriods = {
        {{"day", Period::kDay},
         {"week", Period::kWeek},
         {"month", Period::kMonth},
         {"year", Period::kYear}}};
    for (const auto& [word, period] : kPeriods) {
        if (v.text == word) {
            r.freshness = web::Freshness{period, {}, {}};
            return {};
        }
    }
    const std::size_t dots = v.text.find("..");
    if (dots == std::string::npos || !is_iso_day(std::string_view(v.text).substr(0, dots)) ||
        !is_iso_day(std::string_view(v.text).substr(dots + 2))) {
        return invalid("expected day, week, month, year or a range such as 2026-01-01..2026-02-01");
    }
    r.freshness = web::Freshness{Period::kRange, v.text.substr(0, dots), v.text.substr(dots + 2)};
    if (r.freshness.from > r.freshness.to) {
        return invalid("expected a range whose first day is not after its last");
    }
    return {};
}

Status set_providers(SearchRequest& r, FieldValue v) {
    std::vector<std::string_view> known;
    for (const web::Provider* provider : web::all_providers()) {
        known.push_back(provider->spec().name);
    }
    for (std::string& name : v.list) {
        if (std::find(known.begin(), known.end(), name) != known.end()) {
            if (std::find(r.providers.begin(), r.providers.end(), name) == r.providers.end()) {
                r.providers.push_back(std::move(name));
            }
            continue;
        }
        std::string message = "expected names out of:";
        for (std::string_view candidate : known) {
            message.append(" ").append(candidate);
        }
        if (auto guess = nearest(name, known)) {
            message += "; did you mean " + std::string(*guess) + "?";
        }
        return invalid(std::move(message));
    }
    return {};
}

Status set_session(SearchRequest& r, FieldValue v) {
    if (v.text.size() > kMaxSessionIdBytes) {
        return invalid("expected at most " + std::to_string(kMaxSessionIdBytes) + " bytes");
    }
    r.session_id = std::move(v.text);
    return {};
}

// Perplexity's list: plain names are included, names with a leading '-' excluded.
Status set_domain_filter(SearchRequest& r, FieldValue v) {
    std::vector<std::string> include;
    std::vector<std::string> exclude;
    for (std::string& domain : v.list) {
        if (domain.starts_with('-')) {
            exclude.push_back(domain.substr(1));
        } else {
            include.push_back(std::move(domain));
        }
    }
    TRY_STATUS(add_domains(r.include_domains, include));
    return add_domains(r.exclude_domains, exclude);
}

Status set_range_end(SearchRequest& r, const FieldValue& v, std::string web::Freshness::* end) {
    const auto day = iso_from_us_day(v.text);
    if (!day) {
        return invalid("expected a day as MM/DD/YYYY");
    }
    r.freshness.period = Period::kRange;
    r.freshness.*end = *day;
    if (r.freshness.from.empty()) {
        r.freshness.from = "1970-01-01";
    }
    if (r.freshness.to.empty()) {
        r.freshness.to = "2100-01-01";
    }
    if (r.freshness.from > r.freshness.to) {
        return invalid("expected a range whose first day is not after its last");
    }
    return {};
}

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<SearchField>& fields() {
    static const std::vector<SearchField> table = {
        {"query",
         FieldType::kText,
         "What to search for; 1 to 2,000 characters.",
         {},
         0,
         0,
         set_query},
        {"lane",
         FieldType::kText,
         "Which providers and which deadline: quick links, or slower answers.",
         {"fast", "deep"},
         0,
         0,
         [](SearchRequest& r, FieldValue v) -> Status {
             r.lane = v.text == "deep" ? web::Lane::kDeep : web::Lane::kFast;
             return {};
         }},
        {"max_results",
         FieldType::kInteger,
         "Results at most.",
         {},
         1,
         50,
         [](SearchRequest& r, FieldValue v) -> Status {
             r.max_results = static_cast<std::uint32_t>(v.integer);
             return {};
         }},
        {"page",
         FieldType::kInteger,
         "Page of results, from 1.",
         {},
         1,
         100,
         [](SearchRequest& r, FieldValue v) -> Status {
             r.page = static_cast<std::uint32_t>(v.integer);
             return {};
         }},
        {"locale",
         FieldType::kText,
         "Language of the results as a BCP 47 tag, such as de or pt-BR.",
         {},
         0,
         0,
         set_locale},
        {"country",
         FieldType::kText,
         "Country the search is made from, ISO 3166-1 alpha-2.",
         {},
         0,
         0,
         set_country},
        {"freshness",
         FieldType::kText,
         "How recent: day, week, month, year, or a range such as 2026-01-01..2026-02-01.",
         {},
         0,
         0,
         set_freshness},
        {"topic",
         FieldType::kText,
         "Everything, or news only.",
         {"general", "news"},
         0,
         0,
         [](SearchRequest& r, FieldValue v) -> Status {
             r.topic = v.text == "news" ? web::Topic::kNews : web::Topic::kGeneral;
             return {};
         }},
        {"answer",
         FieldType::kBoolean,
         "Ask for a short written answer too.",
         {},
         0,
         0,
         [](SearchRequest& r, FieldValue v) -> Status {
             r.want_answer = v.boolean;
             return {};
         }},
        {"content",
         FieldType::kBoolean,
         "Ask for the text of the pages too.",
         {},
         0,
         0,
         [](SearchRequest& r, FieldValue v) -> Status {
             r.want_content = v.boolean;
             return {};
         }},
        {"include_domains",
         FieldType::kTextList,
         "Only results from these domains.",
         {},
         0,
         0,
         [](SearchRequest& r, FieldValue v) { return add_domains(r.include_domains, v.list); }},
        {"exclude_domains",
         FieldType::kTextList,
         "No results from these domains.",
         {},
         0,
         0,
         [](SearchRequest& r, FieldValue v) { return add_domains(r.exclude_domains, v.list); }},
        {"providers",
         FieldType::kTextList,
         "The providers to ask, in order, in place of the lane's.",
         {},
         0,
         0,
         set_providers},
        {"strategy",
         FieldType::kText,
         "How providers are combined.",
         {"failover"},
         0,
         0,
         [](SearchRequest& r, FieldValue) -> Status {
             r.strategy = web::Strategy::kFailover;
             return {};
         }},
        {"safe_search",
         FieldType::kText,
         "Filter for explicit results.",
         {"off", "moderate", "strict"},
         0,
         0,
         [](SearchRequest& r, FieldValue v) -> Status {
             r.safe_search = v.text == "off"        ? web::SafeSearch::kOff
                             : v.text == "moderate" ? web::SafeSearch::kModerate
                                                    : web::SafeSearch::kStrict;
             return {};
         }},
        {"session_id",
         FieldType::kText,
         "Keeps one caller's searches together; not part of the cache key.",
         {},
         0,
         0,
         set_session},
        {"trace",
         FieldType::kBoolean,
         "Show every attempt.",
         {},
         0,
         0,
         [](SearchRequest& r, FieldValue v) -> Status {
             r.trace = v.boolean;
             return {};
         }},
        {"cache",
         FieldType::kText,
         "use: read and write. refresh: write only. bypass: neither. only: never ask a provider.",
         {"use", "refresh", "bypass", "only"},
         0,
         0,
         [](SearchRequest& r, FieldValue v) -> Status {
             r.cache = v.text == "refresh"  ? web::CacheMode::kRefresh
                       : v.text == "bypass" ? web::CacheMode::kBypass
                       : v.text == "only"   ? web::CacheMode::kOnly
                                            : web::CacheMode::kUse;
             return {};
         }},
        // What callers of LiteLLM's and Perplexity's search routes send to this path.
        {"search_domain_filter",
         FieldType::kTextList,
         "As Perplexity has it: domains to include, or with a leading '-' to exclude.",
         {},
         0,
         0,
         set_domain_filter},
        {"search_recency_filter",
         FieldType::kText,
         "As Perplexity has it; the same as freshness.",
         {"day", "week", "month", "year"},
         0,
         0,
         set_freshness},
        {"search_after_date_filter",
         FieldType::kText,
         "As Perplexity has it: first day, MM/DD/YYYY.",
         {},
         0,
         0,
         [](SearchRequest& r, FieldValue v) { return set_range_end(r, v, &web::Freshness::from); }},
        {"search_before_date_filter",
         FieldType::kText,
         "As Perplexity has it: last day, MM/DD/YYYY.",
         {},
         0,
         0,
         [](SearchRequest& r, FieldValue v) { return set_range_end(r, v, &web::Freshness::to); }},
        {"max_tokens_per_page",
         FieldType::kInteger,
         "Accepted from LiteLLM and Perplexity callers; snippets are never longer than a "
         "provider's.",
         {},
         1,
         1'000'000,
         [](SearchRequest&, FieldValue) -> Status { return {}; }},
        {"max_tokens",
         FieldType::kInteger,
         "Accepted from Perplexity callers; bounds nothing here.",
         {},
         1,
         10'000'000,
         [](SearchRequest&, FieldValue) -> Status { return {}; }},
        {"search_tool_name",
         FieldType::kText,
         "Accepted from LiteLLM callers; the route decides here.",
         {},
         0,
         0,
         [](SearchRequest&, FieldValue) -> Status { return {}; }},
    };
    return table;
}

}  // namespace

std::span<const SearchField> search_fields() {
    return fields();
}

}  // namespace sluice::surface
