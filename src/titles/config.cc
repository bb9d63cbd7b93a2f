#include "titles/config.h"

namespace sluice::titles {

namespace {

constexpr std::int64_t kMostRequests = 1'000'000;

std::int64_t& at(BudgetLimits& limits, BudgetWindow window) {
    return limits.most[static_cast<std::size_t>(window)];
}

}  // namespace

TitlesConfig TitlesConfig::read(ConfigReader in) {
    TitlesConfig c;
    in.boolean({"enabled", "whether the list of pages and its search are served"}, c.enabled);
    in.integer<std::int64_t>(
        {"limit_minute", "searches a minute by one client", "SEARCH_LIMIT_MINUTE", false},
        at(c.limits, BudgetWindow::kMinute), 1, kMostRequests);
    in.integer<std::int64_t>(
        {"limit_hour", "searches an hour by one client", "SEARCH_LIMIT_HOUR", false},
        at(c.limits, BudgetWindow::kHour), 1, kMostRequests);
    in.integer<std::int64_t>({"api_limit_minute",
                              "the same for /v1/pages/search, which has windows of its own",
                              {},
                              false},
                             at(c.api_limits, BudgetWindow::kMinute), 1, kMostRequests);
    in.integer<std::int64_t>({"api_limit_hour",
                              "the same for /v1/pages/search, which has windows of its own",
                              {},
                              false},
                             at(c.api_limits, BudgetWindow::kHour), 1, kMostRequests);
    in.integer<std::size_t>({"concurrency",
                             "searches whose titles are scored at once, each on a thread of its "
                             "own; more are refused",
                             "SEARCH_CONCURRENCY"},
                            c.concurrency, 1, 64);
    in.integer<std::size_t>(
        {"cache_entries", "results that are kept for the same search", "SEARCH_CACHE_ENTRIES"},
        c.cache_entries, 1, 100'000);
    in.number(
        {"score_cutoff", "the least score of a result, 0 to 100", "SEARCH_SCORE_CUTOFF", false},
        c.score_cutoff, 0, 100);
    in.integer<std::size_t>(
        {"result_limit", "results that are listed at most", "SEARCH_RESULT_LIMIT", false},
        c.result_limit, 1, 500);
    in.integer<unsigned>({"ipv6_prefix", "bits of an IPv6 address that make up one client",
                          "SEARCH_IPV6_PREFIX", false},
                         c.ipv6_prefix, 32, 128);
    in.integer<std::int64_t>({"pin_wrong_limit_hour",
                              "wrong PINs an hour for one page, from all clients together; then "
                              "none is looked at until the hour is over or the page has a new "
                              "PIN; one client may be wrong a tenth as often, or five times; each "
                              "process counts for itself"},
                             c.pin_wrong_limit_hour, 1, kMostRequests);
    in.text({"budget_file",
             "where searches are counted; processes that name the same file count together; "
             "empty: search-budget.db in data_dir"},
            c.budget_file);
    return c;
}

}  // namespace sluice::titles
