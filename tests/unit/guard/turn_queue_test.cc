#include "guard/turn_queue.h"

#include "property.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::guard {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000h};

class TurnQueueTest : public testing::Test {
 protected:
    // When the turn comes that is promised now.
    Instant promise() {
        turns.push_back(*queue.promise(now, Instant::max()));
        return turns.back().at;
    }
    bool start(std::size_t which) { return queue.start(turns[which], now); }

    TurnQueue queue{TokenBucketConfig{1, 1s}};
    std::vector<TurnQueue::Turn> turns;
    Instant now = kStart;
};

// A burst at once, then one after another; who could not make it in time waits for nothing.
TEST_F(TurnQueueTest, TurnsComeInOrder) {
    queue = TurnQueue(TokenBucketConfig{2, 2s});
    EXPECT_EQ(promise(), kStart);
    EXPECT_EQ(promise(), kStart);
    EXPECT_EQ(promise(), kStart + 1s);
    EXPECT_EQ(queue.promise(now, kStart + 2s - 1ns), std::nullopt);
    EXPECT_EQ(queue.next(now), kStart + 2s);
    EXPECT_EQ(promise(), kStart + 2s);
    EXPECT_TRUE(start(0));
    EXPECT_TRUE(start(1));
    EXPECT_FALSE(start(2));
    now += 1s - 1ns;
    EXPECT_FALSE(start(2));
    now += 1ns;
    EXPECT_TRUE(start(2));
    EXPECT_FALSE(start(3));
    now += 1s;
    EXPECT_TRUE(start(3));
    EXPECT_EQ(queue.next(now + 1h), now + 1h) << "a bucket does not grow";
}

// The last one promised that leaves makes room for the next; one in the middle moves nobody.
TEST_F(TurnQueueTest, LeavingPutsNobodyIntoTheTurnOfAnother) {
    EXPECT_EQ(promise(), kStart);
    EXPECT_EQ(promise(), kStart + 1s);
    EXPECT_EQ(promise(), kStart + 2s);
    EXPECT_EQ(promise(), kStart + 3s);
    queue.leave(turns[3]);
    EXPECT_EQ(queue.next(now), kStart + 3s);
    queue.leave(turns[1]);
    EXPECT_EQ(queue.next(now), kStart + 3s) << "at two there is somebody else";
    queue.leave(turns[2]);
    queue.leave(turns[0]);
    EXPECT_EQ(queue.next(now), kStart) << "nobody waits, and nobody started";
}

// Who starts late puts off those behind it, so that they don't start together.
TEST_F(TurnQueueTest, LateStartsPutOthersOff) {
    promise();
    promise();
    promise();
    EXPECT_TRUE(start(0));
    now = kStart + 2500ms;
    EXPECT_TRUE(start(1));
    EXPECT_FALSE(start(2));
    EXPECT_EQ(turns[2].at, kStart + 3500ms);
    EXPECT_EQ(queue.next(now), kStart + 4500ms) << "after the one that was put off";
    now = kStart + 3500ms;
    EXPECT_TRUE(start(2));
}

// A call that never left is taken back while nobody else started.
TEST_F(TurnQueueTest, OnlyTheLastStartIsUndone) {
    promise();
    EXPECT_TRUE(start(0));
    EXPECT_EQ(queue.next(now), kStart + 1s);
    queue.undo(turns[0]);
    queue.undo(turns[0]);
    EXPECT_EQ(queue.next(now), kStart);
    promise();
    EXPECT_TRUE(start(1));
    now = kStart + 1s;
    promise();
    EXPECT_TRUE(start(2));
    queue.undo(turns[1]);
    EXPECT_EQ(queue.next(now), kStart + 2s);
}

// Those who hold a turn each do something at random. What started is kept by itself, and each start
// is held against every span of time that ends with it.
class Crowd {
 public:
    Crowd(std::int64_t tokens, Duration interval, bool is_punctual)
        : queue_(TokenBucketConfig{tokens, interval}),
          tokens_(tokens),
          per_token_((interval + Duration(tokens - 1)) / tokens),
          is_punctual_(is_punctual) {}

