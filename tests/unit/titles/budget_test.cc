#include "titles/budget.h"

#include "support/manual_clock.h"
#include "support/run_io.h"
#include "support/temp_dir.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace sluice::titles {
namespace {

using namespace std::chrono_literals;

class SearchBudgetTest : public testing::Test {
 protected:
    SearchBudgetTest() { clock.set_wall(WallTime(1'780'000'000s)); }

    SearchBudget& open() {
        auto& file = *files.emplace_back(std::make_unique<io::SqliteStore>(
            "budget", io::SqliteConnection::open(path, budget_schema()).value(), metrics));
        return *budgets.emplace_back(std::make_unique<SearchBudget>(file, clock));
    }
    Result<BudgetVerdict> spend(SearchBudget& budget, const std::string& client = "203.0.113.7",
                                BudgetKind kind = BudgetKind::kPage) {
        return test::run_io(loop, budget.spend(kind, client, limits));
    }
    std::int64_t count(BudgetWindow window, const std::string& client = "203.0.113.7",
                       BudgetKind kind = BudgetKind::kPage) {
        auto db = io::SqliteConnection::open(path, budget_schema()).value();
        return db
            .integer("SELECT coalesce(sum(count), 0) FROM search_window WHERE bucket = ?1",
                     {budget_bucket(kind, window, client)})
            .value();
    }
    // What the file says of the windows that it is now, and of all minutes of this hour.
    struct Counts {
        std::int64_t minute = 0;
        std::int64_t hour = 0;
        std::int64_t in_hour = 0;
        bool operator==(const Counts&) const = default;
        friend void PrintTo(const Counts& counts, std::ostream* out) {
            *out << counts.minute << " in the minute, " << counts.hour << " in the hour, "
                 << counts.in_hour << " in its minutes";
        }
    };
    Counts counts_now() {
        auto db = io::SqliteConnection::open(path, budget_schema()).value();
        const auto counted = [&](BudgetWindow window, std::chrono::seconds from,
                                 std::chrono::seconds length) {
            return db
                .integer(
                    "SELECT coalesce(sum(count), 0) FROM search_window WHERE bucket = ?1"
                    " AND window_start >= ?2 AND window_start < ?3",
                    {budget_bucket(BudgetKind::kPage, window, "203.0.113.7"), from.count(),
                     (from + length).count()})
                .value();
        };
        const auto now = clock.wall_now().time_since_epoch();
        const std::chrono::seconds minute = std::chrono::floor<std::chrono::minutes>(now);
        const std::chrono::seconds hour = std::chrono::floor<std::chrono::hours>(now);
        return {counted(BudgetWindow::kMinute, minute, 1min),
                counted(BudgetWindow::kHour, hour, 1h), counted(BudgetWindow::kMinute, hour, 1h)};
    }
    static void expect_resets_in_range(const BudgetVerdict& verdict) {
        for (const BudgetWindow window : {BudgetWindow::kMinute, BudgetWindow::kHour}) {
            const auto& state = verdict.windows[static_cast<std::size_t>(window)];
            if (state) {
                EXPECT_GE(state->resets_in, 1s);
                EXPECT_LE(state->resets_in, length_of(window));
            } else {
                EXPECT_EQ(verdict.refused, BudgetWindow::kMinute) << "only the hour is left out";
            }
        }
    }
    // Within a minute, an hour, to and from times before 1970; six hours in all.
    static constexpr std::array<std::chrono::seconds, 10> kSteps = {
        0s,   86'400s * 400, -86'400s * 800,  59s, -1s,
        -59s, 3'600s,        -1'780'000'000s, -5s, 4'102'444'800s};

    std::int64_t rows() {
        auto db = io::SqliteConnection::open(path, budget_schema()).value();
        return db.integer("SELECT count(*) FROM search_window").value();
    }

    test::TempDir dir;
    const std::string path = dir.file("budget.db");
    test::ManualClock clock;
    obs::Metrics metrics;
    boost::asio::io_context loop{1};
    BudgetLimits limits;
    std::vector<std::unique_ptr<io::SqliteStore>> files;
    std::vector<std::unique_ptr<SearchBudget>> budgets;
};

TEST(BudgetBucket, IsAHashOfTheClientAndTheWindow) {
    EXPECT_EQ(budget_bucket(BudgetKind::kPage, BudgetWindow::kMinute, "203.0.113.7"),
              "63058c63402839410212249a22d55ecf84c667a6ace5cf457972ecbeb6e5e89b");
    EXPECT_EQ(budget_bucket(BudgetKind::kPage, BudgetWindow::kHour, "203.0.113.7"),
              "0170ee00619ec8accb355c43740683a1678d57993e9b5dae345f3106a279ebbf");
    EXPECT_EQ(budget_bucket(BudgetKind::kPage, BudgetWindow::kMinute, "2001:db8:1:2::/64"),
              "9d96ff43f90188a68e10aeb8608c313a9ff830d076d84b55b1cc1a8a7a47e997");
    EXPECT_NE(budget_bucket(BudgetKind::kApi, BudgetWindow::kMinute, "203.0.113.7"),
              budget_bucket(BudgetKind::kPage, BudgetWindow::kMinute, "203.0.113.7"));
}

TEST_F(SearchBudgetTest, TakesFromBothWindowsOrFromNeither) {
    SearchBudget& budget = open();
    for (int i = 1; i <= 20; ++i) {
        const BudgetVerdict verdict = spend(budget).value();
        ASSERT_TRUE(verdict.passed());
        EXPECT_EQ(verdict.windows[0]->count, i);
        EXPECT_EQ(verdict.windows[1]->count, i);
    }
    const BudgetVerdict full = spend(budget).value();
    EXPECT_EQ(full.refused, BudgetWindow::kMinute);
    EXPECT_EQ(full.windows[0]->limit, 20);
    EXPECT_FALSE(full.windows[1]) << "the hour was not asked";
    EXPECT_EQ(count(BudgetWindow::kMinute), 20);
    EXPECT_EQ(count(BudgetWindow::kHour), 20);
    EXPECT_TRUE(spend(budget, "203.0.113.8").value().passed());
    EXPECT_TRUE(spend(budget, "203.0.113.7", BudgetKind::kApi).value().passed());
}

TEST_F(SearchBudgetTest, AFullHourGivesTheMinuteBack) {
    limits.most = {20, 5};
    SearchBudget& budget = open();
    for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(spend(budget).value().passed());
    }
    const BudgetVerdict full = spend(budget).value();
    EXPECT_EQ(full.refused, BudgetWindow::kHour);
    EXPECT_EQ(full.windows[0]->count, 5) << "as the rollback leaves it";
    EXPECT_EQ(count(BudgetWindow::kMinute), 5);
    EXPECT_EQ(count(BudgetWindow::kHour), 5);
    limits.most = {5, 5};
    EXPECT_EQ(spend(budget).value().refused, BudgetWindow::kMinute) << "the first that is full";
}

// Windows are aligned to the epoch; what is left of one is rounded up and never nothing.
TEST_F(SearchBudgetTest, SaysWhenTheWindowEnds) {
    limits.most = {1, 2};
    SearchBudget& budget = open();
    const WallTime minute(std::chrono::seconds(1'780'000'000 / 3'600 * 3'600));
    clock.set_wall(minute + 1ms);
    EXPECT_EQ(spend(budget).value().windows[0]->resets_in, 60s);
    clock.set_wall(minute + 59'999ms);
    EXPECT_EQ(spend(budget).value().windows[0]->resets_in, 1s);
    clock.set_wall(minute + 60s);
    const BudgetVerdict next = spend(budget).value();
    EXPECT_TRUE(next.passed()) << "another minute";
    EXPECT_EQ(next.windows[0]->resets_in, 60s);
    EXPECT_EQ(next.windows[1]->resets_in, 3'540s);
    clock.set_wall(minute + 120s);
    EXPECT_EQ(spend(budget).value().refused, BudgetWindow::kHour);
    clock.set_wall(minute + 3'600s);
    EXPECT_TRUE(spend(budget).value().passed()) << "another hour";
}

// Wherever the clock jumps to, also before 1970, a search counts once in the minute and once in the
// hour that it is then.
TEST_F(SearchBudgetTest, AClockThatStepsKeepsCountsEqual) {
    limits.most = {1'000, 1'000};
    SearchBudget& budget = open();
    for (const std::chrono::seconds step : kSteps) {
        SCOPED_TRACE("after a step of " + std::to_string(step.count()) + " s");
        clock.set_wall(clock.wall_now() + step);
        const Counts before = counts_now();
        const auto verdict = spend(budget);
        ASSERT_TRUE(verdict.ok()) << verdict.error().message;
        EXPECT_TRUE(verdict->passed());
        expect_resets_in_range(*verdict);
        EXPECT_EQ(counts_now(), (Counts{before.minute + 1, before.hour + 1, before.in_hour + 1}));
        EXPECT_EQ(counts_now().in_hour, counts_now().hour) << "its minutes together";
        EXPECT_EQ(verdict->windows[0]->count, counts_now().minute);
        EXPECT_EQ(verdict->windows[1]->count, counts_now().hour);
    }
}

TEST_F(SearchBudgetTest, AClockThatStepsRefusesWithoutCounting) {
    limits.most = {1, 1};
    SearchBudget& budget = open();
    std::map<std::optional<BudgetWindow>, int> seen;
    for (const std::chrono::seconds step : kSteps) {
        SCOPED_TRACE("after a step of " + std::to_string(step.count()) + " s");
        clock.set_wall(clock.wall_now() + step);
        for (int i = 0; i < 3; ++i) {
            const Counts before = counts_now();
            const auto verdict = spend(budget);
            ASSERT_TRUE(verdict.ok()) << verdict.error().message;
            const auto full = before.minute == 1 ? std::optional(BudgetWindow::kMinute)
                              : before.hour == 1 ? std::optional(BudgetWindow::kHour)
                                                 : std::nullopt;
            EXPECT_EQ(verdict->refused, full);
            expect_resets_in_range(*verdict);
            EXPECT_EQ(counts_now(), full ? before : (Counts{1, 1, 1}));
            ++seen[verdict->refused];
        }
    }
    EXPECT_EQ(seen[std::nullopt], 6) << "one in each hour that was come to";
    EXPECT_GT(seen[BudgetWindow::kMinute], 0);
    EXPECT_GT(seen[BudgetWindow::kHour], 0);
}

// A hundred at once over two connections, as two processes have: exactly as many as there is room
// for.
TEST_F(SearchBudgetTest, ManyAtOncePassTogetherAsOftenAsOneByOne) {
    SearchBudget* two[] = {&open(), &open()};
    std::vector<std::optional<Result<BudgetVerdict>>> verdicts(100);
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
        boost::asio::co_spawn(
            loop,
            store_result(two[i % 2]->spend(BudgetKind::kPage, "203.0.113.7", limits), verdicts[i]),
            boost::asio::detached);
    }
    loop.restart();
    loop.run();
    EXPECT_EQ(std::ranges::count_if(verdicts,
                                    [](const auto& v) { return v && v->ok() && (*v)->passed(); }),
              20);
    EXPECT_EQ(count(BudgetWindow::kMinute), 20);
    EXPECT_EQ(count(BudgetWindow::kHour), 20);
}

TEST_F(SearchBudgetTest, WhoeverHoldsTheFileTooLongStopsSearches) {
    SearchBudget& budget = open();
    ASSERT_TRUE(spend(budget).ok());
    {
        auto other = io::SqliteConnection::open(path, budget_schema()).value();
        auto held = other.begin(io::SqliteTransaction::Mode::kImmediate);
        ASSERT_TRUE(held.ok());
        const auto refused = spend(budget);
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, Code::kUnavailable);
    }
    EXPECT_EQ(count(BudgetWindow::kMinute), 1);
    clock.advance(SearchBudget::kPauseAfterFailure);
    EXPECT_TRUE(spend(budget).ok());
}

TEST_F(SearchBudgetTest, OldWindowsAreForgottenOnceAMinute) {
    SearchBudget& budget = open();
    EXPECT_TRUE(spend(budget, "203.0.113.1").ok());
    EXPECT_EQ(rows(), 2);
    clock.set_wall(clock.wall_now() + 1h + 30min);
    EXPECT_TRUE(spend(budget, "203.0.113.2").ok());
    EXPECT_EQ(rows(), 3) << "the minute of the first one went";
    clock.set_wall(clock.wall_now() + 1h);
    EXPECT_TRUE(spend(budget, "203.0.113.3").ok());
    EXPECT_EQ(rows(), 4) << "its hour, too, and another minute";
}

// However many clients there were, each search sweeps some of what they left.
TEST_F(SearchBudgetTest, WhatAFloodLeftGoesWithTheSearchesAfterIt) {
    SearchBudget& budget = open();
    EXPECT_TRUE(spend(budget).ok());
    {
        auto db = io::SqliteConnection::open(path, budget_schema()).value();
        ASSERT_TRUE(
            db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT"
                       " 2500) INSERT INTO search_window SELECT 'old' || i, 0, 60, 1 FROM n")
                .ok());
    }
    clock.set_wall(clock.wall_now() + 60s);
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(spend(budget).ok());
    }
    EXPECT_EQ(rows(), 3);
}

// What is counted outlives the process.
TEST_F(SearchBudgetTest, CountsSurviveARestart) {
    limits.most = {2, 200};
    EXPECT_TRUE(spend(open()).value().passed());
    budgets.clear();
    files.clear();
    SearchBudget& again = open();
    EXPECT_EQ(spend(again).value().windows[0]->count, 2);
    EXPECT_FALSE(spend(again).value().passed());
}

// Somebody holds the file: one search finds that out, and nobody else waits for it.
TEST_F(SearchBudgetTest, NobodyWaitsForAFileThatIsHeld) {
    SearchBudget& budget = open();
    EXPECT_TRUE(spend(budget).ok());
    const auto waited_for = [](const std::vector<std::optional<Result<BudgetVerdict>>>& answers) {
        return std::ranges::count_if(answers, [](const auto& answer) {
            return !answer->ok() &&
                   answer->error().message.find("a moment ago") == std::string::npos;
        });
    };
    const auto spend_at_once = [&](std::size_t count) {
        std::vector<std::optional<Result<BudgetVerdict>>> answers(count);
        for (auto& answer : answers) {
            boost::asio::co_spawn(
                loop, store_result(budget.spend(BudgetKind::kPage, "203.0.113.7", limits), answer),
                boost::asio::detached);
        }
        loop.restart();
        loop.run();
        return answers;
    };
    {
        auto other = io::SqliteConnection::open(path, budget_schema()).value();
        const auto held = other.begin(io::SqliteTransaction::Mode::kImmediate);
        EXPECT_EQ(waited_for(spend_at_once(20)), 1) << "also of those that came together with it";
        const auto refused = spend_at_once(20);
        EXPECT_EQ(waited_for(refused), 0);
        EXPECT_EQ(refused[0]->error().code, Code::kUnavailable);
        EXPECT_EQ(refused[0]->error().retry_after, SearchBudget::kPauseAfterFailure);
        clock.advance(SearchBudget::kPauseAfterFailure - 1ns);
        EXPECT_EQ(waited_for(spend_at_once(20)), 0);
        clock.advance(1ns);
        EXPECT_EQ(waited_for(spend_at_once(20)), 1) << "one tries whether it is back";
        EXPECT_EQ(waited_for(spend_at_once(20)), 0) << "and it was not";
    }
    clock.advance(SearchBudget::kPauseAfterFailure);
    EXPECT_TRUE(spend(budget).ok());
    const auto back = spend_at_once(5);
    EXPECT_TRUE(std::ranges::all_of(back, [](const auto& answer) { return answer->ok(); }));
    EXPECT_EQ(count(BudgetWindow::kMinute), 7);
}

// Whoever tries a file that was held may leave before that began: then the next one tries.
TEST_F(SearchBudgetTest, AProbeThatLeavesIsFollowedByAnother) {
    SearchBudget& budget = open();
    {
        auto other = io::SqliteConnection::open(path, budget_schema()).value();
        const auto held = other.begin(io::SqliteTransaction::Mode::kImmediate);
        EXPECT_FALSE(spend(budget).ok());
    }
    clock.advance(SearchBudget::kPauseAfterFailure);
    {
        const auto never_started = budget.spend(BudgetKind::kPage, "203.0.113.7", limits);
    }
    EXPECT_TRUE(spend(budget).ok());
}

}  // namespace
}  // namespace sluice::titles
