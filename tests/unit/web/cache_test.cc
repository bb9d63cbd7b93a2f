// The answer cache as a search meets it: its modes, what it says about itself, what it keeps when
// callers leave, and what it does when there is no room.
#include "web/cache.h"

#include "replies.h"
#include "support/web_harness.h"
#include "web/metrics.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using test::FakeAnswer;

FakeAnswer slow_answer(const io::ClientRequest& request) {
    FakeAnswer answer = test::ok_answer(request);
    answer.delay = 200ms;
    return answer;
}

class CacheTest : public ::testing::Test {
 protected:
    CacheTest() : h(config()) {}
    void SetUp() override {
        h.add_key("serper", "serper-key-number-one");
        h.add_key("tavily", "tvly-key-number-one");
    }
    static WebConfig config() {
        WebConfig config = test::harness_config();
        config.cache.max_unattended = 2;
        config.cache.provider_results_enabled = false;
        return config;
    }

    SearchReply ask(std::string query, CacheMode mode = CacheMode::kUse) {
        SearchRequest request = h.request(std::move(query));
        request.cache = mode;
        return h.search(std::move(request));
    }
    CacheNote note(const SearchReply& reply) {
        return std::visit([](const auto& end) { return end.note; }, reply);
    }
    double events(std::string event) {
        return h.metrics.counter(kCacheEvents, {std::move(event)}).value();
    }

    test::WebHarness h;
};

struct ModeCase {
    CacheMode mode;
    bool cached;        // with a fresh answer there
    CacheFate with;     // what becomes of the request then
    CacheFate without;  // and with an empty cache
    bool stores;
};

// What each mode reads, writes and says, with a fresh answer and without one.
TEST_F(CacheTest, ModesReadAndWrite) {
    const ModeCase cases[] = {
        {CacheMode::kUse, true, CacheFate::kHit, CacheFate::kMiss, true},
        {CacheMode::kRefresh, false, CacheFate::kRefresh, CacheFate::kRefresh, true},
        {CacheMode::kBypass, false, CacheFate::kBypass, CacheFate::kBypass, false},
        {CacheMode::kOnly, true, CacheFate::kHit, CacheFate::kOnly, false},
    };
    for (const ModeCase& c : cases) {
        SCOPED_TRACE(to_string(c.mode));
        h.web.purge_cache();
        const SearchReply without = ask("kiln", c.mode);
        EXPECT_EQ(note(without).fate, c.without);
        EXPECT_EQ(note(without).stored, c.stores);
        EXPECT_FALSE(note(without).from_past);
        EXPECT_EQ(h.web.purge_cache().answers, c.stores ? 1u : 0u);
        ask("kiln");
        const SearchReply with = ask("kiln", c.mode);
        EXPECT_EQ(note(with).fate, c.with);
        EXPECT_EQ(served(with).cached, c.cached);
    }
}

// Age and time to live count from when the provider answered, to the second.
TEST_F(CacheTest, NotesSayHowOldAndForHowLong) {
    ask("kiln");
    h.clock.advance(9s);
    const CacheNote fresh = note(ask("kiln"));
    EXPECT_TRUE(fresh.from_past);
    EXPECT_EQ(fresh.age, 9s);
    EXPECT_EQ(fresh.ttl, 291s);

    h.clock.advance(300s);
    h.http.set_responder([](const io::ClientRequest&) { return test::status_answer(503); });
    const SearchReply stale = ask("kiln");
    EXPECT_TRUE(served(stale).stale);
    EXPECT_EQ(note(stale).fate, CacheFate::kStale);
    EXPECT_EQ(note(stale).age, 309s);
    EXPECT_EQ(note(stale).ttl, -9s);

    h.http.set_responder([](const io::ClientRequest& request) { return test::ok_answer(request); });
    h.clock.advance(60s);
    const SearchReply renewed = ask("kiln");
    EXPECT_EQ(note(renewed).fate, CacheFate::kStale) << "why the providers were asked";
    EXPECT_FALSE(note(renewed).from_past);
}

// A hundred who ask the same at once: one call, and those who waited for it say so.
TEST_F(CacheTest, AHundredColdSearchesAreOneCall) {
    h.http.set_responder(slow_answer);
    std::vector<std::shared_ptr<test::WebHarness::Client>> clients;
    for (int i = 0; i < 100; ++i) {
        clients.push_back(h.start(h.request("kiln")));
    }
    h.run_for(1s);
    int collapsed = 0;
    int stored = 0;
    for (const auto& client : clients) {
        ASSERT_TRUE(client->reply);
        collapsed += note(*client->reply).collapsed ? 1 : 0;
        stored += note(*client->reply).stored ? 1 : 0;
    }
    EXPECT_EQ(h.http.calls(), 1u);
    EXPECT_EQ(collapsed, 99);
    EXPECT_EQ(stored, 1);
    EXPECT_EQ(events("collapsed"), 99);
}

