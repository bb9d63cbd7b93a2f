// Many searches at once: what is shared, what is bounded, and how evenly keys wear.
#include "base/random.h"
#include "replies.h"
#include "support/web_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using test::FakeAnswer;
using test::WebHarness;

constexpr std::size_t kKeys = 10;
constexpr std::size_t kDistinct = 200;
constexpr std::size_t kIdentical = 100;

WebConfig roomy_config(Rotation rotation) {
    WebConfig config = test::harness_config();
    config.lanes.fast.concurrency = kDistinct;
    config.keys.runtime.rotation = rotation;
    return config;
}

FakeAnswer after_a_while(const io::ClientRequest& request) {
    FakeAnswer answer = test::ok_answer(request);
    answer.delay = 300ms;
    return answer;
}

std::string secret_of(const io::ClientRequest& request) {
    return std::string(request.secret_headers.at(0).second.reveal());
}

// Searches that nobody shares, at once, over ten keys: no key carries more than it may at any
// moment, and each gets its share within a tenth, however turns are given.
TEST(ParallelSearches, SpreadOverTheKeysWithinTheirBounds) {
    constexpr std::size_t kInFlight = 25;
    for (const Rotation rotation :
         {Rotation::kLeastUsed, Rotation::kRoundRobin, Rotation::kWeighted}) {
        SCOPED_TRACE(to_string(rotation));
        WebConfig config = roomy_config(rotation);
        config.keys.runtime.max_in_flight = kInFlight;
        WebHarness h(config);
        for (std::size_t i = 0; i < kKeys; ++i) {
            h.add_key("serper", "serper-key-number-" + std::to_string(100 + i));
        }
        std::map<std::string, std::size_t> calls;
        std::map<std::string, std::size_t> at_once;
        std::size_t most = 0;
        SeededRandom random(3);
        h.http.set_responder([&](const io::ClientRequest& request) {
            FakeAnswer answer = test::ok_answer(request);
            answer.delay = Millis(200 + static_cast<std::int64_t>(random.below(800)));
            const std::string key = secret_of(request);
            calls[key] += 1;
            at_once[key] += 1;
            most = std::max(most, at_once[key]);
            answer.on_end = [&at_once, key](test::CallEnd) { at_once[key] -= 1; };
            return answer;
        });
        std::vector<std::shared_ptr<WebHarness::Client>> clients;
        for (std::size_t i = 0; i < kDistinct; ++i) {
            clients.push_back(h.start(h.request("distinct " + std::to_string(i))));
        }
        h.run();
        EXPECT_EQ(h.key_counts("serper").in_flight, kDistinct);
        h.run_for(2s);
        EXPECT_EQ(h.key_counts("serper").in_flight, 0U);
        for (const auto& client : clients) {
            ASSERT_TRUE(client->reply.has_value());
            EXPECT_FALSE(served(*client->reply).cached);
        }
        EXPECT_LE(most, kInFlight);
        ASSERT_EQ(calls.size(), kKeys);
        for (const auto& [key, count] : calls) {
            EXPECT_NEAR(static_cast<double>(count), kDistinct / kKeys, kDistinct / kKeys * 0.1);
        }
    }
}

// Keys that may carry three calls each carry three, and the rest of the crowd goes elsewhere.
TEST(ParallelSearches, FullKeysTakeNoMore) {
    WebConfig config = roomy_config(Rotation::kLeastUsed);
    config.keys.runtime.max_in_flight = 3;
    WebHarness h(config);
    for (std::size_t i = 0; i < kKeys; ++i) {
        h.add_key("serper", "serper-key-number-" + std::to_string(100 + i));
    }
    std::map<std::string, std::size_t> calls;
    h.http.set_responder([&](const io::ClientRequest& request) {
        calls[secret_of(request)] += 1;
        return after_a_while(request);
    });
    std::vector<std::shared_ptr<WebHarness::Client>> clients;
    for (std::size_t i = 0; i < kDistinct; ++i) {
        clients.push_back(h.start(h.request("distinct " + std::to_string(i))));
    }
    h.run();
    EXPECT_EQ(h.http.calls(), 3 * kKeys);
    EXPECT_EQ(h.key_counts("serper"), (KeyCounts{.saturated = 10, .in_flight = 30}));
    for (const auto& [key, count] : calls) {
        EXPECT_EQ(count, 3U);
    }
    h.run_for(30s);
    std::size_t answered = 0;
    for (const auto& client : clients) {
        ASSERT_TRUE(client->reply.has_value());
        answered += std::holds_alternative<Served>(*client->reply) ? 1 : 0;
    }
    EXPECT_EQ(answered, 3 * kKeys);
    EXPECT_EQ(h.key_counts("serper"), KeyCounts{.available = 10});
}

// A crowd that asks the same, which nobody asked before, costs one call, and all get its answer.
TEST(ParallelSearches, TheSameColdSearchCostsOneCall) {
    for (const Strategy strategy : {Strategy::kFailover, Strategy::kHedge}) {
        SCOPED_TRACE(to_string(strategy));
        WebHarness h(roomy_config(Rotation::kLeastUsed));
        h.add_key("serper", "serper-key-number-one");
        h.http.set_responder(after_a_while);
        std::vector<std::shared_ptr<WebHarness::Client>> clients;
        for (std::size_t i = 0; i < kIdentical; ++i) {
            SearchRequest request = h.request("the same");
            request.strategy = strategy;
            clients.push_back(h.start(std::move(request)));
        }
        h.run_for(1s);
        EXPECT_EQ(h.http.calls(), 1U);
        for (const auto& client : clients) {
            ASSERT_TRUE(client->reply.has_value());
            EXPECT_EQ(served(*client->reply).answer, served(*clients[0]->reply).answer);
        }
    }
}

}  // namespace
}  // namespace sluice::web
