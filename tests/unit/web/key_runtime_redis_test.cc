// The state of keys that replicas share, with a real Redis: what one learns the others respect, and
// what a Redis or a replica that goes away takes with it.
#include "web/key_runtime_redis.h"

#include "shared_keys_fixture.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;

// A key never carries more calls than it may, however many replicas use it.
TEST_F(SharedKeysTest, CallsUnderWayAreCountedTogether) {
    KeyRules busy = rules("a");
    busy.max_in_flight = 2;
    const KeyIndex a = add(busy);
    EXPECT_EQ(pick_key(one), a);
    EXPECT_EQ(pick_key(other), a);
    EXPECT_EQ(why_none(one), NoKey::Why::kSaturated);
    EXPECT_EQ(why_none(other), NoKey::Why::kSaturated);
    settle(one, a);
    EXPECT_EQ(pick_key(other), a);
    EXPECT_EQ(health(one, a).in_flight, 2u);
    EXPECT_EQ(picks_alone(), 0);
}

// What one replica is told by a provider all others respect with their next pick.
TEST_F(SharedKeysTest, ARestIsRespectedByAll) {
    const KeyIndex a = add(rules("a"));
    ASSERT_EQ(pick_key(one), a);
    ASSERT_EQ(pick_key(other), a);
    settle(other, a, KeyRest{KeyStatus::kCooling, 30s});
    EXPECT_EQ(why_none(one), NoKey::Why::kResting);
    EXPECT_TRUE(one.keys->may_still_be_used(a)) << "as far as it knows";
    refresh(one);
    EXPECT_FALSE(one.keys->may_still_be_used(a));
    EXPECT_EQ(one.keys->counts(0).cooling, 1u);
    EXPECT_EQ(one.keys->back_at(0), clock.now() + 30s);
    one.keys->clear_rest(a);
    EXPECT_EQ(health(one, a).status, KeyStatus::kAvailable);
    EXPECT_EQ(pick_key(other), a);
}

TEST_F(SharedKeysTest, ARestOfAnAccountReachesItsKeysAndNoOthers) {
    KeyRules first = rules("a");
    KeyRules second = rules("b");
    KeyRules foreign = rules("c");
    first.account = second.account = "team";
    foreign.account = "team two";
    const KeyIndex a = add(first);
    add(second);
    const KeyIndex c = add(foreign);
    ASSERT_EQ(pick_key(one), a);
    settle(one, a, KeyRest{KeyStatus::kExhausted, 60s, Reach::kAccount});
    refresh(one);
    EXPECT_EQ(pick_key(other), c);
    refresh(other);
    EXPECT_EQ(other.keys->counts(0).exhausted, 2u);
}

// The quota is one for all, and what was spent is never counted as less.
TEST_F(SharedKeysTest, AQuotaIsCountedTogether) {
    const KeyIndex a = add(limited("a", {4, KeyQuota::Per::kDay, {}}));
    ASSERT_EQ(pick_key(one), a);
    ASSERT_EQ(pick_key(other), a);
    other.keys->count_another_call(a);
    land(other);
    ASSERT_EQ(pick_key(one), a);
    EXPECT_EQ(why_none(one), NoKey::Why::kResting);
    EXPECT_EQ(why_none(other), NoKey::Why::kResting);
    for (Replica* replica : {&one, &other}) {
        EXPECT_EQ(health(*replica, a).used, 4);
        const std::vector<KeyUsage> usage = replica->keys->begin_usage_write(UsageWrite::kExact);
        replica->keys->end_usage_write(true);
        ASSERT_EQ(usage.size(), 1u);
        EXPECT_EQ(usage[0].used, 4);
    }
    one.keys->settle(
        a, KeySettlement{KeySettlement::Call::kNotMade, one.keys->quota_period(a), {}, {}});
    land(one);
    EXPECT_EQ(health(other, a).used, 3);
    EXPECT_EQ(pick_key(other), a);
}

