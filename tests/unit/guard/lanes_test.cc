#include "guard/lanes.h"

#include "base/config_reader.h"
#include "property.h"
#include "support/manual_clock.h"
#include "support/run_task.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::guard {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr Instant kStart{1000h};
constexpr Instant kLate = kStart + 1000h;

LanesConfig lanes(std::size_t fast, std::size_t deep, std::size_t total, std::size_t queued) {
    LanesConfig config;
    config.fast = LaneConfig{fast, 2s, 10s};
    config.deep = LaneConfig{deep, 10s, 45s};
    config.total_concurrency = total;
    config.max_queued = queued;
    return config;
}

using Entry = LaneScheduler::Entry;
using Waiter = LaneScheduler::Waiter;

// Each lane has its own budget: a flood of DEEP leaves FAST all its places.
TEST(LaneScheduler, BudgetsAreSeparate) {
    LaneScheduler scheduler(lanes(2, 1, 0, 10));
    EXPECT_EQ(scheduler.enter(LaneKind::kDeep, kLate, kStart).entry, Entry::kAdmitted);
    EXPECT_EQ(scheduler.enter(LaneKind::kDeep, kLate, kStart).entry, Entry::kQueued);
    EXPECT_EQ(scheduler.enter(LaneKind::kFast, kLate, kStart).entry, Entry::kAdmitted);
    EXPECT_EQ(scheduler.enter(LaneKind::kFast, kLate, kStart).entry, Entry::kAdmitted);
    EXPECT_EQ(scheduler.enter(LaneKind::kFast, kLate, kStart).entry, Entry::kQueued);
    // A free place in one lane is none in the other.
    const auto next = scheduler.finish(LaneKind::kDeep);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->lane, LaneKind::kDeep);
    EXPECT_EQ(scheduler.stats(LaneKind::kFast).queued, 1U);
}

// At the overall limit a FAST request that came later goes before DEEP ones that wait.
TEST(LaneScheduler, FastGoesFirst) {
    LaneScheduler scheduler(lanes(2, 2, 2, 10));
    scheduler.enter(LaneKind::kDeep, kLate, kStart);
    scheduler.enter(LaneKind::kDeep, kLate, kStart);
    const auto deep = scheduler.enter(LaneKind::kDeep, kLate, kStart);
    const auto fast1 = scheduler.enter(LaneKind::kFast, kLate, kStart + 1s);
    const auto fast2 = scheduler.enter(LaneKind::kFast, kLate, kStart + 1s);
    EXPECT_EQ(scheduler.finish(LaneKind::kDeep), fast1.waiter);
    EXPECT_EQ(scheduler.finish(LaneKind::kDeep), fast2.waiter);
    EXPECT_EQ(scheduler.finish(LaneKind::kFast), deep.waiter);
    EXPECT_EQ(scheduler.finish(LaneKind::kFast), std::nullopt);
}

// Beyond max_queued nobody waits, and a queue of none sheds whatever cannot run at once.
TEST(LaneScheduler, Sheds) {
    LaneScheduler scheduler(lanes(1, 1, 0, 1));
    scheduler.enter(LaneKind::kFast, kLate, kStart);
    EXPECT_EQ(scheduler.enter(LaneKind::kFast, kLate, kStart).entry, Entry::kQueued);
    EXPECT_EQ(scheduler.enter(LaneKind::kFast, kLate, kStart).entry, Entry::kShed);
    EXPECT_EQ(scheduler.enter(LaneKind::kDeep, kLate, kStart).entry, Entry::kAdmitted);
    EXPECT_EQ(scheduler.enter(LaneKind::kDeep, kLate, kStart).entry, Entry::kShed);
    EXPECT_EQ(scheduler.stats(LaneKind::kFast).shed, 1U);
    EXPECT_EQ(scheduler.stats(LaneKind::kDeep).shed, 1U);
    LaneScheduler none(lanes(1, 1, 0, 0));
    none.enter(LaneKind::kFast, kLate, kStart);
    EXPECT_EQ(none.enter(LaneKind::kFast, kLate, kStart).entry, Entry::kShed);
}

