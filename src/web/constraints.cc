#include "web/constraints.h"

#include "base/text.h"
#include "web/domains.h"
#include "web/host.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sluice::web {
namespace {

using Domains = std::vector<std::string>;

std::optional<std::string_view> unmet_page(const Capabilities& can, const SearchRequest& request,
                                           std::uint32_t results) {
    const bool too_deep =
        can.max_depth != 0 && std::uint64_t{request.page} * results > can.max_depth;
    return request.page > can.max_page || too_deep ? std::optional("page") : std::nullopt;
}

bool country_fits(const Capabilities& can, const SearchRequest& request) {
    if (request.country.empty()) {
        return true;
    }
    if (!can.country || (request.topic == Topic::kNews && !can.country_in_news)) {
        return false;
    }
    return can.countries.empty() || std::binary_search(can.countries.begin(), can.countries.end(),
                                                       std::string_view(request.country));
}

bool locale_fits(const Capabilities& can, std::string_view locale) {
    return locale.empty() ||
           (can.locale && (can.knows_locale == nullptr || can.knows_locale(locale)));
}

bool freshness_fits(const Capabilities& can, const Freshness& freshness) {
    switch (freshness.period) {
        case Freshness::Period::kAny:
            return true;
        case Freshness::Period::kRange:
            return can.freshness_range;
        case Freshness::Period::kDay:
        case Freshness::Period::kWeek:
        case Freshness::Period::kMonth:
        case Freshness::Period::kYear:
            return can.freshness_period;
    }
    return false;
}

bool asks_for_filtering(SafeSearch level) {
    return level == SafeSearch::kModerate || level == SafeSearch::kStrict;
}

std::size_t count_words(std::string_view text) {
    std::size_t words = 0;
    bool inside = false;
    for (const char c : text) {
        const bool space = c == ' ' || (c >= '\t' && c <= '\r');
        words += !space && !inside ? 1 : 0;
        inside = !space;
    }
    return words;
}

// How much a query may still grow.
struct Room {
    std::size_t code_points;
    std::size_t words;
    std::size_t operators;

    bool take(std::size_t more_code_points, std::size_t more_words, std::size_t more_operators) {
        if (more_code_points > code_points || more_words > words || more_operators > operators) {
            return false;
        }
        code_points -= more_code_points;
        words -= more_words;
        operators -= more_operators;
        return true;
    }
};

// An OR inside the query would take the filter for one of its alternatives.
bool has_alternatives(std::string_view query) {
    const std::string padded = " " + std::string(query) + " ";
    return padded.find(" OR ") != std::string::npos || padded.find('|') != std::string::npos;
}

// " (site:a OR site:b)"
std::string include_operators(const Domains& domains) {
    if (domains.size() == 1) {
        return " site:" + domains.front();
    }
    std::string text = " (site:" + domains.front();
    for (std::size_t i = 1; i < domains.size(); ++i) {
        text += " OR site:" + domains[i];
    }
    return text + ")";
}

std::string exclude_operator(const std::string& domain) {
    return " -site:" + domain;
}

// Whether the option that was given up makes a difference: fewer results than usual can be had by
// leaving some out.
bool is_felt(const ProviderSpec& spec, const SearchRequest& request) {
    return spec.option != Constraint::kMaxResults ||
           request.max_results > spec.can.included_results;
}

}  // namespace

std::string_view to_string(Constraint constraint) {
    switch (constraint) {
        case Constraint::kMaxResults:
            return "max_results";
        case Constraint::kPage:
            return "page";
        case Constraint::kTopic:
            return "topic";
        case Constraint::kCountry:
            return "country";
        case Constraint::kLocale:
            return "locale";
        case Constraint::kFreshness:
            return "freshness";
        case Constraint::kIncludeDomains:
            return "include_domains";
        case Constraint::kExcludeDomains:
            return "exclude_domains";
        case Constraint::kAnswer:
            return "answer";
        case Constraint::kContent:
            return "content";
        case Constraint::kSafeSearch:
            return "safe_search";
    }
    SLUICE_ASSERT(false && "a Constraint outside its enumeration");
}

