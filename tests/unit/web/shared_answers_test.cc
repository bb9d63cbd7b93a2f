// What replicas share, with a real Redis: two SharedAnswers are two replicas.
#include "web/shared_answers.h"

#include "base/hash.h"
#include "base/random.h"
#include "io/redis.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "support/collecting_sink.h"
#include "support/real_loop.h"
#include "support/redis_config.h"
#include "support/redis_server.h"
#include "web/cache.h"
#include "web/metrics.h"
#include "web/provider.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using Turn = SharedAnswers::Entrance::Turn;

class SharedAnswersTest : public testing::Test, protected test::RealLoop {
 protected:
    SharedAnswersTest() {
        for (auto* client : {&one_client_, &other_client_}) {
            *client = std::make_unique<io::RedisClient>(loop.get_executor(),
                                                        test::redis_config(server_.url()), nullptr,
                                                        clock, random_, log_, metrics_);
            SLUICE_ASSERT(run((*client)->start()).ok());
        }
        one_.emplace(*one_client_, clock, random_, log_, metrics_);
        other_.emplace(*other_client_, clock, random_, log_, metrics_);
    }
    ~SharedAnswersTest() override {
        run(one_client_->stop());
        run(other_client_->stop());
    }

    void publish(SharedAnswers& replica, const std::shared_ptr<SearchAnswer>& answer) {
        publish(replica, answer, run(replica.current_purge(clock.now() + test::kPatience)));
    }
    void publish(SharedAnswers& replica, const std::shared_ptr<SearchAnswer>& answer,
                 std::string purge) {
        auto draft = replica.draft(*answer, guard::Lifetime{60s, 30s}, std::move(purge));
        if (draft) {
            run(replica.publish(key_, *std::move(draft), nullptr));
        }
    }
    SharedAnswers::Entrance enter(SharedAnswers& replica, Millis ttl = 10s) {
        return run(replica.enter(key_, request_, std::nullopt, ttl, clock.now() + test::kPatience));
    }
    SharedAnswers::Entrance enter_knowing(SharedAnswers& replica, const std::string& stamp) {
        return run(replica.enter(key_, request_, stamp, 10s, clock.now() + test::kPatience));
    }
    // It is given back in the background.
    void give_back(SharedAnswers::Entrance& entrance) {
        entrance.turn.reset();
        ASSERT_TRUE(
            until([&] { return ask({"EXISTS", SharedTurn::lock_key(key_)}).integer == 0; }));
    }
    SharedAnswers::Kept find(SharedAnswers& replica) {
        return run(replica.find(key_, request_, clock.now() + test::kPatience));
    }
    io::RedisReply ask(std::vector<std::string> words) {
        return run(one_client_->command(std::move(words), clock.now() + test::kPatience)).value();
    }
    std::uint64_t scripts_run() {
        const std::string stats = ask({"INFO", "commandstats"}).text;
        const std::string_view name = "cmdstat_evalsha:calls=";
        const std::size_t at = stats.find(name);
        return at == std::string::npos ? 0 : std::stoull(stats.substr(at + name.size()));
    }
    double events(const std::string& event) {
        return metrics_.counter(kSharedCacheEvents, {event}).value();
    }
    double turns(const std::string& outcome) {
        return metrics_.counter(kSharedTurns, {outcome}).value();
    }

    std::shared_ptr<SearchAnswer> answer(Instant made_at = {}) {
        auto found = std::make_shared<ProviderAnswer>();
        found->answer = "yes";
        found->made_at = made_at;
        return std::make_shared<SearchAnswer>("q", Lane::kFast, "serper", std::move(found));
    }

    const test::RedisServer server_;
    SeededRandom random_{3};
    test::CollectingSink sink_;
    obs::Log log_{clock, sink_, obs::Level::kInfo};
    obs::Metrics metrics_;
    std::unique_ptr<io::RedisClient> one_client_;
    std::unique_ptr<io::RedisClient> other_client_;
    std::optional<SharedAnswers> one_;
    std::optional<SharedAnswers> other_;
    const Fingerprint key_ = sha256("a search");
    SearchRequest request_;
};

