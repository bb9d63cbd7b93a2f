// The merge strategy through the real web side: who is waited for, what one answer is made of, and
// that nothing is left behind.
#include "replies.h"
#include "support/web_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using test::FakeAnswer;
using test::WebHarness;

FakeAnswer stalled() {
    FakeAnswer answer;
    answer.stall = true;
    return answer;
}

FakeAnswer page(std::string body) {
    FakeAnswer answer;
    answer.body = std::move(body);
    return answer;
}

class MergeTest : public testing::Test {
 protected:
    void SetUp() override {
        h.add_key("serper", "serper-key-number-one");
        h.add_key("tavily", "tvly-key-number-one");
    }
    void upstream(Act serper, Act tavily) {
        h.http.set_responder([=](const io::ClientRequest& request) {
            return is_serper(request) ? serper(request) : tavily(request);
        });
    }
    SearchRequest merged(std::string query = "kiln") {
        SearchRequest request = h.request(std::move(query));
        request.strategy = Strategy::kMerge;
        return request;
    }
    void expect_nothing_left() {
        EXPECT_EQ(h.http.under_way(), 0u);
        for (const auto& [provider, counts] : h.keys.counts()) {
            EXPECT_EQ(counts.in_flight, 0u) << provider;
            EXPECT_EQ(counts.available, 1u) << provider;
        }
    }
    WebHarness h;
};

// Both are asked at once, and a page that both found stands first, with where each had it.
TEST_F(MergeTest, TwoListsBecomeOne) {
    upstream(
        [](const io::ClientRequest&) {
            return after(300ms, page(R"({"organic":[
                {"title":"One","link":"https://one.example/","snippet":"1","position":1},
                {"title":"Both","link":"https://www.both.example/p/","snippet":"2","position":2}]})"));
        },
        [](const io::ClientRequest&) {
            return after(200ms, page(R"({"query":"q","answer":null,"results":[
                {"title":"Two","url":"https://two.example/","content":"3","score":0.9},
                {"title":"Both","url":"https://both.example/p","content":"4","score":0.8}]})"));
        });
    const Instant begun = h.clock.now();
    const SearchReply reply = h.search(merged());
    EXPECT_EQ(h.clock.now() - begun, 300ms);
    const SearchAnswer& answer = *served(reply).answer;
    EXPECT_EQ(answer.provider(), "merge");
    ASSERT_EQ(answer.hits().size(), 3u);
    EXPECT_EQ(answer.hits()[0].url, "https://www.both.example/p/");
    EXPECT_EQ(answer.hits()[0].origins.size(), 2u);
    EXPECT_EQ(answer.hits()[1].url, "https://one.example/");
    EXPECT_EQ(answer.hits()[1].provider, "serper");
    EXPECT_FALSE(served(reply).degraded);
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:success", "tavily:success"}));
    EXPECT_TRUE(served(h.search(merged())).cached);
    expect_nothing_left();
}

// A lane whose strategy it is has its searches merged, unless they name another.
TEST_F(MergeTest, ALaneMayMerge) {
    WebConfig config = test::harness_config();
    config.fast_strategy = Strategy::kMerge;
    h.web.reconfigure(config);
    EXPECT_EQ(served(h.search(h.request("kiln"))).answer->provider(), "merge");
    SearchRequest named = h.request("kiln");
    named.strategy = Strategy::kFailover;
    EXPECT_EQ(served(h.search(named)).answer->provider(), "serper");
}

// The first answer is enough: the other has merge.wait_s more, then its call is cancelled, nobody
// is blamed for that, and everything it held is free. The list is poorer for it, and says so.
TEST_F(MergeTest, SlowOneIsNotWaitedForLonger) {
    upstream(
        [](const io::ClientRequest&) { return stalled(); },
        [](const io::ClientRequest& request) { return after(500ms, test::ok_answer(request)); });
    const Instant begun = h.clock.now();
    const SearchReply reply = h.search(merged());
    EXPECT_EQ(h.clock.now() - begun, 1500ms);
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:cancelled", "tavily:success"}));
    EXPECT_FALSE(served(reply).attempts[0].blame);
    EXPECT_TRUE(served(reply).degraded);
    expect_nothing_left();
}

// Nobody answers before the deadline, which is a call's own too: whichever is noticed first, the
// providers were too slow, and their circuits hear of it.
TEST_F(MergeTest, StallingToTheDeadlineIsTheProvidersFault) {
    WebConfig config = test::harness_config();
    config.lanes.fast.deadline = 5s;
    h.web.reconfigure(config);
    upstream([](const io::ClientRequest&) { return stalled(); },
             [](const io::ClientRequest&) { return stalled(); });
    for (int i = 0; i < 3; ++i) {
        const Failure failure = failed(h.search(merged("kiln " + std::to_string(i))));
        EXPECT_EQ(failure.error.code, Code::kUpstreamFailed) << failure.error.message;
        EXPECT_EQ(failure.error.blame, Blame::kProvider);
        EXPECT_EQ(trail(failure.attempts),
                  (std::vector<std::string>{"serper:timeout", "tavily:timeout"}));
    }
    EXPECT_EQ(trail(failed(h.search(merged())).attempts),
              (std::vector<std::string>{"serper:skipped_circuit", "tavily:skipped_circuit"}));
    expect_nothing_left();
}

