#include "guard/window_counter.h"
#include "guard/window_table.h"
#include "property.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::guard {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kMinute{29'000'000min};  // begins a minute, an hour and no day

struct Step {
    Duration at;  // after kMinute
    bool allowed;
    std::int64_t remaining;
    Duration reset;  // after kMinute
};

struct Scenario {
    const char* name;
    std::vector<Step> steps;
};

const std::vector<Scenario>& scenarios() {
    static const std::vector<Scenario> kScenarios = {
        {"fills and refuses",
         {{0s, true, 1, 60s}, {59s, true, 0, 60s}, {60s - 1ns, false, 0, 60s}}},
        {"begins anew at the boundary",
         {{59s, true, 1, 60s}, {59s, true, 0, 60s}, {60s, true, 1, 120s}, {61s, true, 0, 120s}}},
        {"a refusal costs nothing",
         {{0s, true, 1, 60s}, {0s, true, 0, 60s}, {1s, false, 0, 60s}, {70s, true, 1, 120s}}},
        {"windows may be skipped", {{0s, true, 1, 60s}, {600s, true, 1, 660s}}},
        {"a step into the window before lends nothing",
         {{61s, true, 1, 120s},
          {62s, true, 0, 120s},
          {59s, false, 0, 120s},
          {60s, false, 0, 120s}}},
        {"a step back just before the boundary and over it lends nothing",
         {{59s, true, 1, 60s}, {61s, true, 1, 120s}, {59s, true, 0, 120s}, {61s, false, 0, 120s}}},
        {"a clock set back takes the use along and ends with the real window",
         {{3601s, true, 1, 3660s},
          {3601s, true, 0, 3660s},
          {1s, false, 0, 60s},
          {61s, true, 1, 120s}}},
    };
    return kScenarios;
}

// One window's verdicts, step by step: counter and table obey the same rules.
TEST(Windows, FollowTheScenarios) {
    for (const Scenario& scenario : scenarios()) {
        SCOPED_TRACE(scenario.name);
        WindowCounter counter(2, 60s);
        SeededRandom random(1);
        WindowTable table(WindowTableOptions{60s, 10}, random);
        for (const Step& step : scenario.steps) {
            const WallTime now = kMinute + std::chrono::duration_cast<WallTime::duration>(step.at);
            const WallTime reset =
                kMinute + std::chrono::duration_cast<WallTime::duration>(step.reset);
            const WindowVerdict before = counter.peek(now);
            const WindowVerdict table_before = table.peek("key", 2, now);
            EXPECT_EQ(before.allowed, step.allowed);
            EXPECT_EQ(table_before.allowed, step.allowed);
            EXPECT_EQ(before.remaining, step.remaining + (step.allowed ? 1 : 0));
            EXPECT_EQ(table_before.remaining, before.remaining);
            EXPECT_EQ(table_before.reset_at, reset);
            for (const WindowVerdict& verdict : {counter.take(now), table.take("key", 2, now)}) {
                EXPECT_EQ(verdict.allowed, step.allowed);
                EXPECT_EQ(verdict.remaining, step.remaining);
                EXPECT_EQ(verdict.reset_at, reset);
            }
        }
    }
}

struct IndexCase {
    WallTime now;
    Duration length;
    std::int64_t index;
};