// What is paid for is kept: the caller left, the answer is there for the next one.
TEST_F(CacheTest, KeepsWhatWasPaidForWhenTheCallerLeaves) {
    h.http.set_responder(slow_answer);
    const auto client = h.start(h.request("kiln"));
    h.run_for(50ms);
    h.hang_up(*client);
    h.run();
    EXPECT_EQ(h.http.under_way(), 1u);
    h.run_for(1s);
    EXPECT_EQ(events("salvaged"), 1);
    EXPECT_TRUE(served(ask("kiln")).cached);
    EXPECT_EQ(h.http.calls(), 1u);
    EXPECT_EQ(h.overview().fast.running, 0u);
}

// But nothing new is paid for when nobody waits: no second provider after the first has failed.
TEST_F(CacheTest, BeginsNoCallForNobody) {
    h.http.set_responder([](const io::ClientRequest&) {
        FakeAnswer answer = test::status_answer(503);
        answer.delay = 200ms;
        return answer;
    });
    const auto client = h.start(h.request("kiln"));
    h.run_for(50ms);
    h.hang_up(*client);
    h.run_for(5s);
    EXPECT_EQ(h.http.calls(), 1u);
    EXPECT_EQ(h.overview().flights, 0u);
}

// And only so much goes on unattended.
TEST_F(CacheTest, UnattendedSearchesAreBounded) {
    h.http.set_responder(slow_answer);
    std::vector<std::shared_ptr<test::WebHarness::Client>> clients;
    for (int i = 0; i < 5; ++i) {
        clients.push_back(h.start(h.request("query " + std::to_string(i))));
    }
    h.run_for(50ms);
    for (const auto& client : clients) {
        h.hang_up(*client);
    }
    h.run();
    EXPECT_EQ(h.http.under_way(), 2u);
    h.run_for(1s);
    EXPECT_EQ(h.web.purge_cache().answers, 2u);
}

// A bypass is its caller's own: when that one leaves, it ends.
TEST_F(CacheTest, AnAbandonedBypassEnds) {
    h.http.set_responder(slow_answer);
    SearchRequest request = h.request("kiln");
    request.cache = CacheMode::kBypass;
    const auto client = h.start(std::move(request));
    h.run_for(50ms);
    h.hang_up(*client);
    h.run();
    EXPECT_EQ(h.http.under_way(), 0u);
}

// A failure goes to everybody who waited, and is not kept.
TEST_F(CacheTest, FollowersShareAFailure) {
    h.http.set_responder([](const io::ClientRequest&) {
        FakeAnswer answer = test::status_answer(503);
        answer.delay = 100ms;
        return answer;
    });
    const auto first = h.start(h.request("kiln"));
    const auto second = h.start(h.request("kiln"));
    h.run_for(1s);
    ASSERT_TRUE(first->reply && second->reply);
    EXPECT_EQ(failed(*first->reply).error.code, failed(*second->reply).error.code);
    EXPECT_TRUE(note(*second->reply).collapsed);
    EXPECT_FALSE(note(*second->reply).stored);
    EXPECT_EQ(h.http.calls(), 2u);
    EXPECT_EQ(h.web.purge_cache().answers, 0u);
}