// Whose keys rest for a moment is replaced like anybody else who can't be asked, while there is
// somebody to replace it; the last one is waited for.
TEST_F(MergeTest, ARestingKeyHoldsNoPlaceThatAnotherCouldHave) {
    WebConfig config = test::harness_config();
    config.route_fast = {"serper", "tavily", "exa"};
    config.merge.providers = 2;
    config.merge.wait = 3000ms;
    h.web.reconfigure(config);
    h.rest_key("serper", KeyStatus::kCooling, 2000ms);
    EXPECT_EQ(trail(served(h.search(merged("nobody else"))).attempts),
              (std::vector<std::string>{"serper:success", "tavily:success"}));
    h.add_key("exa", "exa-key-number-one");
    h.rest_key("serper", KeyStatus::kCooling, 2000ms);
    const Instant begun = h.clock.now();
    EXPECT_EQ(trail(served(h.search(merged())).attempts),
              (std::vector<std::string>{"serper:skipped_no_key", "tavily:success", "exa:success"}));
    EXPECT_EQ(h.clock.now(), begun);
}

// One failed: what the other has is served, and said not to be everything. It is remembered for a
// short time only, so that who asks again pays for a dead provider now and then, not each time.
TEST_F(MergeTest, OneFailureIsDegraded) {
    upstream([](const io::ClientRequest&) { return test::status_answer(500); },
             [](const io::ClientRequest& request) { return test::ok_answer(request); });
    const SearchReply reply = h.search(merged());
    EXPECT_TRUE(served(reply).degraded);
    EXPECT_EQ(served(reply).answer->hits().size(), 3u);
    const std::size_t calls = h.http.calls();
    const Millis kept = h.web.config()->cache.negative_ttl;
    h.clock.advance(kept - 1ms);
    const SearchReply again = h.search(merged());
    EXPECT_TRUE(served(again).cached);
    EXPECT_FALSE(served(again).stale);
    EXPECT_TRUE(served(again).degraded);
    EXPECT_EQ(h.http.calls(), calls);
    h.clock.advance(1ms);
    EXPECT_FALSE(served(h.search(merged())).cached);
}

// Nothing beside a failure may be a mistake: that is not remembered.
TEST_F(MergeTest, EmptyBesideAFailureIsNotKept) {
    upstream([](const io::ClientRequest&) { return test::status_answer(500); },
             [](const io::ClientRequest& request) { return test::ok_answer(request, 0); });
    const SearchReply reply = h.search(merged());
    EXPECT_TRUE(served(reply).degraded);
    EXPECT_EQ(h.web.purge_cache().answers, 0u);
}

// A provider that can't be called is out for as long as that lasts: what the others have is all
// there is, and is kept.
TEST_F(MergeTest, WhoIsPassedOverDoesNotDegrade) {
    h.rest_key("tavily", KeyStatus::kExhausted, 3600s);
    const SearchReply reply = h.search(merged());
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:success", "tavily:skipped_no_key"}));
    EXPECT_FALSE(served(reply).degraded);
    EXPECT_TRUE(served(h.search(merged())).cached);
}

// A key that is refused beside one of the same provider that answers has cost nothing.
TEST_F(MergeTest, AnotherKeyMakesAFailureGood) {
    h.add_key("serper", "serper-key-number-two");
    upstream(
        [first = true](const io::ClientRequest& request) mutable {
            return std::exchange(first, false) ? test::status_answer(401)
                                               : test::ok_answer(request);
        },
        [](const io::ClientRequest& request) { return test::ok_answer(request); });
    const SearchReply reply = h.search(merged());
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:auth_failed", "serper:success", "tavily:success"}));
    EXPECT_FALSE(served(reply).degraded);
}

// However many keys are refused, and however many providers are asked, one request makes no more
// attempts than any other, and everybody of the route has one.
TEST_F(MergeTest, AttemptsAreCountedTogether) {
    const std::vector<std::string> route = {"serper", "tavily", "exa", "brave"};
    WebConfig config = test::harness_config();
    config.route_fast = route;
    config.merge.providers = 2;
    h.web.reconfigure(config);
    for (const std::string& provider : route) {
        for (int i = 0; i < 40; ++i) {
            h.add_key(provider, "a-key-with-the-number-" + std::to_string(i));
        }
    }
    upstream([](const io::ClientRequest&) { return test::status_answer(401); },
             [](const io::ClientRequest&) { return test::status_answer(401); });
    const std::vector<Attempt> attempts = failed(h.search(merged())).attempts;
    EXPECT_LE(attempts.size(), kMaxAttempts);
    for (const std::string& provider : route) {
        EXPECT_TRUE(std::ranges::any_of(attempts, [&](const Attempt& attempt) {
            return attempt.provider == provider;
        })) << provider;
    }
}

