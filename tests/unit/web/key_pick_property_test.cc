// The constant-time pick against the plain sentence that describes it: random operations on the
// runtime and on a model that looks at every key each time.
#include "base/random.h"
#include "support/manual_clock.h"
#include "web/key_runtime_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kDefaultInFlight = 3;

struct ModelKey {
    KeyRules rules;
    std::uint32_t in_flight = 0;
    std::int64_t used = 0;
    std::optional<WallTime> period_end = {};  // with a quota that begins anew
    Instant rest_until = Instant::min();
};

// A reservation, and when its last call was counted.
struct OpenCall {
    KeyIndex key = 0;
    QuotaPeriod period = 0;
    WallTime counted_at{};
};

class Model {
 public:
    Model(Rotation rotation, test::ManualClock& clock) : rotation_(rotation), clock_(clock) {}

    std::map<KeyIndex, ModelKey> keys;

    bool rests(const ModelKey& key) const {
        const bool no_quota = key.rules.quota && key.used >= key.rules.quota->limit;
        return key.rest_until > clock_.now() || no_quota;
    }
    std::uint32_t bound(const ModelKey& key) const {
        return key.rules.max_in_flight.value_or(kDefaultInFlight);
    }
    bool usable(const ModelKey& key) const {
        return key.rules.state == KeyState::kActive && !rests(key) && key.in_flight < bound(key);
    }
    // Time passed: quotas begin anew.
    void roll() {
        for (auto& [index, key] : keys) {
            if (key.period_end && clock_.wall_now() >= *key.period_end) {
                key.used = 0;
                key.period_end = quota_reset(key.rules.quota->per, clock_.wall_now());
            }
        }
    }
    // Whether a call that was counted then is one of the present period.
    bool counts_now(const ModelKey& key, WallTime counted_at) const {
        return !key.period_end ||
               counted_at >= quota_period_start(key.rules.quota->per, clock_.wall_now());
    }
    // The keys whose turn it may be. (Two that came back at the same instant may come in either
    // order, and of a weighted rotation only the shares are promised.)
    std::set<KeyIndex> candidates(const std::vector<KeyIndex>& tried) const {
        std::set<KeyIndex> usable_keys;
        for (const auto& [index, key] : keys) {
            if (usable(key) && std::find(tried.begin(), tried.end(), index) == tried.end()) {
                usable_keys.insert(index);
            }
        }
        if (rotation_ != Rotation::kLeastUsed) {
            return usable_keys;
        }
        std::uint32_t fewest = UINT32_MAX;
        for (const KeyIndex index : usable_keys) {
            fewest = std::min(fewest, keys.at(index).in_flight);
        }
        std::erase_if(usable_keys,
                      [&](KeyIndex index) { return keys.at(index).in_flight > fewest; });
        return usable_keys;
    }
    KeyCounts counts() const {
        KeyCounts counts;
        for (const auto& [index, key] : keys) {
            counts.in_flight += key.in_flight;
            if (key.rules.state == KeyState::kDisabled) {
                counts.disabled += 1;
            } else if (rests(key)) {
                counts.cooling += 1;  // whichever it is
            } else if (key.in_flight >= bound(key)) {
                counts.saturated += 1;
            } else {
                counts.available += 1;
            }
        }
        return counts;
    }

 private:
    Rotation rotation_;
    test::ManualClock& clock_;
};

class KeyPickPropertyTest : public testing::TestWithParam<std::tuple<Rotation, int>> {
 protected:
    KeyPickPropertyTest()
        : random(static_cast<std::uint64_t>(std::get<1>(GetParam()))),
          model(std::get<0>(GetParam()), clock),
          runtime(clock, RuntimeConfig{std::get<0>(GetParam()), kDefaultInFlight}) {}