// What nobody asks for again goes when its time is over, and a provider's results before that,
// although nothing is written any more.
TEST(CacheSweep, WhatIsOverGoesByItself) {
    test::WebHarness h;
    h.add_key("serper", "serper-key-number-one");
    TaskScope tasks(h.io.get_executor(), [](const std::exception_ptr&) { ADD_FAILURE(); });
    const auto stop = std::make_shared<boost::asio::cancellation_signal>();
    tasks.spawn(h.web.sweep_caches(), stop);
    for (int i = 0; i < 50; ++i) {
        h.search(h.request("query " + std::to_string(i)));
    }
    const auto results = [&h] {
        return h.metrics.expose().find("sluice_web_result_cache_entries 0\n") == std::string::npos;
    };
    h.run_for(299s);
    EXPECT_EQ(h.overview().cache.entries, 50u);
    EXPECT_TRUE(results());
    h.run_for(3s);
    EXPECT_FALSE(results());
    EXPECT_EQ(h.overview().cache.entries, 50u) << "stale ones are the last resort";
    h.run_for(3'600s);
    EXPECT_EQ(h.overview().cache.entries, 0u);
    stop->emit(boost::asio::cancellation_type::terminal);
    h.run();
    EXPECT_EQ(tasks.running(), 0u);
}

// A purge forgets at once and destroys later, in pieces: who asks for it does not wait for that.
TEST(CachePurge, DestroysLater) {
    test::WebHarness h;
    h.add_key("serper", "serper-key-number-one");
    const std::weak_ptr<const SearchAnswer> answer = served(h.search(h.request("kiln"))).answer;
    h.run();
    EXPECT_EQ(h.web.purge_cache().answers, 1u);
    EXPECT_EQ(h.overview().cache.entries, 0u);
    EXPECT_FALSE(served(h.search(h.request("kiln"))).cached);
    h.run();
    EXPECT_TRUE(answer.expired());
}

// Without memory for it the cache is off: searches work, nothing is kept, and the log says why.
TEST(CacheRoom, WithoutBytesTheCacheIsOff) {
    WebConfig config = test::harness_config();
    config.cache.max_bytes = 0;
    test::WebHarness h(std::move(config));
    h.add_key("serper", "serper-key-number-one");
    EXPECT_TRUE(h.sink.contains("answer_cache_off"));
    for (std::size_t calls = 1; calls <= 2; ++calls) {
        const SearchReply reply = h.search(h.request("kiln"));
        EXPECT_FALSE(served(reply).cached);
        EXPECT_FALSE(served(reply).note.stored);
        EXPECT_EQ(h.http.calls(), calls);
    }
}

// An answer that is larger than the whole cache is served and not kept, which is counted, and said
// once in a while.
TEST(CacheRoom, AnAnswerLargerThanTheCacheIsServedAndNotKept) {
    WebConfig config = test::harness_config();
    config.cache.max_bytes = 1'000;
    test::WebHarness h(std::move(config));
    h.add_key("serper", "serper-key-number-one");
    for (int i = 0; i < 2; ++i) {
        EXPECT_FALSE(served(h.search(h.request("kiln"))).note.stored);
    }
    EXPECT_EQ(h.metrics.counter(kCacheEvents, {"too_large"}).value(), 2.0);
    EXPECT_EQ(h.sink.count(obs::Level::kWarn, "answer_too_large_for_cache"), 1u);
    h.clock.advance(AnswerCache::kWarningEvery);
    h.search(h.request("kiln"));
    EXPECT_EQ(h.sink.count(obs::Level::kWarn, "answer_too_large_for_cache"), 2u);
}

// A full cache stays within its bytes, counts what goes, says so, and goes on answering.
TEST(CacheRoom, AFullCacheSaysSoAndGoesOn) {
    WebConfig config = test::harness_config();
    config.cache.max_bytes = 64 * 1024;
    test::WebHarness h(std::move(config));
    h.add_key("serper", "serper-key-number-one");
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(served(h.search(h.request("query " + std::to_string(i)))).answer->hits().size(),
                  3u);
    }
    EXPECT_LE(h.overview().cache.bytes, 64u * 1024);
    EXPECT_GT(h.overview().cache.evictions, 0u);
    EXPECT_EQ(h.sink.count(obs::Level::kWarn, "answer_cache_full"), 1u);
    EXPECT_TRUE(served(h.search(h.request("query 99"))).cached);
    EXPECT_NE(h.metrics.expose().find("sluice_web_cache_evictions_total{cache=\"answers\"}"),
              std::string::npos);
}

// Who waits for the same flight may have had the answer rendered by then, which ends its fields.
TEST(LifetimeOf, IsKnownWhenTheFieldsAreGone) {
    const CacheConfig config;
    for (const bool has_hits : {true, false}) {
        const SearchAnswer answer("q", Lane::kFast, "p", std::nullopt,
                                  std::vector<Hit>(has_hits ? 1 : 0));
        answer.body_for(Door::kRest, [](const SearchAnswer&) { return std::string("body"); });
        EXPECT_EQ(answer.is_empty(), !has_hits);
        EXPECT_EQ(lifetime_of(answer, Instant{}, config).fresh_for,
                  has_hits ? config.ttl : config.negative_ttl);
    }
}

}  // namespace
}  // namespace sluice::web