// Empty from one does not end the search while another may know more.
TEST_F(MergeTest, EmptyIsNotAnAnswerWhileOthersAreAsked) {
    upstream([](const io::ClientRequest& request) { return test::ok_answer(request, 0); },
             [](const io::ClientRequest& request) { return after(5s, test::ok_answer(request)); });
    EXPECT_EQ(served(h.search(merged())).answer->hits().size(), 3u);
}

// All empty is an empty answer.
TEST_F(MergeTest, AllEmptyIsEmpty) {
    upstream([](const io::ClientRequest& request) { return test::ok_answer(request, 0); },
             [](const io::ClientRequest& request) { return test::ok_answer(request, 0); });
    const SearchReply reply = h.search(merged());
    EXPECT_TRUE(served(reply).answer->hits().empty());
    EXPECT_FALSE(served(reply).degraded);
}

// An empty answer made of results that are known already is as old as the oldest of them.
TEST_F(MergeTest, AllEmptyIsAsOldAsItsParts) {
    upstream([](const io::ClientRequest& request) { return test::ok_answer(request, 0); },
             [](const io::ClientRequest& request) { return test::ok_answer(request, 0); });
    const Instant first = h.clock.now();
    h.search(h.request("kiln"));
    h.clock.advance(10s);
    const SearchReply reply = h.search(merged("kiln"));
    EXPECT_EQ(h.http.calls(), 2u);
    EXPECT_EQ(served(reply).answer->made_at(), first);
    EXPECT_EQ(served(reply).note.age, 10s);
}

// Who honoured a constraint is told of an empty answer too.
TEST_F(MergeTest, AllEmptyTellsHowConstraintsWereHonoured) {
    upstream([](const io::ClientRequest& request) { return test::ok_answer(request, 0); },
             [](const io::ClientRequest& request) { return test::ok_answer(request, 0); });
    SearchRequest request = merged("kiln");
    request.include_domains = {"example.org"};
    EXPECT_FALSE(served(h.search(request)).answer->constraints().empty());
}

// The caller's fault, said by one, stops all at once.
TEST_F(MergeTest, CallersFaultStopsAll) {
    upstream([](const io::ClientRequest&) { return stalled(); },
             [](const io::ClientRequest&) {
                 return after(100ms, test::status_answer(400, R"({"detail":{"error":"no"}})"));
             });
    const Instant begun = h.clock.now();
    const SearchReply reply = h.search(merged());
    EXPECT_EQ(h.clock.now() - begun, 100ms);
    EXPECT_EQ(failed(reply).error.code, Code::kQueryRejected);
    EXPECT_EQ(failed(reply).error.blame, Blame::kCaller);
    expect_nothing_left();
}

// One that refuses what another has answered stops the rest, and takes nothing away: the answer is
// served, says that it is not everything, and the trace has the refusal.
TEST_F(MergeTest, ARefusalDoesNotUndoAnAnswer) {
    WebConfig config = test::harness_config();
    config.route_fast = {"serper", "tavily", "exa", "brave"};
    h.web.reconfigure(config);
    h.add_key("exa", "exa-key-number-one");
    h.add_key("brave", "brave-key-number-one");
    h.http.set_responder([](const io::ClientRequest& request) {
        if (is_serper(request)) {
            return after(100ms, test::ok_answer(request));
        }
        return request.url.find("tavily") == std::string::npos
                   ? stalled()
                   : after(200ms, test::status_answer(400, R"({"detail":{"error":"too odd"}})"));
    });
    const Instant begun = h.clock.now();
    const SearchReply reply = h.search(merged());
    EXPECT_EQ(h.clock.now() - begun, 200ms);
    EXPECT_EQ(served(reply).answer->hits().size(), 3u);
    EXPECT_TRUE(served(reply).degraded);
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:success", "tavily:bad_request", "exa:cancelled"}));
    EXPECT_NE(served(reply).attempts.at(1).detail.find("too odd"), std::string::npos);
    EXPECT_EQ(h.http.calls(), 3u) << "nobody is asked after a refusal";
    expect_nothing_left();
}

// Where the others had nothing, the refusal is the answer.
TEST_F(MergeTest, ARefusalBesideEmptyAnswersIsTheAnswer) {
    upstream([](const io::ClientRequest& request) { return test::ok_answer(request, 0); },
             [](const io::ClientRequest&) {
                 return after(100ms, test::status_answer(400, R"({"detail":{"error":"no"}})"));
             });
    EXPECT_EQ(failed(h.search(merged())).error.code, Code::kQueryRejected);
}

