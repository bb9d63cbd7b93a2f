// What a script does to the scorings of title searches.
#include "app/faulty_scorer.h"

#include "io/exchange_metrics.h"
#include "titles/corpus.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace sluice::app {
namespace {

using namespace std::chrono_literals;

class FaultyScorerTest : public testing::Test {
 protected:
    titles::TitleScorer scorer(std::vector<io::FaultRule> rules) {
        io::FaultScript script;
        script.title_rules = std::move(rules);
        auto inner = [this](const titles::Corpus&, const QueryText&, const titles::ScoreLimits&,
                            const std::stop_token&) {
            scored += 1;
            return std::optional(titles::Ranking());
        };
        return faulty_scorer(inner, script, metrics);
    }
    static io::FaultRule rule(io::Fault fault, std::uint64_t from, std::uint64_t to) {
        io::FaultRule rule;
        rule.name = "secret-name";
        rule.fault = fault;
        rule.from_call = from;
        rule.to_call = to;
        return rule;
    }
    std::optional<titles::Ranking> call(const titles::TitleScorer& scorer,
                                        const std::stop_token& stop = {}) const {
        return scorer(*corpus, QueryText("query"), titles::ScoreLimits(), stop);
    }

    obs::Metrics metrics;
    std::shared_ptr<const titles::Corpus> corpus = titles::Corpus::build({}).value();
    std::atomic<int> scored{0};
};

TEST_F(FaultyScorerTest, ScoringsAreCountedAndFailAsTheRulesSay) {
    const titles::TitleScorer faulty = scorer({rule(io::Fault::kFail, 2, 3)});
    EXPECT_TRUE(call(faulty));
    EXPECT_THROW(call(faulty), std::runtime_error);
    EXPECT_THROW(call(faulty), std::runtime_error);
    EXPECT_TRUE(call(faulty));
    EXPECT_EQ(scored, 2);
    EXPECT_EQ(metrics.counter(io::kInjectedFaults, {"fail"}).value(), 2);
}

TEST_F(FaultyScorerTest, ADelayIsFollowedByTheScoring) {
    io::FaultRule slow = rule(io::Fault::kDelay, 1, 1);
    slow.delay = 1ms;
    EXPECT_TRUE(call(scorer({slow})));
    EXPECT_EQ(scored, 1);
}

TEST_F(FaultyScorerTest, ADelayEndsForWhoeverLeaves) {
    io::FaultRule slow = rule(io::Fault::kDelay, 1, 1);
    slow.delay = 1h;
    const titles::TitleScorer faulty = scorer({slow});
    std::stop_source stop;
    std::optional<titles::Ranking> ranking = titles::Ranking();
    std::thread waiting([&] { ranking = call(faulty, stop.get_token()); });
    stop.request_stop();
    waiting.join();
    EXPECT_FALSE(ranking);
    EXPECT_EQ(scored, 0);
}

}  // namespace
}  // namespace sluice::app