// Two replicas take turns as one would.
TEST_F(SharedKeysTest, TurnsAreSharedByReplicas) {
    for (const auto rotation : {Rotation::kLeastUsed, Rotation::kRoundRobin, Rotation::kWeighted}) {
        RuntimeConfig config;
        config.rotation = rotation;
        one.keys->configure(config);
        other.keys->configure(config);
        std::vector<KeyIndex> keys;
        for (int i = 0; i < 5; ++i) {
            keys.push_back(add(rules(std::string(to_string(rotation)) + std::to_string(i))));
        }
        std::map<KeyIndex, int> taken;
        for (int i = 0; i < 50; ++i) {
            Replica& replica = i % 3 == 0 ? one : other;
            const auto key = pick_key(replica);
            ASSERT_TRUE(key.has_value());
            taken[*key] += 1;
            settle(replica, *key);
        }
        for (const KeyIndex key : keys) {
            EXPECT_EQ(taken[key], 10) << to_string(rotation);
            one.keys->remove(key);
            other.keys->remove(key);
        }
    }
}

// A process that was killed takes its reservations with it for as long as a call may take, and no
// longer.
TEST_F(SharedKeysTest, ReservationsOfADeadProcessComeBack) {
    KeyRules busy = rules("a");
    busy.max_in_flight = 1;
    const KeyIndex a = add(busy);
    ASSERT_EQ(pick_key(one), a);
    replicas.kill(one);
    clock.advance(RuntimeConfig{}.longest_call + 10s - 1ms);
    EXPECT_EQ(why_none(other), NoKey::Why::kSaturated);
    clock.advance(1ms);
    EXPECT_EQ(pick_key(other), a);
    settle(other, a);
    EXPECT_EQ(health(other, a).in_flight, 0u);
}

// A call that takes longer than that is no longer counted, and its end takes nobody else's place.
TEST_F(SharedKeysTest, AReservationThatRanOutIsSettledWithoutHarm) {
    KeyRules busy = rules("a");
    busy.max_in_flight = 1;
    const KeyIndex a = add(busy);
    ASSERT_EQ(pick_key(one), a);
    clock.advance(RuntimeConfig{}.longest_call + 10s);
    ASSERT_EQ(pick_key(other), a);
    settle(one, a);
    EXPECT_EQ(health(one, a).in_flight, 1u) << "the other one's";
    EXPECT_EQ(why_none(one), NoKey::Why::kSaturated);
}

// A pick whose caller leaves before Redis answers gives back what it gets.
TEST_F(SharedKeysTest, APickThatNobodyWaitsForIsGivenBack) {
    const KeyIndex a = add(limited("a", {10, KeyQuota::Per::kDay, {}}));
    ASSERT_EQ(pick_key(one), a);
    settle(one, a);
    boost::asio::cancellation_signal leave;
    std::optional<Pick> picked;
    bool ended = false;
    PickStart start = one.keys->pick(0, {});
    boost::asio::co_spawn(replicas.loop,
                          store_result(std::get<Task<Pick>>(std::move(start)), picked),
                          boost::asio::bind_cancellation_slot(
                              leave.slot(), [&](const std::exception_ptr&) { ended = true; }));
    replicas.loop.restart();
    replicas.loop.poll_one();
    leave.emit(boost::asio::cancellation_type::terminal);
    ASSERT_TRUE(replicas.until([&] { return ended; }));
    land(one);
    EXPECT_FALSE(picked && std::holds_alternative<KeyIndex>(*picked));
    EXPECT_EQ(health(other, a).in_flight, 0u);
    EXPECT_EQ(health(other, a).used, 1);
}