// Everybody failed: the error is the same as failover's, with everybody's trail.
TEST_F(MergeTest, AllFailed) {
    upstream([](const io::ClientRequest&) { return test::status_answer(500); },
             [](const io::ClientRequest&) { return test::status_answer(503); });
    const SearchReply reply = h.search(merged());
    EXPECT_EQ(failed(reply).error.code, Code::kUpstreamFailed);
    EXPECT_EQ(trail(failed(reply).attempts),
              (std::vector<std::string>{"serper:server_error", "tavily:server_error"}));
}

// All stall: the search ends before its client gives up, and says who did.
TEST_F(MergeTest, AllStalledEndsInTime) {
    upstream([](const io::ClientRequest&) { return stalled(); },
             [](const io::ClientRequest&) { return stalled(); });
    const Instant begun = h.clock.now();
    const SearchReply reply = h.search(merged());
    EXPECT_LT(h.clock.now() - begun, 10s);
    EXPECT_EQ(trail(failed(reply).attempts),
              (std::vector<std::string>{"serper:timeout", "tavily:timeout"}));
    expect_nothing_left();
}

// A width of one asks one; the next is asked only because that one failed.
TEST_F(MergeTest, WidthIsKeptAndFailuresAreReplaced) {
    WebConfig config = test::harness_config();
    config.merge.providers = 1;
    h.web.reconfigure(config);
    EXPECT_EQ(trail(served(h.search(merged("one"))).attempts),
              std::vector<std::string>{"serper:success"});
    upstream([](const io::ClientRequest&) { return test::status_answer(500); },
             [](const io::ClientRequest& request) { return test::ok_answer(request); });
    EXPECT_EQ(trail(served(h.search(merged("two"))).attempts),
              (std::vector<std::string>{"serper:server_error", "tavily:success"}));
}

// Once somebody has answered, a failure is not made good by asking one more: that would cost a call
// that nobody waits for.
TEST_F(MergeTest, NobodyIsAskedAfterTheFirstAnswer) {
    WebConfig config = test::harness_config();
    config.route_fast = {"serper", "tavily", "exa"};
    config.merge.providers = 2;
    h.web.reconfigure(config);
    h.add_key("exa", "exa-key-number-one");
    upstream([](const io::ClientRequest& request) { return test::ok_answer(request); },
             [](const io::ClientRequest&) { return after(100ms, test::status_answer(500)); });
    EXPECT_EQ(trail(served(h.search(merged())).attempts),
              (std::vector<std::string>{"serper:success", "tavily:server_error"}));
}

// One that can't be asked at all is made good, even then.
TEST_F(MergeTest, WhoCanNotBeAskedIsReplaced) {
    WebConfig config = test::harness_config();
    config.route_fast = {"exa", "serper", "tavily"};
    config.merge.providers = 2;
    h.web.reconfigure(config);
    EXPECT_EQ(trail(served(h.search(merged())).attempts),
              (std::vector<std::string>{"exa:skipped_no_key", "serper:success", "tavily:success"}));
}

// That holds when the other one answered without a call, from what it had answered before.
TEST_F(MergeTest, WhoCanNotBeAskedIsReplacedBesideAKeptResult) {
    WebConfig config = test::harness_config();
    config.route_fast = {"serper", "exa", "tavily"};
    config.merge.providers = 2;
    h.web.reconfigure(config);
    h.search(h.request("kiln"));
    EXPECT_EQ(trail(served(h.search(merged("kiln"))).attempts),
              (std::vector<std::string>{"serper:success", "exa:skipped_no_key", "tavily:success"}));
    EXPECT_EQ(h.http.calls(), 2u);
}

// The last client to leave ends every call at once, and no key pays for it.
TEST_F(MergeTest, LeavingEndsEveryCall) {
    upstream([](const io::ClientRequest&) { return stalled(); },
             [](const io::ClientRequest&) { return stalled(); });
    const auto client = h.start(merged());
    h.run_for(100ms);
    EXPECT_EQ(h.http.under_way(), 2u);
    h.hang_up(*client);
    h.run();
    expect_nothing_left();
}

// Without any key nobody is called, and the error names the fix.
TEST(MergeWithoutKeysTest, SaysThatKeysAreMissing) {
    WebHarness h;
    SearchRequest request = h.request("a");
    request.strategy = Strategy::kMerge;
    const SearchReply reply = h.search(request);
    EXPECT_EQ(failed(reply).error.code, Code::kNoUsableKey);
    EXPECT_EQ(h.http.calls(), 0u);
}

}  // namespace
}  // namespace sluice::web