TEST_F(SharedAnswersTest, AnAnswerIsAsOldEverywhereAndEndsWhereItsLifeEnds) {
    const Instant made_at = clock.now() - 20s;
    publish(*one_, answer(made_at));
    const SharedAnswers::Kept kept = find(*other_);
    ASSERT_NE(kept.answer, nullptr);
    EXPECT_EQ(kept.answer->answer(), "yes");
    // What is sent takes some time, by which the answer looks older than it is.
    const Instant now = clock.now();
    EXPECT_GE(now - kept.answer->made_at(), 20s);
    EXPECT_LE(now - kept.answer->made_at(), 2 * (now - made_at) - 20s + 10ms);
    EXPECT_LE(kept.answer->keep_until() - now, 70s);
    EXPECT_GE(kept.answer->keep_until() - now, 90s - 2 * (now - made_at) + 20s - 10ms);
    CacheConfig config;
    config.ttl = 60s;
    config.stale_ttl = 30s;
    const guard::Lifetime lifetime = lifetime_of(*kept.answer, kept.answer->made_at(), config);
    EXPECT_EQ(lifetime.fresh_for, 60s) << "what is fresh here is fresh there";
}

TEST_F(SharedAnswersTest, WhatIsOverOrTooLargeIsNotShared) {
    publish(*one_, answer(clock.now() - 100s));
    EXPECT_EQ(find(*other_).answer, nullptr);
    auto large = std::make_shared<ProviderAnswer>();
    large->answer = std::string(SharedAnswers::kMaxAnswerBytes + 1, 'x');
    publish(*one_, std::make_shared<SearchAnswer>("q", Lane::kFast, "serper", std::move(large)));
    EXPECT_EQ(find(*other_).answer, nullptr);
    EXPECT_EQ(metrics_.counter(kSharedCacheEvents, {"too_large"}).value(), 1);
}

TEST_F(SharedAnswersTest, OneHasTheTurnUntilItGivesItBack) {
    SharedAnswers::Entrance first = enter(*one_);
    ASSERT_EQ(first.result, Turn::kWon);
    EXPECT_EQ(enter(*other_).result, Turn::kHeld);
    give_back(first);
    SharedAnswers::Entrance second = enter(*other_);
    ASSERT_EQ(second.result, Turn::kWon);
    EXPECT_FALSE(sink_.contains("lock_lost"));
}

// One look is enough for who finds something, and for who has to search.
TEST_F(SharedAnswersTest, WhatIsThereIsGivenInsteadOfTheTurnUnlessItIsKnown) {
    publish(*one_, answer());
    const SharedAnswers::Entrance found = enter(*other_);
    ASSERT_EQ(found.result, Turn::kFound);
    ASSERT_NE(found.kept.answer, nullptr);
    EXPECT_EQ(ask({"EXISTS", SharedTurn::lock_key(key_)}).integer, 0);
    SharedAnswers::Entrance nothing_new = enter_knowing(*other_, found.kept.stamp);
    EXPECT_EQ(nothing_new.result, Turn::kWon);
    EXPECT_EQ(nothing_new.kept.answer, nullptr);
    publish(*one_, answer());
    const SharedAnswers::Entrance something_new = enter_knowing(*other_, found.kept.stamp);
    EXPECT_EQ(something_new.result, Turn::kFound);
    EXPECT_NE(something_new.kept.answer, nullptr);
    EXPECT_EQ(metrics_.counter(kSharedCacheEvents, {"found"}).value(), 2);
    EXPECT_EQ(metrics_.counter(kSharedCacheEvents, {"absent"}).value(), 0);
}

// Whether the turn comes with the look or after it.
TEST_F(SharedAnswersTest, EachLookCountsOnce) {
    SharedAnswers::Entrance at_once = enter(*one_);
    ASSERT_EQ(at_once.result, Turn::kWon);
    give_back(at_once);
    EXPECT_EQ(events("absent"), 1);
    SharedAnswers::Entrance later = enter_knowing(*one_, find(*one_).stamp);
    ASSERT_EQ(later.result, Turn::kWon);
    give_back(later);
    EXPECT_EQ(events("absent"), 2);
    ask({"SET", "sluice:answer:" + to_hex(key_), "0:ab:0:60000:garbage", "PX", "60000"});
    find(*one_);
    EXPECT_EQ(enter(*one_).result, Turn::kFound);
    EXPECT_EQ(events("unreadable"), 2);
    EXPECT_EQ(events("absent"), 2);
    EXPECT_EQ(events("found"), 0);
}

