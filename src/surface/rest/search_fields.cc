#include "surface/rest/search_fields.h"

#include "base/calendar.h"
#include "base/text.h"
#include "surface/common/responses.h"
#include "web/host.h"
#include "web/provider.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

namespace sluice::surface {

namespace {

using web::SearchRequest;
using Period = web::Freshness::Period;

// What an open end of a range of days stands for.
constexpr std::string_view kFirstDay = "1970-01-01";
constexpr std::string_view kLastDay = "2100-01-01";

constexpr std::size_t kMaxLocaleBytes = 35;  // what BCP 47 asks everybody to have room for

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
    if (!parse_day(iso)) {
        return std::nullopt;
    }
    return iso;
}

// Adds domains in their one spelling; a set in the end, so that their order does not matter.
Status add_domains(std::vector<std::string>& target, const std::vector<std::string>& domains) {
    for (const std::string& raw : domains) {
        auto domain = web::normal_host(trim(raw));
        if (!domain || domain->find('.') == domain->npos) {
            return invalid_request("expected host names such as example.org, not " +
                                   shown_name(trim(raw)));
        }
        target.push_back(*std::move(domain));
    }
    std::sort(target.begin(), target.end());
    target.erase(std::unique(target.begin(), target.end()), target.end());
    if (target.size() > kMaxDomains) {
        return invalid_request("expected at most " + std::to_string(kMaxDomains) + " domains");
    }
    return {};
}

Status set_query(SearchRequest& r, FieldValue v) {
    const std::string_view text = trim(v.text);
    if (text.empty()) {
        return invalid_request("expected a text that is not blank");
    }
    if (text.find('\0') != text.npos) {
        return invalid_request("expected a text without NUL");
    }
    if (count_code_points(text) > kMaxQueryCodePoints) {
        return invalid_request("expected at most " + std::to_string(kMaxQueryCodePoints) +
                               " characters");
    }
    r.query = QueryText(std::string(text));
    return {};
}

Status set_country(SearchRequest& r, FieldValue v) {
    const std::string country = to_lower(v.text);
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    if (country.size() != 2 || !is_letter(country[0]) || !is_letter(country[1])) {
        return invalid_request("expected a two-letter country code (ISO 3166-1), such as de");
    }
    r.country = country;
    return {};
}

Status set_locale(SearchRequest& r, FieldValue v) {
    const bool plain = std::all_of(v.text.begin(), v.text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-';
    });
    if (v.text.size() < 2 || v.text.size() > kMaxLocaleBytes || !plain || v.text.front() == '-' ||
        v.text.back() == '-') {
        return invalid_request("expected a language tag (BCP 47), such as de or pt-BR");
    }
    r.locale = v.text;
    return {};
}

Error two_freshnesses() {
    return invalid_request(
        "freshness, search_recency_filter and the date filters say the same thing; give one of "
        "them");
}

Status set_freshness(SearchRequest& r, FieldValue v) {
    if (r.freshness != web::Freshness{}) {
        return two_freshnesses();
    }
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
    if (dots == std::string::npos || !parse_day(std::string_view(v.text).substr(0, dots)) ||
        !parse_day(std::string_view(v.text).substr(dots + 2))) {
        return invalid_request(
            "expected day, week, month, year or a range such as 2026-01-01..2026-02-01");
    }
    r.freshness = web::Freshness{Period::kRange, v.text.substr(0, dots), v.text.substr(dots + 2)};
    if (r.freshness.from > r.freshness.to) {
        return invalid_request("expected a range whose first day is not after its last");
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
        return invalid_request(std::move(message));
    }
    return {};
}