// Makes one plan.
class Planner {
 public:
    Planner(const Capabilities& can, const SearchRequest& request) : can_(can), request_(request) {}

    CallPlan make() {
        plan_.unmet_ = find_unmet();
        if (plan_.unmet_) {
            return std::move(plan_);
        }
        plan_fields();
        plan_domains();
        plan_results();
        return std::move(plan_);
    }

 private:
    std::uint32_t most_results() const {
        const bool news = request_.topic == Topic::kNews && can_.max_news_results != 0;
        return news ? can_.max_news_results : can_.max_results;
    }

    std::optional<std::string_view> find_unmet() const {
        const std::string_view query = request_.query.reveal();
        if (count_code_points(query) > can_.max_query_code_points ||
            (can_.max_query_words != kUnlimited && count_words(query) > can_.max_query_words)) {
            return "query length";
        }
        if (auto page =
                unmet_page(can_, request_, std::min(request_.max_results, most_results()))) {
            return page;
        }
        if (request_.topic == Topic::kNews && !can_.news) {
            return "news";
        }
        if (!country_fits(can_, request_)) {
            return "country";
        }
        if (!locale_fits(can_, request_.locale)) {
            return "locale";
        }
        if (!freshness_fits(can_, request_.freshness)) {
            return request_.freshness.period == Freshness::Period::kRange ? "freshness range"
                                                                          : "freshness period";
        }
        if (request_.want_answer && !can_.answer) {
            return "answer";
        }
        if (request_.want_content && !can_.content) {
            return "content";
        }
        if (asks_for_filtering(request_.safe_search) && !can_.safe_search) {
            return "safe search";
        }
        return std::nullopt;
    }

    void add(Constraint constraint, Honour how) {
        SLUICE_ASSERT(plan_.count_ < plan_.entries_.size());
        plan_.entries_[plan_.count_++] = {constraint, how};
    }

    void add_if(bool asked, Constraint constraint) {
        if (asked) {
            add(constraint, Honour::kProvider);
        }
    }

    SearchRequest& adapted() {
        if (!plan_.adapted_) {
            plan_.adapted_.emplace(request_);
        }
        return *plan_.adapted_;
    }

    void plan_fields() {
        add_if(request_.page > 1, Constraint::kPage);
        add_if(request_.topic == Topic::kNews, Constraint::kTopic);
        add_if(!request_.country.empty(), Constraint::kCountry);
        add_if(!request_.locale.empty(), Constraint::kLocale);
        add_if(request_.freshness.period != Freshness::Period::kAny, Constraint::kFreshness);
        add_if(request_.want_answer, Constraint::kAnswer);
        add_if(request_.want_content, Constraint::kContent);
        add_if(asks_for_filtering(request_.safe_search), Constraint::kSafeSearch);
    }

    void plan_domains() {
        if (request_.include_domains.empty() && request_.exclude_domains.empty()) {
            return;
        }
        const std::string_view query = request_.query.reveal();
        const bool wrap = has_alternatives(query);
        room_ = {can_.max_query_code_points - count_code_points(query),
                 std::min(can_.domains.words, can_.max_query_words), can_.domains.operators};
        const std::size_t words = count_words(query);
        room_.words -= std::min(words, room_.words);
        if (wrap && !room_.take(2, 0, 0)) {
            room_.operators = 0;
        }
        plan_include();
        plan_exclude();
        if (!operators_.empty()) {
            std::string whole = wrap ? "(" + std::string(query) + ")" : std::string(query);
            adapted().query = QueryText(std::move(whole) + operators_);
        }
    }

