// Two replicas that share the state of their keys, and the Redis that they share it in.
#pragma once

#include "key_replicas.h"
#include "web/key_scripts.h"
#include "web/metrics.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::web {

class SharedKeysTest : public testing::Test {
 protected:
    using Replica = test::KeyReplicas::Replica;

    SharedKeysTest() : one(start()), other(start()) {}

    Replica& start(const RuntimeConfig& config = {}, bool required = false) {
        return replicas.start(server.url(), config, required);
    }

    static KeyRules rules(std::string id) {
        KeyRules rules;
        rules.id = std::move(id);
        return rules;
    }
    static KeyRules limited(std::string id, KeyQuota quota) {
        KeyRules limited = rules(std::move(id));
        limited.quota = quota;
        return limited;
    }
    // To both, under the same index.
    KeyIndex add(const KeyRules& rules) {
        const KeyIndex key = one.keys->add(rules);
        SLUICE_ASSERT(other.keys->add(rules) == key);
        return key;
    }

    Pick pick(Replica& replica, std::vector<KeyIndex> tried = {}) {
        PickStart start = replica.keys->pick(0, tried);
        if (const auto* ready = std::get_if<Pick>(&start)) {
            return *ready;
        }
        return replicas.run(std::get<Task<Pick>>(std::move(start)));
    }
    std::optional<KeyIndex> pick_key(Replica& replica, std::vector<KeyIndex> tried = {}) {
        const Pick picked = pick(replica, std::move(tried));
        const auto* key = std::get_if<KeyIndex>(&picked);
        return key == nullptr ? std::nullopt : std::optional(*key);
    }
    NoKey::Why why_none(Replica& replica, std::vector<KeyIndex> tried = {}) {
        const Pick picked = pick(replica, std::move(tried));
        if (std::holds_alternative<KeyIndex>(picked)) {
            ADD_FAILURE() << "key " << std::get<KeyIndex>(picked);
            return NoKey::Why::kNone;
        }
        return std::get<NoKey>(picked).why;
    }
    // Returns when Redis knows of it.
    void settle(Replica& replica, KeyIndex key, std::optional<KeyRest> rest = {}) {
        replica.keys->settle(key,
                             KeySettlement{KeySettlement::Call::kMade, 0, Outcome::kSuccess, rest});
        land(replica);
    }
    // Whatever the replica said to Redis has got there, or will not.
    void land(Replica& replica) {
        constexpr std::size_t kOfTheConnection = 3;
        ASSERT_TRUE(
            replicas.until([&] { return replica.redis->tasks().running() <= kOfTheConnection; }));
    }
    // By what Redis says.
    KeyHealth health(Replica& replica, KeyIndex key) {
        std::vector<KeyIndex> one_key{key};
        return replicas.run(replica.keys->health(std::move(one_key))).front();
    }
    void refresh(Replica& replica) { replicas.run(replica.keys->refresh()); }

    io::RedisReply ask(std::vector<std::string> words) {
        return replicas.run(one.redis->command(std::move(words), Instant::max())).value();
    }
    double picks_alone() { return replicas.metrics().counter(kKeyPicks, {"alone"}).value(); }
    void lose_redis() {
        server.kill();
        ASSERT_TRUE(replicas.until([&] { return !one.redis->is_up() && !other.redis->is_up(); }));
    }
    void find_redis() {
        server.start();
        ASSERT_TRUE(replicas.until([&] { return one.redis->is_up() && other.redis->is_up(); }));
    }
    // Calls of commands that Redis made, those inside of scripts included.
    std::int64_t commands(std::string_view name = "") {
        const std::string text = ask({"INFO", "commandstats"}).text;
        const std::string head = "cmdstat_" + std::string(name);
        std::int64_t calls = 0;
        for (std::size_t at = text.find(head); at != std::string::npos;
             at = text.find(head, at + 1)) {
            calls += std::stoll(text.substr(text.find("calls=", at) + 6));
        }
        return calls;
    }

    test::ManualClock clock;
    test::RedisServer server;
    test::KeyReplicas replicas{clock};
    Replica& one;
    Replica& other;
};

}  // namespace sluice::web