    void step(Random& random) {
        Duration passes(random.below(static_cast<std::uint64_t>(2 * per_token_.count())));
        if (is_punctual_ && !held_.empty()) {
            passes = std::min(passes, first_due()->at - now_);
        }
        now_ += passes;
        switch (random.below(4)) {
            case 0:
                leave(random);
                break;
            case 1:
                undo(random);
                break;
            default:
                promise(random);
        }
        if (is_punctual_) {
            start_those_due();
        } else if (!held_.empty() && random.below(2) == 0) {
            start(any(random));
        }
    }

 private:
    using Held = std::vector<TurnQueue::Turn>;

    Held::iterator any(Random& random) {
        return held_.begin() + static_cast<std::ptrdiff_t>(random.below(held_.size()));
    }
    Held::iterator first_due() { return std::ranges::min_element(held_, {}, &TurnQueue::Turn::at); }
    void promise(Random& random) {
        const Instant latest =
            now_ + Duration(random.below(static_cast<std::uint64_t>(10 * per_token_.count())));
        const Instant next = queue_.next(now_);
        const auto turn = queue_.promise(now_, latest);
        ASSERT_EQ(turn.has_value(), next <= latest);
        if (turn) {
            ASSERT_EQ(turn->at, next);
            held_.push_back(*turn);
        }
    }
    void leave(Random& random) {
        if (!held_.empty()) {
            const auto turn = any(random);
            queue_.leave(*turn);
            held_.erase(turn);
        }
    }
    // Not always of the last that started: then it has no effect, and the start stays on the books.
    void undo(Random& random) {
        if (starts_.empty() || starts_.back().number == undone_) {
            return;
        }
        const std::size_t back = std::min<std::size_t>(random.below(2), starts_.size() - 1);
        const TurnQueue::Turn turn = starts_[starts_.size() - 1 - back];
        queue_.undo(turn);
        if (back == 0) {
            undone_ = turn.number;
            starts_.pop_back();
        }
    }
    void start_those_due() {
        while (!held_.empty() && first_due()->at <= now_) {
            const std::size_t before = starts_.size();
            start(first_due());
            ASSERT_EQ(starts_.size(), before + 1) << "who is punctual was put off";
        }
    }
    void start(Held::iterator turn) {
        const Instant promised = turn->at;
        if (!queue_.start(*turn, now_)) {
            ASSERT_GT(turn->at, now_);
            ASSERT_GE(turn->at, promised);
            return;
        }
        ASSERT_LE(promised, now_);
        starts_.push_back({turn->number, now_});
        undone_ = 0;
        held_.erase(turn);
        std::int64_t count = 0;
        for (auto start = starts_.rbegin(); start != starts_.rend() && count < 100; ++start) {
            count += 1;
            ASSERT_LE(count, tokens_ + (now_ - start->at) / per_token_);
        }
    }

    TurnQueue queue_;
    const std::int64_t tokens_;
    const Duration per_token_;
    const bool is_punctual_;
    Instant now_ = kStart;
    Held held_;
    Held starts_;  // when each call started
    std::uint64_t undone_ = 0;
};

constexpr std::pair<std::int64_t, Duration> kRates[] = {{1, 1s}, {2, 1s}, {7, 1s}, {50, 1s}};

// Whoever leaves, comes late or never calls: in no span of time do more calls start than the bucket
// holds and what flowed in meanwhile.
TEST(TurnQueueProperty, NeverMoreThanTheRate) {
    for (const auto& [tokens, interval] : kRates) {
        SCOPED_TRACE(tokens);
        EXPECT_TRUE(run_property([&] {
            auto crowd = std::make_shared<Crowd>(tokens, interval, false);
            return [crowd](Random& random) { crowd->step(random); };
        }));
    }
}

// Where everybody starts in time, or leaves, each has the turn when it was promised.
TEST(TurnQueueProperty, PromisesAreKept) {
    for (const auto& [tokens, interval] : kRates) {
        SCOPED_TRACE(tokens);
        EXPECT_TRUE(run_property([&] {
            auto crowd = std::make_shared<Crowd>(tokens, interval, true);
            return [crowd](Random& random) { crowd->step(random); };
        }));
    }
}

}  // namespace
}  // namespace sluice::guard