    // A list to include is useful only as a whole: of a shortened one the answer would be shortened
    // too.
    void plan_include() {
        const Domains& domains = request_.include_domains;
        if (domains.empty()) {
            return;
        }
        if (domains.size() <= can_.domains.include) {
            parameter_is_taken_ = can_.domains.one_list;
            add(Constraint::kIncludeDomains, Honour::kProvider);
            return;
        }
        adapted().include_domains.clear();
        plan_.filters_include_ = true;
        std::string text = include_operators(domains);
        if (room_.take(text.size(), 2 * domains.size() - 1, domains.size())) {
            add(Constraint::kIncludeDomains, Honour::kOperator);
            operators_ += text;
        } else {
            add(Constraint::kIncludeDomains, Honour::kFilter);
        }
    }

    // Of a list to exclude the provider is told as much as it takes, the rest is left out here.
    void plan_exclude() {
        const Domains& domains = request_.exclude_domains;
        if (domains.empty()) {
            return;
        }
        const std::size_t most = parameter_is_taken_ ? 0 : can_.domains.exclude;
        if (domains.size() <= most) {
            add(Constraint::kExcludeDomains, Honour::kProvider);
            return;
        }
        plan_.filters_exclude_ = true;
        if (most >= kWorthShortening) {
            adapted().exclude_domains.resize(most);
            add(Constraint::kExcludeDomains, Honour::kProvider);
            add(Constraint::kExcludeDomains, Honour::kFilter);
            return;
        }
        adapted().exclude_domains.clear();
        std::size_t told = 0;
        while (told < domains.size()) {
            std::string text = exclude_operator(domains[told]);
            if (!room_.take(text.size(), 1, 1)) {
                break;
            }
            operators_ += text;
            ++told;
        }
        if (told > 0) {
            add(Constraint::kExcludeDomains, Honour::kOperator);
        }
        if (told < domains.size()) {
            add(Constraint::kExcludeDomains, Honour::kFilter);
        }
    }

    void plan_results() {
        std::uint32_t wanted = request_.max_results;
        const bool filters = std::ranges::any_of(plan_.entries(), [](const CallPlan::Entry& entry) {
            return entry.how == Honour::kFilter;
        });
        if (filters) {
            // What is going to be left out is asked for on top, as far as that costs nothing; on
            // every page, since the number of results is also where the next page begins.
            wanted = std::max(wanted, can_.included_results);
        }
        wanted = std::min(wanted, most_results());
        plan_.unmet_ = unmet_page(can_, request_, wanted);
        if (wanted != request_.max_results) {
            adapted().max_results = wanted;
        }
        if (request_.max_results > most_results()) {
            add(Constraint::kMaxResults, Honour::kShortened);
        }
    }

    // A parameter for fewer than this is no better than operators.
    static constexpr std::size_t kWorthShortening = 10;

    const Capabilities& can_;
    const SearchRequest& request_;
    CallPlan plan_;
    bool parameter_is_taken_ = false;
    Room room_{};
    std::string operators_;
};

CallPlan plan_call(const ProviderSpec& spec, const SearchRequest& request) {
    return Planner(spec.can, request).make();
}

void CallPlan::filter(const SearchRequest& request, std::vector<Hit>& hits) const {
    if (!filters_include_ && !filters_exclude_) {
        return;
    }
    std::erase_if(hits, [&](const Hit& hit) {
        const std::string host = host_of(hit.url);
        return (filters_include_ && !is_in_any_domain(host, request.include_domains)) ||
               (filters_exclude_ && is_in_any_domain(host, request.exclude_domains));
    });
}

std::vector<Honoured> honoured(const CallPlan& plan, const ProviderSpec& spec,
                               const SearchRequest& request, BuildVariant variant) {
    std::vector<Honoured> list;
    list.reserve(plan.entries().size());
    std::optional<Constraint> gave_up;
    if (variant == BuildVariant::kWithoutOption && is_felt(spec, request)) {
        gave_up = spec.option;
    }
    for (const CallPlan::Entry& entry : plan.entries()) {
        if (entry.constraint != gave_up) {
            list.push_back(
                {std::string(to_string(entry.constraint)), std::string(spec.name), entry.how});
        }
    }
    if (gave_up) {
        list.push_back(
            {std::string(to_string(*gave_up)), std::string(spec.name), Honour::kShortened});
    }
    return list;
}

}  // namespace sluice::web