Status set_session(SearchRequest& r, FieldValue v) {
    if (v.text.size() > kMaxSessionIdBytes) {
        return invalid_request("expected at most " + std::to_string(kMaxSessionIdBytes) + " bytes");
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

Status set_range_end(SearchRequest& r, const FieldValue& v, std::string web::Freshness::* end,
                     std::string_view open_end) {
    const auto day = iso_from_us_day(v.text);
    if (!day) {
        return invalid_request("expected a day as MM/DD/YYYY");
    }
    // The other end's filter may have been here.
    const bool is_free = (r.freshness.*end).empty() || r.freshness.*end == open_end;
    if (!is_free || (r.freshness.period != Period::kAny && r.freshness.period != Period::kRange)) {
        return two_freshnesses();
    }
    if (r.freshness.period == Period::kAny) {
        r.freshness = web::Freshness{Period::kRange, std::string(kFirstDay), std::string(kLastDay)};
    }
    r.freshness.*end = *day;
    if (r.freshness.from > r.freshness.to) {
        return invalid_request("expected a range whose first day is not after its last");
    }
    return {};
}

template <auto Member>
Status set_flag(SearchRequest& r, FieldValue v) {
    r.*Member = v.boolean;
    return {};
}

template <auto Member>
Status set_number(SearchRequest& r, FieldValue v) {
    r.*Member = static_cast<std::uint32_t>(v.integer);
    return {};
}

template <auto Member>
Status add_to(SearchRequest& r, FieldValue v) {
    return add_domains(r.*Member, v.list);
}

Status ignore(SearchRequest& /*r*/, FieldValue /*v*/) {
    return {};
}

std::vector<SearchField> what_to_find() {
    return {
        {.name = "query",
         .type = FieldType::kText,
         .help = "What to search for; 1 to 2,000 characters.",
         .apply = set_query},
        {.name = "lane",
         .type = FieldType::kText,
         .help = "Which providers and which deadline: quick links, or slower answers.",
         .choices = {"fast", "deep"},
         .apply = [](SearchRequest& r, FieldValue v) -> Status {
             r.lane = v.text == "deep" ? web::Lane::kDeep : web::Lane::kFast;
             return {};
         }},
        {.name = "max_results",
         .type = FieldType::kInteger,
         .help = "Results at most.",
         .min = 1,
         .max = 50,
         .apply = set_number<&SearchRequest::max_results>},
        {.name = "page",
         .type = FieldType::kInteger,
         .help = "Page of results, from 1.",
         .min = 1,
         .max = 100,
         .apply = set_number<&SearchRequest::page>},
    };
}

std::vector<SearchField> what_it_is_like() {
    return {
        {.name = "locale",
         .type = FieldType::kText,
         .help = "Language of the results as a BCP 47 tag, such as de or pt-BR.",
         .apply = set_locale},
        {.name = "country",
         .type = FieldType::kText,
         .help = "Country the search is made from, ISO 3166-1 alpha-2.",
         .apply = set_country},
        {.name = "freshness",
         .type = FieldType::kText,
         .help = "How recent: day, week, month, year, or a range such as 2026-01-01..2026-02-01.",
         .apply = set_freshness},
        {.name = "topic",
         .type = FieldType::kText,
         .help = "Everything, or news only.",
         .choices = {"general", "news"},
         .apply = [](SearchRequest& r, FieldValue v) -> Status {
             r.topic = v.text == "news" ? web::Topic::kNews : web::Topic::kGeneral;
             return {};
         }},
        {.name = "answer",
         .type = FieldType::kBoolean,
         .help = "Ask for a short written answer too.",
         .apply = set_flag<&SearchRequest::want_answer>},
        {.name = "content",
         .type = FieldType::kBoolean,
         .help = "Ask for the text of the pages too.",
         .apply = set_flag<&SearchRequest::want_content>},
        {.name = "include_domains",
         .type = FieldType::kTextList,
         .help = "Only results from these domains, at most 300.",
         .apply = add_to<&SearchRequest::include_domains>},
        {.name = "exclude_domains",
         .type = FieldType::kTextList,
         .help = "No results from these domains, at most 300.",
         .apply = add_to<&SearchRequest::exclude_domains>},
    };
}

std::vector<SearchField> how_it_is_done() {
    return {
        {.name = "providers",
         .type = FieldType::kTextList,
         .help = "The providers to ask, in order, in place of the lane's.",
         .apply = set_providers},
        {.name = "strategy",
         .type = FieldType::kText,
         .help = "failover: one provider after another. merge: several at once, their results made "
                 "one list. hedge: failover that asks the next one too when one is slow.",
         .choices = {"failover", "merge", "hedge"},
         .apply = [](SearchRequest& r, FieldValue v) -> Status {
             r.strategy = v.text == "merge"   ? web::Strategy::kMerge
                          : v.text == "hedge" ? web::Strategy::kHedge
                                              : web::Strategy::kFailover;
             return {};
         }},
        {.name = "safe_search",
         .type = FieldType::kText,
         .help = "Filter for explicit results.",
         .choices = {"off", "moderate", "strict"},
         .apply = [](SearchRequest& r, FieldValue v) -> Status {
             r.safe_search = v.text == "off"        ? web::SafeSearch::kOff
                             : v.text == "moderate" ? web::SafeSearch::kModerate
                                                    : web::SafeSearch::kStrict;
             return {};
         }},
        {.name = "session_id",
         .type = FieldType::kText,
         .help = "Up to 128 bytes of the caller's own; changes neither the search nor what is "
                 "cached, but "
                 "with the egress policy sticky what calls go out through.",
         .apply = set_session},
        {.name = "trace",
         .type = FieldType::kBoolean,
         .help = "Show every attempt.",
         .apply = set_flag<&SearchRequest::trace>},
        {.name = "explain",
         .type = FieldType::kBoolean,
         .help = "Say what would be done, provider by provider, and do nothing.",
         .apply = set_flag<&SearchRequest::explain>},
        {.name = "cache",
         .type = FieldType::kText,
         .help = "use: read and write. refresh: write only. bypass: neither. only: never ask a "
                 "provider.",
         .choices = {"use", "refresh", "bypass", "only"},
         .apply = [](SearchRequest& r, FieldValue v) -> Status {
             r.cache = v.text == "refresh"  ? web::CacheMode::kRefresh
                       : v.text == "bypass" ? web::CacheMode::kBypass
                       : v.text == "only"   ? web::CacheMode::kOnly
                                            : web::CacheMode::kUse;
             return {};
         }},
    };
}

// What callers of LiteLLM's and Perplexity's search routes send to this path.
std::vector<SearchField> of_other_callers() {
    return {
        {.name = "search_domain_filter",
         .type = FieldType::kTextList,
         .help = "As Perplexity has it: domains to include, or with a leading '-' to exclude.",
         .apply = set_domain_filter},
        {.name = "search_recency_filter",
         .type = FieldType::kText,
         .help = "As Perplexity has it; the same as freshness.",
         .choices = {"day", "week", "month", "year"},
         .apply = set_freshness},
        {.name = "search_after_date_filter",
         .type = FieldType::kText,
         .help = "As Perplexity has it: first day, MM/DD/YYYY.",
         .apply =
             [](SearchRequest& r, FieldValue v) {
                 return set_range_end(r, v, &web::Freshness::from, kFirstDay);
             }},
        {.name = "search_before_date_filter",
         .type = FieldType::kText,
         .help = "As Perplexity has it: last day, MM/DD/YYYY.",
         .apply = [](SearchRequest& r,
                     FieldValue v) { return set_range_end(r, v, &web::Freshness::to, kLastDay); }},
        {.name = "max_tokens_per_page",
         .type = FieldType::kInteger,
         .help = "Accepted from LiteLLM and Perplexity callers; snippets are never longer than a "
                 "provider's.",
         .min = 1,
         .max = 1'000'000,
         .apply = ignore},
        {.name = "max_tokens",
         .type = FieldType::kInteger,
         .help = "Accepted from Perplexity callers; bounds nothing here.",
         .min = 1,
         .max = 10'000'000,
         .apply = ignore},
        {.name = "search_tool_name",
         .type = FieldType::kText,
         .help = "Accepted from LiteLLM callers; the route decides here.",
         .apply = ignore},
    };
}

std::vector<SearchField> all_fields() {
    std::vector<SearchField> all;
    for (auto* table : {what_to_find, what_it_is_like, how_it_is_done, of_other_callers}) {
        std::ranges::move(table(), std::back_inserter(all));
    }
    return all;
}

}  // namespace

std::span<const SearchField> search_fields() {
    static const std::vector<SearchField> all = all_fields();
    return all;
}

}  // namespace sluice::surface