// Whoever leaves while Redis is told takes no key, and is no reason to go alone.
TEST_F(SharedKeysTest, APickThatIsCancelledWhileRedisIsToldTakesNoKey) {
    const KeyIndex a = add(rules("a"));
    ASSERT_EQ(pick_key(one), a);
    settle(one, a);
    server.freeze();
    one.keys->change(a, rules("a"));  // there is something to tell
    boost::asio::cancellation_signal leave;
    std::optional<Pick> picked;
    bool ended = false;
    PickStart start = one.keys->pick(0, {});
    boost::asio::co_spawn(replicas.loop,
                          store_result(std::get<Task<Pick>>(std::move(start)), picked),
                          boost::asio::bind_cancellation_slot(
                              leave.slot(), [&](const std::exception_ptr&) { ended = true; }));
    replicas.loop.restart();
    replicas.loop.poll();
    leave.emit(boost::asio::cancellation_type::terminal);
    ASSERT_TRUE(replicas.until([&] { return ended; }));
    server.resume();
    land(one);
    EXPECT_FALSE(picked && std::holds_alternative<KeyIndex>(*picked));
    EXPECT_EQ(picks_alone(), 0);
    EXPECT_FALSE(replicas.lines().contains("keys_not_shared"));
}

// What others have under way is known again after Redis was away, whichever pool hears of it first.
TEST_F(SharedKeysTest, CallsOfOthersAreKnownAgainAfterRedisWasAway) {
    const KeyIndex a = add(rules("a"));
    const KeyIndex b = add(rules("b"));
    ASSERT_EQ(pick_key(other), a);
    refresh(one);
    ASSERT_EQ(one.keys->counts(0).in_flight, 1u);
    ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no"});
    ASSERT_TRUE(replicas.until([&] { return !one.redis->is_up(); }));
    ASSERT_EQ(pick_key(one, {a}), b);
    EXPECT_EQ(one.keys->counts(0).in_flight, 1u) << "its own";
    ASSERT_TRUE(replicas.until([&] { return one.redis->is_up() && other.redis->is_up(); }));
    refresh(one);
    EXPECT_EQ(one.keys->counts(0).in_flight, 2u);
}

// A process that starts adds nothing to what Redis counts already, and gives what only it knows.
TEST_F(SharedKeysTest, AStoreGivesWhatRedisDoesNotKnow) {
    const KeyRules counted = limited("a", {100, KeyQuota::Per::kTotal, {}});
    const KeyIndex a = add(counted);
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(pick_key(one), a);
    }
    Replica& third = start();
    const KeyIndex same = third.keys->add(counted);
    third.keys->restore_usage(same, {"a", WallTime{}, 2});
    EXPECT_EQ(health(third, same).used, 3);
    Replica& fourth = start();
    const KeyIndex again = fourth.keys->add(counted);
    fourth.keys->restore_usage(again, {"a", WallTime{}, 40});
    EXPECT_EQ(health(fourth, again).used, 40);
    EXPECT_EQ(health(one, a).used, 40);
    ask({"FLUSHALL"});
    EXPECT_EQ(health(one, a).used, 40);
    EXPECT_EQ(health(third, same).used, 40);
}