TEST_F(SharedAnswersTest, WhatCannotBeReadKeepsNobodyFromTheTurnForMoreThanALook) {
    const std::string entry = "sluice:answer:" + to_hex(key_);
    for (const std::string text : {"0:ab:0:60000:garbage", "0:ab:-1:60000:", "0:ab:0", "0:ab:"}) {
        ask({"SET", entry, text, "PX", "60000"});
        const SharedAnswers::Entrance found = enter(*one_);
        ASSERT_EQ(found.result, Turn::kFound) << text;
        EXPECT_EQ(found.kept.answer, nullptr);
        SharedAnswers::Entrance won = enter_knowing(*one_, found.kept.stamp);
        EXPECT_EQ(won.result, Turn::kWon) << text;
        give_back(won);
    }
}

TEST_F(SharedAnswersTest, ATurnIsGivenBackWithTheAnswerThatItBrought) {
    SharedAnswers::Entrance won = enter(*one_);
    auto draft = one_->draft(*answer(), guard::Lifetime{60s, 30s}, won.kept.purge);
    const std::uint64_t before = scripts_run();
    run(one_->publish(key_, *std::move(draft), std::move(won.turn)));
    EXPECT_EQ(ask({"EXISTS", SharedTurn::lock_key(key_)}).integer, 0);
    EXPECT_EQ(enter(*other_).result, Turn::kFound);
    EXPECT_EQ(scripts_run() - before, 2U) << "one for both, and the look";
    EXPECT_FALSE(sink_.contains("lock_lost"));
}

// Whether the command that was to do it was carried out is not known without a reply.
TEST_F(SharedAnswersTest, ATurnWhoseEndHasNoReplyIsGivenBackAndNotTakenForLost) {
    SharedAnswers::Entrance kept = enter(*one_);
    kept.turn->finish();
    give_back(kept);
    SharedAnswers::Entrance gone = enter(*one_);
    gone.turn->finish();
    ask({"DEL", SharedTurn::lock_key(key_)});
    const std::uint64_t before = scripts_run();
    gone.turn.reset();
    ASSERT_TRUE(until([&] { return scripts_run() > before; }));
    ask({"PING"});
    EXPECT_FALSE(sink_.contains("lock_lost"));
    EXPECT_EQ(turns("lost"), 0);
}

TEST_F(SharedAnswersTest, ATurnThatIsFoundLostWithTheAnswerIsToldAndTheSuccessorKeepsItsOwn) {
    SharedAnswers::Entrance lost = enter(*one_);
    ask({"SET", SharedTurn::lock_key(key_), "the successor's"});
    auto draft = one_->draft(*answer(), guard::Lifetime{60s, 30s}, lost.kept.purge);
    run(one_->publish(key_, *std::move(draft), std::move(lost.turn)));
    EXPECT_EQ(ask({"GET", SharedTurn::lock_key(key_)}).text, "the successor's");
    EXPECT_EQ(sink_.count(obs::Level::kWarn, "lock_lost"), 1U);
    EXPECT_EQ(turns("lost"), 1);
}

TEST_F(SharedAnswersTest, ATurnIsRenewedWhileItIsHeldAndNotAfterwards) {
    SharedAnswers::Entrance held = enter(*one_, 2s);
    pass(3s);
    EXPECT_EQ(enter(*other_).result, Turn::kHeld);
    give_back(held);
    EXPECT_EQ(turns("lost"), 0);
}

TEST_F(SharedAnswersTest, ALostTurnIsToldOnceAndTheSuccessorKeepsItsOwn) {
    SharedAnswers::Entrance lost = enter(*one_, 300ms);
    ask({"SET", SharedTurn::lock_key(key_), "the successor's"});
    ASSERT_TRUE(until([&] { return turns("lost") == 1; }));
    lost.turn.reset();
    EXPECT_EQ(ask({"GET", SharedTurn::lock_key(key_)}).text, "the successor's");
    EXPECT_EQ(sink_.count(obs::Level::kWarn, "lock_lost"), 1U);
    EXPECT_EQ(turns("lost"), 1);
}

TEST_F(SharedAnswersTest, ATurnThatIsLostJustBeforeItIsGivenBackIsToldToo) {
    SharedAnswers::Entrance lost = enter(*one_);
    ask({"DEL", SharedTurn::lock_key(key_)});
    lost.turn.reset();
    EXPECT_TRUE(until([&] { return turns("lost") == 1; }));
}

