#include "sim/run.h"

#include "access/metrics.h"
#include "access/spend_writer.h"
#include "sim/bounds.h"
#include "sim/key_books.h"
#include "sim/network.h"
#include "sim/operator.h"
#include "sim/payers.h"
#include "sim/purse_books.h"
#include "sim/searches.h"
#include "sim/violations.h"
#include "support/run_task.h"
#include "support/web_harness.h"
#include "web/metrics.h"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace sluice::sim {

namespace {

using namespace std::chrono_literals;
using test::WebHarness;

constexpr std::size_t kKeysPerProvider = 4;
// So often the books are compared, in steps.
constexpr std::size_t kLookEvery = 10;
// So often the gateway looks after the store of its keys.
constexpr std::size_t kWatchEvery = 15;

// Tasks that sleep although nothing is under way: of the answers' expiry, of writers.
constexpr std::size_t kIdleSleepers = 8;

web::WebConfig random_config(Random& random) {
    const auto millis = [&random](std::uint64_t least, std::uint64_t more) {
        return Millis(static_cast<std::int64_t>(least + random.below(more)));
    };
    web::WebConfig config = test::harness_config();
    config.route_fast.clear();
    config.route_deep.clear();
    for (const web::Provider* provider : web::all_providers()) {
        const std::string name(provider->spec().name);
        config.route_fast.push_back(name);
        config.route_deep.insert(config.route_deep.begin(), name);
        web::ProviderSettings& settings = config.providers.find(name)->second;
        settings.enabled = true;
        settings.timeout = millis(1'500, 8'000);
        settings.rate.tokens =
            random.below(3) == 0 ? static_cast<std::int64_t>(1 + random.below(8)) : 0;
        settings.rate.interval = millis(200, 2'000);
        if (random.below(2) == 0) {
            settings.price.micro_usd_per_1000 = static_cast<std::int64_t>(random.below(20'000'000));
        }
    }
    config.lanes.fast.concurrency = 1 + random.below(20);
    config.lanes.deep.concurrency = 1 + random.below(8);
    config.lanes.total_concurrency =
        1 + random.below(config.lanes.fast.concurrency + config.lanes.deep.concurrency);
    config.lanes.max_queued = random.below(40);
    config.circuit.failure_threshold = 1 + random.below(5);
    config.circuit.open_for = millis(300, 4'000);
    config.circuit.max_open_for = config.circuit.open_for * 8;
    config.cache.ttl = millis(0, 6'000);
    config.cache.stale_ttl = millis(0, 20'000);
    config.cache.max_bytes = 10'000 + random.below(300'000);
    config.cache.max_unattended = random.below(4);
    config.keys.runtime.max_in_flight = static_cast<std::uint32_t>(1 + random.below(10));
    constexpr web::Rotation kRotations[] = {web::Rotation::kLeastUsed, web::Rotation::kRoundRobin,
                                            web::Rotation::kWeighted};
    config.keys.runtime.rotation = kRotations[random.below(3)];
    config.keys.auth_failure_disable = millis(1'000, 10'000);
    config.keys.default_cooldown = millis(1'000, 4'000);
    config.keys.exhausted_retry = millis(1'000, 10'000);
    config.merge.wait = millis(0, 500);
    config.hedge.initial_delay = millis(50, 300);
    config.retry.max_retries = random.below(2) == 0 ? 0 : 1 + random.below(4);
    config.retry.base = millis(50, 1'000);
    return config;
}

// An ordinary moment, or a few seconds before the calendar turns, or far ahead.
WallTime random_start(Random& random) {
    using std::chrono::sys_days;
    constexpr std::chrono::year_month_day kDays[] = {
        2026y / 1 / 1,  2026y / 6 / 16, 2026y / 12 / 31, 2027y / 2 / 28,
        2028y / 2 / 29, 2026y / 3 / 31, 2099y / 12 / 31, 2262y / 1 / 1,
    };
    const std::chrono::year_month_day day = kDays[random.below(std::size(kDays))];
    const auto before = std::chrono::seconds(1 + random.below(40));
    return random.below(2) == 0
               ? WallTime(sys_days(day) + 24h - before)
               : WallTime(sys_days(day) + std::chrono::seconds(random.below(80'000)));
}

class Run {
 public:
    Run(std::uint64_t seed, const Repertoire& repertoire, Totals& totals)
        : random_(seed),
          totals_(totals),
          harness_(random_config(random_)),
          violations_(seed, harness_.clock),
          books_(harness_.web.config()->keys.runtime, harness_.clock, violations_),
          purses_(harness_.spend_store, harness_.clock, violations_),
          payers_(harness_, random_),
          searches_(harness_, payers_, random_, violations_, totals),
          network_(repertoire, *harness_.web.config(),
                   {books_, purses_, searches_, violations_, totals}, random_, harness_.clock),
          operator_(harness_, books_, purses_, network_, random_) {
        harness_.clock.set_wall(random_start(random_));
        harness_.http.set_responder(
            [this](const io::ClientRequest& request) { return network_.answer(request); });
        for (const web::Provider* provider : web::all_providers()) {
            for (std::size_t i = 0; i < kKeysPerProvider; ++i) {
                operator_.add_key(provider->spec().name);
            }
        }
    }

    bool all_held() {
        const bool disk_fails = random_.below(2) == 0;
        if (disk_fails) {
            purses_.allow_wait(guard::kMaxWriteWait);
        }
        operator_.set_random_budgets();
        for (std::size_t i = 0; i < kRequestsPerRun; ++i) {
            searches_.ask_something();
            if (random_.below(6) == 0) {
                searches_.somebody_leaves();
            }
            if (random_.below(30) == 0) {
                explain_something();
            }
            if (random_.below(12) == 0) {
                totals_.changes += 1;
                operator_.change_something();
            }
            if (disk_fails && random_.below(20) == 0) {
                operator_.trouble_the_disk();
            }
            if (random_.below(60) == 0) {
                operator_.trouble_the_key_store();
            }
            pass(time_until_next());
            if (i % kWatchEvery == 0) {
                operator_.watch_keys();
            }
            if (i % kLookEvery == 0) {
                operator_.look_into_the_key_store();
                look();
            }
        }
        pass(kLongestSearch);
        searches_.check_all_served();
        look();
        check_nothing_is_left();
        check_recovery();
        operator_.check_usage_is_kept(violations_);
        totals_.trips += network_.trips();
        for (const web::Provider* provider : web::all_providers()) {
            totals_.retries += static_cast<std::uint64_t>(
                harness_.metrics.counter(web::kRetries, {std::string(provider->spec().name)})
                    .value());
        }
        return violations_.count() == 0;
    }

 private:
    // Mostly a crowd, now and then a pause in which rests and periods end.
    Duration time_until_next() {
        const std::uint64_t dice = random_.below(400);
        if (dice == 0) {
            return std::chrono::hours(1 + random_.below(30));
        }
        if (dice < 5) {
            return std::chrono::seconds(1 + random_.below(60));
        }
        return Duration(static_cast<std::int64_t>(random_.below(120'000'000)));
    }

    void pass(Duration time) {
        harness_.run_for(time);
        searches_.check_replies();
    }

    void look() {
        books_.compare(test::run_task(harness_.io, harness_.clock, harness_.keys.report()));
        const web::Search::Overview overview = harness_.overview();
        const web::WebConfig& config = *harness_.web.config();
        violations_.check(overview.cache.bytes <= config.cache.max_bytes,
                          "the cache is larger than its bound");
        violations_.check(overview.flights <= searches_.waiting() + config.cache.max_unattended,
                          "more flights than clients that wait and searches that may go on");
        violations_.check(overview.fast.running <= config.lanes.fast.concurrency &&
                              overview.deep.running <= config.lanes.deep.concurrency,
                          "a lane has more searches under way than it may");
        violations_.check(
            overview.fast.running + overview.deep.running <= config.lanes.total_concurrency,
            "both lanes together have more searches under way than they may");
        violations_.check(overview.fast.queued + overview.deep.queued <= config.lanes.max_queued,
                          "more wait for a lane than may");
    }

    void check_nothing_is_left() {
        violations_.check(harness_.http.under_way() == 0, "a call is still under way");
        violations_.check(harness_.http.started_late() == 0, "a call started after its deadline");
        books_.check_idle();
        violations_.check(harness_.metrics.gauge(access::kBudgetReservations).value() == 0,
                          "a reservation of money was not returned");
        const access::Spent spent =
            harness_.budgets.gateway().spent[index_of(access::Period::kTotal)];
        violations_.check(
            spent.calls >= purses_.paid().calls && spent.micro_usd >= purses_.paid().micro_usd,
            "more was paid than is in the books");
        for (const auto& [provider, counts] : harness_.keys.counts()) {
            violations_.check(counts.in_flight == 0, "a key lease was not returned", provider);
        }
        const web::Search::Overview end = harness_.overview();
        violations_.check(end.flights == 0, "a flight never landed");
        violations_.check(end.fast.running == 0 && end.deep.running == 0,
                          "a lane ticket was not returned");
        violations_.check(end.fast.queued == 0 && end.deep.queued == 0,
                          "somebody waits in a queue for ever");
        violations_.check(harness_.clock.sleepers() <= kIdleSleepers,
                          "tasks wait although nothing is under way");
    }

    // What leaked shows here: a probe that never came back keeps a circuit from closing, a turn
    // that was not given back keeps calls waiting.
    void check_recovery() {
        network_.be_well();
        operator_.set_everything_right();
        pass(kLongestRest);
        for (const web::Provider* provider : web::all_providers()) {
            searches_.expect_answer_of(provider->spec().name);
        }
        look();
    }

    // What a search may change.
    struct Footprint {
        std::size_t calls = 0;
        access::Spent spent;
        double reservations = 0;
        std::size_t cached = 0;
        std::size_t flights = 0;
        std::size_t sleepers = 0;
        std::map<std::string, web::KeyCounts> keys;
        std::map<std::string, std::int64_t> used;  // by key
        bool operator==(const Footprint&) const = default;
    };
    Footprint footprint() {
        Footprint print;
        for (const web::KeyReport& key :
             test::run_task(harness_.io, harness_.clock, harness_.keys.report())) {
            print.used[key.record.id] = key.health.used;
        }
        print.keys = harness_.keys.counts();
        const web::Search::Overview overview = harness_.overview();
        print.cached = overview.cache.bytes;
        print.flights = overview.flights;
        print.calls = harness_.http.calls();
        print.spent = harness_.budgets.gateway().spent[index_of(access::Period::kTotal)];
        print.reservations = harness_.metrics.gauge(access::kBudgetReservations).value();
        print.sleepers = harness_.clock.sleepers();
        return print;
    }

    // Looking at what a search would do does none of it, so the second look sees the same.
    void explain_something() {
        totals_.explained += 1;
        harness_.run();
        const web::SearchRequest request = searches_.something_to_explain();
        const Instant begun = harness_.clock.now();
        const Footprint before = footprint();
        const web::Explanation first = harness_.explain(request);
        const web::Explanation second = harness_.explain(request);
        violations_.check(harness_.clock.now() == begun, "an explanation takes time");
        violations_.check(footprint() == before, "an explanation changed something");
        bool is_same = first.entry == second.entry && first.route.size() == second.route.size();
        for (std::size_t i = 0; is_same && i < first.route.size(); ++i) {
            const web::ProviderOutlook& one = first.route[i];
            const web::ProviderOutlook& other = second.route[i];
            is_same = one.key_id == other.key_id && one.turn_in == other.turn_in &&
                      one.passed_over == other.passed_over && one.kept == other.kept;
        }
        violations_.check(is_same, "a second explanation differs from the first");
    }

    SeededRandom random_;
    Totals& totals_;
    WebHarness harness_;
    Violations violations_;
    KeyBooks books_;
    PurseBooks purses_;
    Payers payers_;
    Searches searches_;
    Network network_;
    Operator operator_;
};

}  // namespace

bool run(std::uint64_t seed, const Repertoire& repertoire, Totals& totals) {
    return Run(seed, repertoire, totals).all_held();
}

}  // namespace sluice::sim