    KeyRules random_rules() {
        KeyRules rules;
        rules.id = "key" + std::to_string(++made);
        rules.account = random.below(2) == 0 ? "" : "account" + std::to_string(random.below(3));
        return vary(std::move(rules));
    }
    KeyRules vary(KeyRules rules) {
        rules.state = random.below(6) == 0 ? KeyState::kDisabled : KeyState::kActive;
        rules.weight = 1 + static_cast<std::uint32_t>(random.below(4));
        rules.max_in_flight = {};
        if (random.below(3) == 0) {
            rules.max_in_flight = 1 + static_cast<std::uint32_t>(random.below(5));
        }
        return rules;
    }
    void add() {
        KeyRules rules = random_rules();
        ModelKey key;
        if (random.below(3) == 0) {
            rules.quota = KeyQuota{1 + static_cast<std::int64_t>(random.below(6)),
                                   KeyQuota::Per(random.below(3))};
            key.period_end = quota_reset(rules.quota->per, clock.wall_now());
        }
        key.rules = rules;
        model.keys.emplace(runtime.add(std::move(rules)), key);
    }
    std::optional<KeyIndex> any_key() {
        if (model.keys.empty()) {
            return std::nullopt;
        }
        return std::next(model.keys.begin(),
                         static_cast<std::ptrdiff_t>(random.below(model.keys.size())))
            ->first;
    }
    void change() {
        if (const auto index = any_key()) {
            ModelKey& key = model.keys.at(*index);
            key.rules = vary(key.rules);  // the quota stays: its change is a test of its own
            runtime.change(*index, key.rules);
        }
    }
    void remove() {
        if (const auto index = any_key()) {
            runtime.remove(*index);
            model.keys.erase(*index);
        }
    }
    void clear() {
        if (const auto index = any_key()) {
            runtime.clear_rest(*index);
            model.keys.at(*index).rest_until = Instant::min();
        }
    }
    void pick() {
        std::vector<KeyIndex> tried;
        for (std::uint64_t i = random.below(4); i > 0 && !model.keys.empty(); --i) {
            tried.push_back(*any_key());
        }
        const std::set<KeyIndex> allowed = model.candidates(tried);
        const PickStart start = runtime.pick(0, tried);
        const Pick& pick = std::get<Pick>(start);
        if (const auto* none = std::get_if<NoKey>(&pick)) {
            EXPECT_TRUE(allowed.empty()) << to_string(none->why);
            return;
        }
        const KeyIndex index = std::get<KeyIndex>(pick);
        ASSERT_TRUE(allowed.contains(index)) << "a key that may not be used, or not now";
        model.keys.at(index).in_flight += 1;
        model.keys.at(index).used += 1;
        open.push_back({index, runtime.quota_period(index), clock.wall_now()});
    }
    void use_again() {
        if (open.empty()) {
            return;
        }
        OpenCall& call = open[static_cast<std::size_t>(random.below(open.size()))];
        const KeyIndex index = call.key;
        ModelKey& key = model.keys.at(index);
        const bool may = key.rules.state == KeyState::kActive && !model.rests(key);
        EXPECT_EQ(runtime.may_be_used_again(index), may);
        EXPECT_EQ(runtime.may_still_be_used(index),
                  key.rules.state == KeyState::kActive && key.rest_until <= clock.now());
        if (may) {
            runtime.count_another_call(index);
            key.used += 1;
            call = {index, runtime.quota_period(index), clock.wall_now()};
        }
    }
    void settle() {
        if (open.empty()) {
            return;
        }
        const auto which = open.begin() + static_cast<std::ptrdiff_t>(random.below(open.size()));
        const OpenCall call = *which;
        const KeyIndex index = call.key;
        open.erase(which);
        KeySettlement settlement;
        settlement.period = call.period;
        if (random.below(4) == 0) {
            settlement.call = KeySettlement::Call::kNotMade;
        }
        if (random.below(4) == 0) {
            settlement.rest =
                KeyRest{KeyStatus::kCooling, Millis(static_cast<std::int64_t>(random.below(5'000))),
                        random.below(2) == 0 ? Reach::kKey : Reach::kAccount};
        }
        runtime.settle(index, settlement);
        ModelKey& key = model.keys.at(index);  // keys are removed while no call is open
        key.in_flight -= 1;
        if (settlement.call == KeySettlement::Call::kNotMade &&
            model.counts_now(key, call.counted_at)) {
            key.used -= 1;
        }
        if (settlement.rest) {
            const Instant until = clock.now() + settlement.rest->time;
            for (auto& [other, member] : model.keys) {
                const bool same_account = settlement.rest->reach == Reach::kAccount &&
                                          !key.rules.account.empty() &&
                                          member.rules.account == key.rules.account;
                if (other == index || same_account) {
                    member.rest_until = std::max(member.rest_until, until);
                }
            }
        }
    }
    void check() {
        model.roll();
        const KeyCounts real = runtime.counts(0);
        const KeyCounts expected = model.counts();
        EXPECT_EQ(real.available, expected.available);
        EXPECT_EQ(real.cooling + real.exhausted + real.quarantined, expected.cooling);
        EXPECT_EQ(real.saturated, expected.saturated);
        EXPECT_EQ(real.disabled, expected.disabled);
    }

    test::ManualClock clock;
    SeededRandom random;
    Model model;
    MemoryKeyRuntime runtime;
    std::vector<OpenCall> open;
    int made = 0;
};

// Whatever happens: the key that is taken is one that may be used, was not tried, and is among the
// least busy; if there is such a key one is taken; and the counts are those of the model.
TEST_P(KeyPickPropertyTest, TakesWhoseTurnItIs) {
    for (int step = 0; step < 4'000 && !HasFatalFailure() && !HasNonfatalFailure(); ++step) {
        model.roll();
        switch (random.below(20)) {
            case 0:
                add();
                break;
            case 1:
                if (open.empty()) {
                    remove();
                }
                break;
            case 2:
                change();
                break;
            case 3:
                clear();
                break;
            case 4:
                clock.advance(Millis(static_cast<std::int64_t>(random.below(3'000))));
                break;
            case 5:
                if (random.below(40) == 0) {
                    clock.advance(std::chrono::hours(11));
                }
                break;
            case 6:
                use_again();
                break;
            default:
                if (random.below(2) == 0) {
                    pick();
                } else {
                    settle();
                }
        }
        check();
    }
    while (!open.empty()) {
        settle();
    }
    EXPECT_EQ(runtime.counts(0).in_flight, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, KeyPickPropertyTest,
                         testing::Combine(testing::Values(Rotation::kLeastUsed,
                                                          Rotation::kRoundRobin,
                                                          Rotation::kWeighted),
                                          testing::Range(1, 9)));

// Every key gets its turns: over many rounds of overlapping calls the counts of equal keys differ
// by a few at most, and of weighted ones they follow the weights.
TEST(KeyPickShareTest, TurnsAreShared) {
    for (const auto rotation : {Rotation::kLeastUsed, Rotation::kRoundRobin, Rotation::kWeighted}) {
        test::ManualClock clock;
        SeededRandom random(7);
        MemoryKeyRuntime runtime(clock, RuntimeConfig{rotation, 100});
        std::vector<KeyIndex> keys;
        for (int i = 0; i < 50; ++i) {
            KeyRules rules;
            rules.id = "key" + std::to_string(i);
            rules.weight =
                rotation == Rotation::kWeighted ? 1 + static_cast<std::uint32_t>(i % 5) : 1;
            keys.push_back(runtime.add(std::move(rules)));
        }
        std::map<KeyIndex, int> taken;
        std::vector<KeyIndex> open;
        for (int i = 0; i < 15'000; ++i) {
            const PickStart start = runtime.pick(0, {});
            open.push_back(std::get<KeyIndex>(std::get<Pick>(start)));
            taken[open.back()] += 1;
            if (open.size() > 40) {
                std::swap(open[random.below(open.size())], open.back());
                runtime.settle(open.back(), KeySettlement{});
                open.pop_back();
            }
        }
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const int expected = rotation == Rotation::kWeighted ? 100 * (1 + int(i % 5)) : 300;
            EXPECT_NEAR(taken[keys[i]], expected, expected / 10) << to_string(rotation) << " " << i;
        }
    }
}

}  // namespace
}  // namespace sluice::web