// Waiting ends at the lane's queue timeout or the request's own deadline; DEEP that never had its
// turn is told so instead of being lost.
TEST(LaneScheduler, Expires) {
    LaneScheduler scheduler(lanes(1, 1, 1, 10));
    scheduler.enter(LaneKind::kFast, kLate, kStart);
    const auto deep = scheduler.enter(LaneKind::kDeep, kLate, kStart);
    const auto fast = scheduler.enter(LaneKind::kFast, kLate, kStart);
    const auto hasty = scheduler.enter(LaneKind::kDeep, kStart + 1s, kStart);
    EXPECT_EQ(hasty.waits_until, kStart + 1s);
    EXPECT_EQ(fast.waits_until, kStart + 2s);
    EXPECT_EQ(deep.waits_until, kStart + 10s);
    EXPECT_TRUE(scheduler.expire(kStart + 1s - 1ns).empty());
    EXPECT_EQ(scheduler.expire(kStart + 2s), (std::vector<Waiter>{hasty.waiter, fast.waiter}));
    EXPECT_FALSE(scheduler.leave(fast.waiter));
    EXPECT_EQ(scheduler.expire(kStart + 10s), std::vector<Waiter>{deep.waiter});
    EXPECT_EQ(scheduler.finish(LaneKind::kFast), std::nullopt);
    EXPECT_EQ(scheduler.stats(LaneKind::kDeep).timed_out, 2U);
}

// Who leaves is out at once: the place in the queue is free, and the next in line moves up.
TEST(LaneScheduler, Leaves) {
    LaneScheduler scheduler(lanes(1, 1, 0, 2));
    scheduler.enter(LaneKind::kFast, kLate, kStart);
    const auto first = scheduler.enter(LaneKind::kFast, kLate, kStart);
    const auto second = scheduler.enter(LaneKind::kFast, kLate, kStart);
    EXPECT_TRUE(scheduler.leave(first.waiter));
    EXPECT_FALSE(scheduler.leave(first.waiter));
    EXPECT_EQ(scheduler.enter(LaneKind::kFast, kLate, kStart).entry, Entry::kQueued);
    EXPECT_EQ(scheduler.finish(LaneKind::kFast), second.waiter);
    EXPECT_EQ(scheduler.stats(LaneKind::kFast).left, 1U);
}

// The plain model: a list of who waits, searched from the front each time.
class ModelLanes {
 public:
    struct Item {
        Waiter waiter;
        Instant until;
    };
    bool room(LaneKind lane) const {
        return running[0] + running[1] < 5 &&
               running[static_cast<std::size_t>(lane)] < (lane == LaneKind::kFast ? 4U : 3U);
    }
    // The first FAST, else the first DEEP, for whom there is room.
    std::optional<Waiter> next() {
        for (const LaneKind lane : {LaneKind::kFast, LaneKind::kDeep}) {
            for (auto it = queue.begin(); it != queue.end(); ++it) {
                if (it->waiter.lane == lane && room(lane)) {
                    const Waiter waiter = it->waiter;
                    queue.erase(it);
                    running[static_cast<std::size_t>(lane)] += 1;
                    return waiter;
                }
            }
        }
        return std::nullopt;
    }

    std::size_t running[kLaneCount] = {0, 0};
    std::vector<Item> queue;  // in order of arrival
};