TEST_F(SharedAnswersTest, AFailureKeepsOthersAwayForASecond) {
    SharedAnswers::Entrance failing = enter(*one_);
    failing.turn->fail(Error{Code::kUpstreamFailed, Blame::kProvider, "nobody answered", 3s});
    give_back(failing);
    const SharedAnswers::Entrance warned = enter(*other_);
    ASSERT_EQ(warned.result, Turn::kFailed);
    EXPECT_EQ(warned.failure.code, Code::kUpstreamFailed);
    EXPECT_EQ(warned.failure.blame, Blame::kProvider);
    EXPECT_EQ(warned.failure.message, "nobody answered");
    EXPECT_EQ(warned.failure.retry_after, 3s);
    const auto left = ask({"PTTL", SharedTurn::failure_key(key_)}).integer;
    EXPECT_LE(left, 1'000);
    ASSERT_TRUE(until([&] { return enter(*other_).result == Turn::kWon; }));
}

// What no replica has written, or would stay for ever, keeps nobody from a search for good.
TEST_F(SharedAnswersTest, WhatIsNotOursBlocksNoSearch) {
    const std::string lock = SharedTurn::lock_key(key_);
    const std::string failed = SharedTurn::failure_key(key_);
    const std::string ours = R"({"code":"timeout","blame":"provider","message":"slow"})";
    const std::string entry = "sluice:answer:" + to_hex(key_);
    const std::vector<std::vector<std::string>> strangers = {
        {"SET", lock, "somebody's"},
        {"SET", lock, "0123456789ABCDEF0123456789ABCDEG"},
        {"RPUSH", lock, "x"},
        {"SET", failed, "garbage"},
        {"SET", failed, "garbage", "PX", "500"},
        {"SET", failed, ours},
        {"SET", failed, ours, "PX", "60000"},
        {"HSET", failed, "a", "b"},
        {"RPUSH", entry, "x"},
    };
    for (const std::vector<std::string>& words : strangers) {
        ask({"FLUSHALL"});
        ask(words);
        SharedAnswers::Entrance won = enter(*one_);
        ASSERT_EQ(won.result, Turn::kWon) << words[0] << " " << words.back();
        EXPECT_EQ(enter(*other_).result, Turn::kHeld);
        EXPECT_EQ(find(*other_).answer, nullptr);
        publish(*one_, answer());
        EXPECT_NE(find(*other_).answer, nullptr);
        give_back(won);
    }
    // A lock that lost its time to live, or has an hour more since the clock of Redis was put back,
    // has a holder, who may have gone.
    for (const char* left : {"", "3600000"}) {
        ask({"FLUSHALL"});
        ask({"SET", lock, std::string(32, 'a')});
        if (*left != '\0') {
            ask({"PEXPIRE", lock, left});
        }
        EXPECT_EQ(enter(*one_, 500ms).result, Turn::kHeld);
        EXPECT_TRUE(until([&] { return enter(*one_, 500ms).result == Turn::kWon; })) << left;
    }
    // One of somebody whose locks live longer is left alone.
    ask({"FLUSHALL"});
    ask({"SET", lock, std::string(32, 'a'), "PX", "39000"});
    EXPECT_EQ(enter(*one_, 10s).result, Turn::kHeld);
    EXPECT_GT(ask({"PTTL", lock}).integer, 12'000);
}

TEST_F(SharedAnswersTest, AFailureOfOnesOwnKeepsNobodyAway) {
    SharedAnswers::Entrance failing = enter(*one_);
    failing.turn->fail(Error{Code::kOverloaded, Blame::kGateway, "full", {}});
    give_back(failing);
    EXPECT_EQ(enter(*other_).result, Turn::kWon);
}

TEST_F(SharedAnswersTest, APurgeHidesWhatWasThereAndNotWhatComesAfterIt) {
    publish(*one_, answer());
    ASSERT_TRUE(run(other_->purge(clock.now() + test::kPatience)));
    EXPECT_EQ(find(*one_).answer, nullptr);
    publish(*one_, answer());
    EXPECT_NE(find(*other_).answer, nullptr);
}

// A search that is under way during a purge leaves nothing behind, wherever the purge was made.
TEST_F(SharedAnswersTest, WhatBeganBeforeAPurgeIsNotShared) {
    for (SharedAnswers* purging : {&*one_, &*other_}) {
        SharedAnswers::Entrance begun = enter(*one_);
        ASSERT_EQ(begun.result, Turn::kWon);
        ASSERT_TRUE(run(purging->purge(clock.now() + test::kPatience)));
        publish(*one_, answer(), begun.kept.purge);
        EXPECT_EQ(find(*other_).answer, nullptr);
        give_back(begun);
        run(one_->was_purged(clock.now() + test::kPatience));
    }
    publish(*one_, answer(), enter(*one_).kept.purge);
    EXPECT_NE(find(*other_).answer, nullptr);
}

}  // namespace
}  // namespace sluice::web