// Windows begin at multiples of their length from the epoch, before it too.
TEST(Windows, AreAlignedToTheEpoch) {
    const IndexCase cases[] = {
        {WallTime{0s}, 60s, 0},       {WallTime{59'999ms}, 60s, 0}, {WallTime{60s}, 60s, 1},
        {WallTime{-1ms}, 60s, -1},    {WallTime{-60s}, 60s, -1},    {WallTime{-61s}, 60s, -2},
        {WallTime{86'399s}, 24h, 0},  {WallTime{86'400s}, 24h, 1},  {WallTime{1500ms}, 1s, 1},
        {WallTime{1500ms}, 500ms, 3},
    };
    for (const IndexCase& c : cases) {
        EXPECT_EQ(window_index(c.now, c.length), c.index);
        EXPECT_LE(window_start(c.index, c.length), c.now);
        EXPECT_GT(window_start(c.index + 1, c.length), c.now);
    }
}

// What is given back can be taken again, but not in the next window on top of its limit.
TEST(Windows, GiveBack) {
    WindowCounter counter(1, 60s);
    SeededRandom random(1);
    WindowTable table(WindowTableOptions{60s, 10}, random);
    EXPECT_TRUE(counter.take(kMinute).allowed);
    EXPECT_TRUE(table.take("key", 1, kMinute).allowed);
    counter.give_back(kMinute + 1s);
    table.give_back("key", kMinute + 1s);
    EXPECT_TRUE(counter.take(kMinute + 2s).allowed);
    EXPECT_TRUE(table.take("key", 1, kMinute + 2s).allowed);
    counter.give_back(kMinute + 60s);
    table.give_back("key", kMinute + 60s);
    table.give_back("unknown", kMinute + 60s);
    EXPECT_EQ(counter.peek(kMinute + 60s).remaining, 1);
    EXPECT_EQ(table.peek("key", 1, kMinute + 60s).remaining, 1);
    EXPECT_EQ(table.keys(), 1U);
}

// A limit is the caller's at each call; one of nothing allows nothing and occupies nothing.
TEST(WindowTable, LimitsMayChange) {
    SeededRandom random(1);
    WindowTable table(WindowTableOptions{60s, 10}, random);
    EXPECT_FALSE(table.take("key", 0, kMinute).allowed);
    EXPECT_EQ(table.keys(), 0U);
    EXPECT_TRUE(table.take("key", 1, kMinute).allowed);
    EXPECT_FALSE(table.take("key", 1, kMinute).allowed);
    EXPECT_TRUE(table.take("key", 3, kMinute).allowed);
    EXPECT_EQ(table.take("key", 1, kMinute).remaining, 0);
    EXPECT_FALSE(table.take("key", -5, kMinute).allowed);
    EXPECT_TRUE(table.take("other", 1, kMinute).allowed);
}

// A single counter against the sum of what it gave in each window, under a clock that steps back
// within a window's length: never more than the limit.
TEST(WindowCounter, NeverGivesMoreThanTheLimitInAWindow) {
    run_property([] {
        return [counter = std::make_shared<WindowCounter>(5, 1s), given = std::map<WallTime, int>(),
                latest = kMinute](Random& random) mutable {
            WallTime now = latest - std::chrono::milliseconds(random.below(1000));
            if (random.below(2) == 0) {
                latest += std::chrono::milliseconds(random.below(250));
                now = latest;
            }
            const WindowVerdict verdict = counter->take(now);
            ASSERT_GT(verdict.reset_at, now);
            ASSERT_LE(verdict.reset_at, now + 2s);
            int& sum = given[verdict.reset_at];
            ASSERT_EQ(verdict.allowed, sum < 5);
            sum += verdict.allowed ? 1 : 0;
            ASSERT_EQ(verdict.remaining, 5 - sum);
        };
    });
}

// With room for all keys the table counts exactly, key by key.
TEST(WindowTable, AgreesWithTheModel) {
    run_property([] {
        auto seed = SeededRandom(4);
        return [table = std::make_shared<WindowTable>(WindowTableOptions{1s, 100}, seed),
                model = std::map<std::string, WindowCounter>(),
                now = kMinute](Random& random) mutable {
            now += std::chrono::milliseconds(random.below(20));
            const std::string key = std::to_string(random.below(50));
            WindowCounter& counter = model.try_emplace(key, 6, 1s).first->second;
            if (random.below(5) == 0) {
                counter.give_back(now);
                table->give_back(key, now);
            }
            const WindowVerdict expected = counter.take(now);
            const WindowVerdict verdict = table->take(key, 6, now);
            ASSERT_EQ(verdict.allowed, expected.allowed);
            ASSERT_EQ(verdict.remaining, expected.remaining);
            ASSERT_EQ(verdict.reset_at, expected.reset_at);
            ASSERT_LE(table->keys(), 50U);
        };
    });
}

// Under pressure the table forgets a window in use only when all its windows are in use, and then
// one at a time. The clock steps back now and then, both ways that a clock can.
TEST(WindowTable, ForgetsExpiredWindowsFirst) {
    static constexpr std::size_t kMaxKeys = 40;
    static constexpr std::int64_t kLimit = 1000;
    run_property([] {
        auto seed = SeededRandom(4);
        return [table = std::make_shared<WindowTable>(WindowTableOptions{1s, kMaxKeys}, seed),
                now = kMinute](Random& random) mutable {
            now += std::chrono::milliseconds(random.below(30));
            const auto in_use = [&] {
                std::vector<std::pair<std::string, std::int64_t>> keys;
                for (int i = 0; i < 60; ++i) {
                    const auto verdict = table->peek(std::to_string(i), kLimit, now);
                    if (verdict.remaining < kLimit) {
                        keys.emplace_back(std::to_string(i), verdict.remaining);
                    }
                }
                return keys;
            };
            const auto before = in_use();
            const std::string key = std::to_string(random.below(60));
            table->take(key, kLimit, now);
            std::size_t forgotten = 0;
            for (const auto& [name, remaining] : before) {
                const std::int64_t after = table->peek(name, kLimit, now).remaining;
                forgotten += after > remaining ? 1 : 0;
            }
            ASSERT_LE(table->keys(), kMaxKeys);
            ASSERT_LE(forgotten, before.size() < kMaxKeys ? 0U : 1U);
        };
    });
}

// A clock set back by hours keeps open windows open and closed ones closed, for every key.
TEST(WindowTable, SurvivesAClockThatIsSetBack) {
    SeededRandom random(4);
    WindowTable table(WindowTableOptions{60s, 100}, random);
    for (int i = 0; i < 20; ++i) {
        table.take("old " + std::to_string(i), 1, kMinute + 10h);
    }
    for (int i = 0; i < 20; ++i) {
        table.take("open " + std::to_string(i), 1, kMinute + 10h + 60s);
    }
    for (int i = 0; i < 20; ++i) {
        EXPECT_FALSE(table.take("open " + std::to_string(i), 1, kMinute + 30s).allowed);
        EXPECT_TRUE(table.take("old " + std::to_string(i), 1, kMinute + 31s).allowed);
        EXPECT_FALSE(table.take("old " + std::to_string(i), 1, kMinute + 32s).allowed);
    }
    for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(table.take("open " + std::to_string(i), 1, kMinute + 60s).allowed);
    }
}

}  // namespace
}  // namespace sluice::guard