// Any sequence of arrivals, ends, departures and time gives the places in the model's order, keeps
// every limit, and leaves nobody waiting for whom there is room.
TEST(LaneScheduler, AgreesWithTheModel) {
    run_property([] {
        return [scheduler = std::make_shared<LaneScheduler>(lanes(4, 3, 5, 8)),
                model = ModelLanes(), now = kStart](Random& random) mutable {
            const LaneKind lane = random.below(2) == 0 ? LaneKind::kFast : LaneKind::kDeep;
            const auto index = static_cast<std::size_t>(lane);
            const std::uint64_t what = random.below(10);
            now += Millis(random.below(400));
            std::size_t expected_due = 0;
            std::erase_if(model.queue, [&](const auto& item) {
                expected_due += item.until <= now ? 1 : 0;
                return item.until <= now;
            });
            ASSERT_EQ(scheduler->expire(now).size(), expected_due);
            if (what < 5) {
                const Instant deadline = now + Millis(random.below(12'000)) + 1ms;
                const auto entered = scheduler->enter(lane, deadline, now);
                if (model.room(lane)) {
                    ASSERT_EQ(entered.entry, Entry::kAdmitted);
                    model.running[index] += 1;
                } else if (model.queue.size() == 8) {
                    ASSERT_EQ(entered.entry, Entry::kShed);
                } else {
                    ASSERT_EQ(entered.entry, Entry::kQueued);
                    ASSERT_EQ(entered.waits_until,
                              std::min(deadline, now + (lane == LaneKind::kFast ? 2s : 10s)));
                    model.queue.push_back({entered.waiter, entered.waits_until});
                }
            } else if (what < 9) {
                if (model.running[index] > 0) {
                    model.running[index] -= 1;
                    ASSERT_EQ(scheduler->finish(lane), model.next());
                    ASSERT_EQ(model.next(), std::nullopt);
                }
            } else if (!model.queue.empty()) {
                const std::size_t at = random.below(model.queue.size());
                ASSERT_TRUE(scheduler->leave(model.queue[at].waiter));
                model.queue.erase(model.queue.begin() + static_cast<std::ptrdiff_t>(at));
            }
            const LaneStats fast = scheduler->stats(LaneKind::kFast);
            const LaneStats deep = scheduler->stats(LaneKind::kDeep);
            ASSERT_EQ(fast.running, model.running[0]);
            ASSERT_EQ(deep.running, model.running[1]);
            ASSERT_EQ(fast.queued + deep.queued, model.queue.size());
        };
    });
}

struct Visitor {
    std::optional<Result<LaneTicket>> result;
    asio::cancellation_signal leave;
    bool admitted() const { return result && result->ok(); }
    Code code() const { return result->error().code; }
};

Task<void> visit(LaneGate& gate, LaneKind lane, Instant deadline,
                 std::shared_ptr<Visitor> visitor) {
    auto result = co_await gate.enter(lane, deadline);
    visitor->result.emplace(std::move(result));
}

class LaneGateTest : public ::testing::Test {
 protected:
    std::shared_ptr<Visitor> enter(LaneKind lane, Duration patience = 100s) {
        auto visitor = std::make_shared<Visitor>();
        asio::co_spawn(io, visit(gate, lane, clock.now() + patience, visitor),
                       asio::bind_cancellation_slot(visitor->leave.slot(),
                                                    [visitor](const std::exception_ptr&) {}));
        test::run_ready(io);
        return visitor;
    }
    void advance(Duration by) {
        clock.advance(by);
        test::run_ready(io);
    }
    void leave(Visitor& visitor) {
        visitor.leave.emit(asio::cancellation_type::terminal);
        test::run_ready(io);
    }
    // Gives the ticket back.
    void finish(Visitor& visitor) {
        visitor.result.reset();
        test::run_ready(io);
    }

    test::ManualClock clock;
    asio::io_context io;
    LaneGate gate{lanes(1, 2, 2, 3), clock};
};

// A ticket that is given back lets the next one in, with the time it waited written on it.
TEST_F(LaneGateTest, TicketsPassOn) {
    const auto first = enter(LaneKind::kFast);
    const auto second = enter(LaneKind::kFast);
    EXPECT_TRUE(first->admitted());
    EXPECT_EQ(first->result->value().waited(), 0s);
    EXPECT_FALSE(second->result);
    advance(1s);
    finish(*first);
    ASSERT_TRUE(second->admitted());
    EXPECT_EQ(second->result->value().waited(), 1s);
    second->result->value().release();
    EXPECT_EQ(gate.stats(LaneKind::kFast).running, 0U);
    finish(*second);
    EXPECT_EQ(gate.stats(LaneKind::kFast).running, 0U) << "given back once";
    EXPECT_EQ(clock.sleepers(), 0U);
}

TEST_F(LaneGateTest, WhoDoesNotWaitTakesAFreePlaceOrNone) {
    std::optional<LaneTicket> ticket = gate.try_enter(LaneKind::kFast);
    ASSERT_TRUE(ticket);
    EXPECT_EQ(gate.stats(LaneKind::kFast).running, 1U);
    EXPECT_FALSE(gate.try_enter(LaneKind::kFast));
    EXPECT_EQ(gate.stats(LaneKind::kFast).queued, 0U);
    EXPECT_EQ(gate.stats(LaneKind::kFast).shed, 0U);
    const auto waits = enter(LaneKind::kFast);
    ticket.reset();
    test::run_ready(io);
    EXPECT_TRUE(waits->admitted());
    EXPECT_FALSE(gate.try_enter(LaneKind::kFast)) << "the place went to who waited";
    finish(*waits);
}

// Each way of not getting in has its own error, and each leaves the queue.
TEST_F(LaneGateTest, Refusals) {
    const auto running = enter(LaneKind::kFast);
    const auto timed_out = enter(LaneKind::kFast);
    const auto too_late = enter(LaneKind::kFast, 1s);
    const auto left = enter(LaneKind::kFast);
    const auto shed = enter(LaneKind::kFast);
    EXPECT_EQ(shed->code(), Code::kOverloaded);
    EXPECT_TRUE(shed->result->error().retry_after.has_value());
    EXPECT_EQ(enter(LaneKind::kFast, 0s)->code(), Code::kDeadlineExceeded);
    leave(*left);
    EXPECT_EQ(left->code(), Code::kCancelled);
    EXPECT_EQ(gate.stats(LaneKind::kFast).queued, 2U);
    advance(1s);
    EXPECT_EQ(too_late->code(), Code::kDeadlineExceeded);
    advance(1s);
    EXPECT_EQ(timed_out->code(), Code::kOverloaded);
    EXPECT_TRUE(timed_out->result->error().retry_after.has_value());
    const LaneStats stats = gate.stats(LaneKind::kFast);
    EXPECT_EQ(stats.queued, 0U);
    EXPECT_EQ(stats.running, 1U);
    EXPECT_EQ(stats.shed, 1U);
    EXPECT_EQ(stats.left, 1U);
    EXPECT_EQ(stats.timed_out, 2U);
    finish(*running);
    EXPECT_EQ(gate.stats(LaneKind::kFast).running, 0U);
}

// A place given to somebody who leaves in the same moment goes on to the next.
TEST_F(LaneGateTest, APlaceIsNeverLost) {
    const auto running = enter(LaneKind::kFast);
    const auto leaving = enter(LaneKind::kFast);
    const auto next = enter(LaneKind::kFast);
    running->result.reset();  // the place is leaving's, whose task has not run yet
    leaving->leave.emit(asio::cancellation_type::terminal);
    test::run_ready(io);
    leaving->result.reset();
    test::run_ready(io);
    EXPECT_TRUE(next->admitted());
    EXPECT_EQ(gate.stats(LaneKind::kFast).running, 1U);
}

// The place comes in the same step as the end of the patience: it is taken, not lost.
TEST_F(LaneGateTest, APlaceBeatsTheDeadline) {
    const auto running = enter(LaneKind::kFast);
    const auto waiting = enter(LaneKind::kFast);
    clock.advance(2s);
    running->result.reset();
    test::run_ready(io);
    EXPECT_TRUE(waiting->admitted());
}

// Tickets and visitors may go in any order with the gate's loop torn down (ASan looks).
TEST(LaneGateTeardown, MayHappenAtAnyTime) {
    test::ManualClock clock;
    auto io = std::make_unique<asio::io_context>();
    auto gate = std::make_unique<LaneGate>(lanes(2, 1, 0, 10), clock);
    std::vector<std::shared_ptr<Visitor>> visitors;
    for (int i = 0; i < 6; ++i) {
        visitors.push_back(std::make_shared<Visitor>());
        asio::co_spawn(*io, visit(*gate, LaneKind::kFast, clock.now() + 10s, visitors.back()),
                       [](const std::exception_ptr&) {});
    }
    io->poll();
    visitors[0]->result.reset();
    // The first place is free again and was given to the third, whose task never saw it.
    EXPECT_EQ(gate->stats(LaneKind::kFast).running, 2U);
    io.reset();
    EXPECT_EQ(gate->stats(LaneKind::kFast).running, 1U);
    EXPECT_EQ(gate->stats(LaneKind::kFast).queued, 0U);
    gate.reset();
    visitors.clear();
}

// The settings have the documented names and defaults, and contradictions are told.
TEST(LanesConfig, Reads) {
    ConfigLayers layers;
    layers.add_file(
        "good.toml",
        "[lanes]\nmax_queued = 7\n[lanes.deep]\nconcurrency = 3\nqueue_timeout_s = 1.5");
    ConfigReader section = ConfigReader(layers).section("lanes");
    const LanesConfig config = LanesConfig::read(section);
    layers.finish();
    EXPECT_TRUE(layers.errors().empty());
    EXPECT_EQ(config.max_queued, 7U);
    EXPECT_EQ(config.deep.concurrency, 3U);
    EXPECT_EQ(config.deep.queue_timeout, 1500ms);
    EXPECT_EQ(config.deep.deadline, 45s);
    EXPECT_EQ(config.fast.concurrency, 64U);
    EXPECT_EQ(config.fast.queue_timeout, 2s);
    EXPECT_EQ(config.fast.deadline, 10s);

    ConfigLayers bad;
    bad.add_file("bad.toml", "[lanes.fast]\nqueue_timeout_s = 20");
    ConfigReader bad_section = ConfigReader(bad).section("lanes");
    LanesConfig::read(bad_section);
    bad.finish();
    ASSERT_EQ(bad.errors().size(), 1U);
    EXPECT_EQ(bad.errors()[0].key, "lanes.fast.queue_timeout_s");
}

}  // namespace
}  // namespace sluice::guard