// Calls of others use up what a replica's store vouches for as its own calls do.
TEST_F(SharedKeysTest, AStoreIsToldOfTheCallsOfOthersBeforeTheNextOne) {
    const KeyIndex a = add(limited("a", {100'000, KeyQuota::Per::kMonth, {}}));
    ASSERT_EQ(pick_key(one), a);
    const std::vector<KeyUsage> block = one.keys->begin_usage_write(UsageWrite::kUrgent);
    one.keys->end_usage_write(true);
    ASSERT_EQ(block.size(), 1u);
    for (std::int64_t i = 0; i < block[0].used; ++i) {
        ASSERT_EQ(pick_key(other), a);
    }
    ASSERT_EQ(pick_key(one), a);
    EXPECT_FALSE(one.keys->is_vouched_for(a));
    const std::vector<KeyUsage> next = one.keys->begin_usage_write(UsageWrite::kUrgent);
    one.keys->end_usage_write(true);
    ASSERT_EQ(next.size(), 1u);
    EXPECT_GE(next[0].used, block[0].used + 2);
    EXPECT_TRUE(one.keys->is_vouched_for(a));
}

// Without Redis each one goes on with what it knows, which is said once, and tells it afterwards
// what it did meanwhile.
TEST_F(SharedKeysTest, WhatHappensWithoutRedisIsGivenBack) {
    const KeyIndex a = add(limited("a", {10, KeyQuota::Per::kDay, {}}));
    const KeyIndex b = add(rules("b"));
    ASSERT_EQ(pick_key(one, {b}), a);
    ASSERT_EQ(pick_key(other, {b}), a);
    settle(other, a);
    refresh(one);
    refresh(other);
    lose_redis();
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(pick_key(one, {b}), a);
        ASSERT_EQ(pick_key(other, {b}), a);
        settle(other, a);
    }
    ASSERT_EQ(pick_key(other, {a}), b);
    settle(other, b, KeyRest{KeyStatus::kCooling, 50s});
    EXPECT_EQ(one.keys->counts(0).in_flight, 3u) << "of its own";
    EXPECT_EQ(picks_alone(), 5);
    find_redis();
    EXPECT_EQ(health(other, b).status, KeyStatus::kCooling);
    EXPECT_EQ(health(one, a).used, 6);
    EXPECT_EQ(health(one, b).status, KeyStatus::kCooling);
    EXPECT_EQ(health(other, a).used, 6);
    EXPECT_EQ(health(other, a).in_flight, 3u);
    ASSERT_EQ(pick_key(one), a);
    EXPECT_EQ(picks_alone(), 5);
    EXPECT_EQ(replicas.lines().count(obs::Level::kWarn, "keys_not_shared"), 2u);
    EXPECT_EQ(replicas.lines().count(obs::Level::kInfo, "keys_shared_again"), 2u);
}

// A Redis that was only out of reach still has what others did; nothing is counted twice.
TEST_F(SharedKeysTest, AConnectionThatWasLostCountsNothingTwice) {
    const KeyIndex a = add(limited("a", {100, KeyQuota::Per::kDay, {}}));
    ASSERT_EQ(pick_key(one), a);
    ASSERT_EQ(pick_key(other), a);
    ask({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no"});
    ASSERT_TRUE(replicas.until([&] { return !one.redis->is_up(); }));
    ASSERT_EQ(pick_key(one), a);
    settle(one, a, KeyRest{KeyStatus::kCooling, 5s});
    ASSERT_TRUE(replicas.until([&] { return one.redis->is_up() && other.redis->is_up(); }));
    refresh(one);
    EXPECT_EQ(health(other, a).used, 3);
    EXPECT_EQ(health(other, a).status, KeyStatus::kCooling);
    EXPECT_FALSE(replicas.lines().contains("key_state_lost"));
}

// Where Redis is required nothing is spent that the others don't know of.
TEST_F(SharedKeysTest, ARequiredRedisThatIsAwayGivesNoKey) {
    Replica& strict = start({}, true);
    strict.keys->add(rules("a"));
    ASSERT_TRUE(pick_key(strict).has_value());
    server.kill();
    ASSERT_TRUE(replicas.until([&] { return !strict.redis->is_up(); }));
    EXPECT_EQ(why_none(strict), NoKey::Why::kUnknown);
    EXPECT_EQ(picks_alone(), 0);
}

TEST_F(SharedKeysTest, ScriptsThatWereForgottenAreTaughtAgain) {
    const KeyIndex a = add(rules("a"));
    ASSERT_EQ(pick_key(one), a);
    ask({"SCRIPT", "FLUSH"});
    settle(one, a);
    EXPECT_EQ(pick_key(one), a);
    EXPECT_EQ(health(one, a).in_flight, 1u);
    EXPECT_EQ(picks_alone(), 0);
}

// Of picks that come while Redis is told again, none finds it half told.
TEST_F(SharedKeysTest, APickWaitsUntilRedisIsTold) {
    for (int i = 0; i < 20; ++i) {
        add(rules("a" + std::to_string(i)));
    }
    ASSERT_TRUE(pick_key(one).has_value());
    ASSERT_TRUE(pick_key(other).has_value());
    ask({"FLUSHALL"});
    ask({"SCRIPT", "FLUSH"});
    constexpr std::size_t kPicks = 500;
    std::array<std::optional<Pick>, kPicks> picks;
    for (std::size_t i = 0; i < kPicks; ++i) {
        PickStart start = (i % 2 == 0 ? one : other).keys->pick(0, {});
        boost::asio::co_spawn(replicas.loop,
                              store_result(std::get<Task<Pick>>(std::move(start)), picks[i]),
                              boost::asio::detached);
        for (int steps = 0; steps < 6; ++steps) {
            replicas.loop.restart();
            replicas.loop.run_one_for(1ms);
        }
    }
    ASSERT_TRUE(replicas.until([&] {
        return std::ranges::all_of(picks, [](const auto& pick) { return pick.has_value(); });
    }));
    for (const auto& pick : picks) {
        EXPECT_TRUE(std::holds_alternative<KeyIndex>(*pick));
    }
    EXPECT_EQ(picks_alone(), 0);
}

// What was told and not answered is told again: it counts once.
TEST_F(SharedKeysTest, WhatIsToldTwiceCountsOnce) {
    const KeyIndex a = add(rules("a"));
    ASSERT_EQ(pick_key(one), a);
    const std::string root = key_root(provider_names()[0]);
    const std::string epoch = ask({"HGET", root, "epoch"}).text;
    const auto time = std::chrono::floor<Millis>(clock.wall_now().time_since_epoch());
    const std::string now = std::to_string(time.count());
    const std::string entry =
        R"({"id":"a","w":1,"m":100,"p":"total","held":["of a call that is open"]})";
    for (int i = 0; i < 2; ++i) {
        std::vector<std::string> keys{root};
        std::vector<std::string> words{now, epoch, "least_used", "60000", entry};
        ASSERT_TRUE(replicas
                        .run(one.redis->run(share_keys_script(), std::move(keys), std::move(words),
                                            Instant::max()))
                        .ok());
    }
    EXPECT_EQ(health(other, a).in_flight, 2u);
}

// One round trip a pick, and one a settlement; and what Redis does for it is the same among 16,000
// keys as among 16.
TEST_F(SharedKeysTest, APickIsOneScriptWhateverTheNumberOfKeys) {
    constexpr int kPicks = 20;
    std::array<std::int64_t, 2> work{};
    int added = 0;
    for (std::size_t size : {std::size_t{0}, std::size_t{1}}) {
        for (const int count = size == 0 ? 16 : 16'000; added < count; ++added) {
            one.keys->add(rules("key" + std::to_string(added)));
        }
        ASSERT_TRUE(pick_key(one).has_value());
        refresh(one);
        const std::int64_t scripts = commands("evalsha");
        const std::int64_t loads = commands("eval:");
        const std::int64_t before = commands();
        for (int i = 0; i < kPicks; ++i) {
            ASSERT_TRUE(pick_key(one).has_value());
        }
        work[size] = commands() - before;
        EXPECT_EQ(commands("evalsha") - scripts, kPicks);
        EXPECT_EQ(commands("eval:"), loads);
    }
    EXPECT_EQ(work[0], work[1]);
    EXPECT_EQ(picks_alone(), 0);
}

// State of which nobody asks any more is not kept for ever.
TEST_F(SharedKeysTest, EverythingInRedisExpires) {
    KeyRules member = limited("a", {100, KeyQuota::Per::kDay, {}});
    member.account = "team";
    const KeyIndex a = add(member);
    add(rules("b"));
    ASSERT_EQ(pick_key(one), a);
    settle(one, a, KeyRest{KeyStatus::kCooling, 30s});
    ASSERT_TRUE(pick_key(one).has_value());
    refresh(one);
    const io::RedisReply names = ask({"KEYS", "*"});
    EXPECT_EQ(names.elements.size(), 7u);
    for (const io::RedisReply& name : names.elements) {
        EXPECT_TRUE(name.text.starts_with("sluice:keys:{")) << name.text;
        EXPECT_GT(ask({"PTTL", name.text}).integer, 0) << name.text;
    }
}

}  // namespace
}  // namespace sluice::web
