#include "guard/singleflight.h"

#include "property.h"
#include "support/manual_clock.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace sluice::guard {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

using Flights = SingleFlight<int, std::shared_ptr<const std::string>>;
using Answer = Result<std::shared_ptr<const std::string>>;

// What a piece of work does, and what became of it.
struct Job {
    Duration takes = 1s;
    std::string says = "done";
    bool throws = false;
    bool stubborn = false;  // does not let itself be cancelled
    bool paid = false;      // has something at stake while it runs
    int started = 0;
    int finished = 0;
    std::shared_ptr<Stake> stake = {};  // as the work was given it
};

Task<Answer> work_on(Clock& clock, std::shared_ptr<Job> job, std::shared_ptr<Stake> stake) {
    std::optional<Stake::Hold> hold;
    job->stake = stake;
    if (job->paid) {
        hold.emplace(stake.get());
    }
    job->started += 1;
    if (job->stubborn) {
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    }
    if (job->takes > 0s) {
        co_await clock.sleep_until(clock.now() + job->takes);
    }
    job->finished += 1;
    if (job->throws) {
        throw std::logic_error("a bug in the work");
    }
    if (job->says.empty()) {
        co_return Error{Code::kUpstreamFailed, Blame::kProvider, "it failed", std::nullopt};
    }
    co_return std::make_shared<const std::string>(job->says);
}

// A caller of run(): its answer once there is one, and the way to make it leave.
struct Caller {
    std::optional<Answer> answer;
    bool ended = false;
    asio::cancellation_signal leave;
};

Task<void> call(Flights& flights, Clock& clock, int key, Duration patience,
                std::shared_ptr<Job> job, std::shared_ptr<Caller> caller) {
    const auto work = [&clock, job](std::shared_ptr<Stake> stake) {
        return work_on(clock, job, std::move(stake));
    };
    auto answer = co_await flights.run(key, clock.now() + patience, std::move(work));
    caller->answer = std::move(answer);
}

class SingleFlightTest : public ::testing::Test {
 protected:
    std::shared_ptr<Caller> start(int key, Duration patience, std::shared_ptr<Job> job) {
        auto caller = std::make_shared<Caller>();
        asio::co_spawn(
            io, call(flights, clock, key, patience, std::move(job), caller),
            asio::bind_cancellation_slot(caller->leave.slot(), [caller](const std::exception_ptr&) {
                caller->ended = true;
            }));
        run();
        return caller;
    }
    // Runs what is ready. Timers of the manual clock are never ready by themselves.
    void run() {
        io.restart();
        io.poll();
    }
    void advance(Duration by) {
        clock.advance(by);
        run();
    }
    void leave(Caller& caller) {
        caller.leave.emit(asio::cancellation_type::terminal);
        run();
    }
    std::shared_ptr<Job> job(Duration takes = 1s, std::string says = "done") {
        auto job = std::make_shared<Job>();
        job->takes = takes;
        job->says = std::move(says);
        return job;
    }

    test::ManualClock clock;
    int bugs = 0;
    asio::io_context io;
    TaskScope scope{io.get_executor(), [this](const std::exception_ptr&) { bugs += 1; }};
    Flights flights{scope, clock, FlightLimits{3, 1}};
};

// Identical requests share one piece of work and get the very same value.
TEST_F(SingleFlightTest, SharesOneResult) {
    const auto work = job();
    const auto first = start(1, 10s, work);
    const auto second = start(1, 10s, work);
    const auto other = start(2, 10s, job(1s, "other"));
    EXPECT_TRUE(flights.in_flight(1));
    EXPECT_EQ(flights.stats().waiters, 3U);
    advance(1s - 1ns);
    EXPECT_FALSE(first->answer);
    advance(1ns);
    ASSERT_TRUE(first->answer && second->answer && other->answer);
    EXPECT_EQ(work->started, 1);
    EXPECT_EQ(first->answer->value(), second->answer->value());
    EXPECT_EQ(*other->answer->value(), "other");
    EXPECT_FALSE(flights.in_flight(1));
    EXPECT_EQ(flights.stats().flights, 0U);
    EXPECT_EQ(flights.stats().started, 2U);
    EXPECT_EQ(flights.stats().joined, 1U);
    EXPECT_EQ(clock.sleepers(), 0U);

    const auto later = start(1, 10s, work);
    EXPECT_EQ(work->started, 2) << "a landed flight is not joined";
    advance(1s);
    EXPECT_TRUE(later->answer);
}

// Work that never waits is over before anybody could wait for it.
TEST_F(SingleFlightTest, WorkMayBeInstant) {
    const auto caller = start(1, 10s, job(0s));
    ASSERT_TRUE(caller->answer);
    EXPECT_EQ(*caller->answer->value(), "done");
    EXPECT_EQ(flights.stats().flights, 0U);
    EXPECT_EQ(scope.running(), 0U);
}

// The client that started the work leaves; who joined still gets the result.
TEST_F(SingleFlightTest, OutlivesItsLeader) {
    const auto work = job();
    const auto leader = start(1, 10s, work);
    const auto follower = start(1, 10s, work);
    leave(*leader);
    ASSERT_TRUE(leader->answer);
    EXPECT_EQ(leader->answer->error().code, Code::kCancelled);
    EXPECT_EQ(leader->answer->error().blame, Blame::kCaller);
    EXPECT_TRUE(leader->ended);
    EXPECT_EQ(flights.stats().waiters, 1U);
    advance(1s);
    ASSERT_TRUE(follower->answer);
    EXPECT_TRUE(follower->answer->ok());
    EXPECT_EQ(flights.stats().abandoned, 0U);
}

// A follower that leaves takes nobody with it.
TEST_F(SingleFlightTest, AFollowerLeavesAlone) {
    const auto work = job();
    const auto leader = start(1, 10s, work);
    const auto follower = start(1, 10s, work);
    leave(*follower);
    EXPECT_TRUE(follower->ended);
    advance(1s);
    ASSERT_TRUE(leader->answer);
    EXPECT_TRUE(leader->answer->ok());
}

// Work that nobody waits for stops; a new request for the same key does not join it.
TEST_F(SingleFlightTest, StopsWhenNobodyWaits) {
    const auto work = job();
    const auto leader = start(1, 10s, work);
    const auto follower = start(1, 10s, work);
    leave(*leader);
    leave(*follower);
    EXPECT_EQ(flights.stats().abandoned, 1U);
    EXPECT_EQ(flights.stats().flights, 0U);
    EXPECT_EQ(clock.sleepers(), 0U);
    const auto next = start(1, 10s, work);
    EXPECT_EQ(work->started, 2);
    advance(1s);
    EXPECT_EQ(work->finished, 1);
    EXPECT_TRUE(next->answer);
    EXPECT_EQ(bugs, 0) << "a cancelled flight is no bug";
}

// What the work started beside itself may hold the stake after the flight is over and forgotten.
TEST_F(SingleFlightTest, TheStakeOutlivesTheFlight) {
    const auto work = job(1s);
    const auto caller = start(1, 10s, work);
    const std::weak_ptr<Stake> watched = work->stake;
    leave(*caller);
    EXPECT_FALSE(flights.in_flight(1));
    EXPECT_EQ(watched.use_count(), 1) << "only the job has it";
    {
        const Stake::Hold late(work->stake.get());
        EXPECT_TRUE(work->stake->is_high());
    }
    EXPECT_FALSE(work->stake->is_high());
    work->stake.reset();
    EXPECT_TRUE(watched.expired());
}

// What is paid for is finished although nobody waits, and who asks meanwhile gets it.
TEST_F(SingleFlightTest, FinishesWhatIsPaidFor) {
    const auto work = job();
    work->paid = true;
    leave(*start(1, 10s, work));
    EXPECT_EQ(flights.stats().unattended, 1U);
    EXPECT_EQ(flights.stats().abandoned, 0U);
    advance(500ms);
    const auto late = start(1, 10s, work);
    EXPECT_EQ(flights.stats().unattended, 0U);
    advance(500ms);
    ASSERT_TRUE(late->answer);
    EXPECT_TRUE(late->answer->ok());
    EXPECT_EQ(work->started, 1);

    leave(*start(2, 10s, work));
    advance(1s);
    EXPECT_EQ(work->finished, 2);
    EXPECT_EQ(flights.stats().unattended, 0U);
    EXPECT_EQ(flights.stats().flights, 0U);
}

// Only so many: callers who come and go can't pile work up.
TEST_F(SingleFlightTest, UnattendedWorkIsBounded) {
    const auto first = job();
    const auto second = job();
    first->paid = true;
    second->paid = true;
    leave(*start(1, 10s, first));
    leave(*start(2, 10s, second));
    EXPECT_EQ(flights.stats().unattended, 1U);
    EXPECT_EQ(flights.stats().abandoned, 1U);
    advance(1s);
    EXPECT_EQ(first->finished, 1);
    EXPECT_EQ(second->finished, 0);
}

// Work that takes its time to stop still counts as a flight, but nobody joins it any more.
TEST_F(SingleFlightTest, NobodyJoinsWhatIsBeingCancelled) {
    const auto stubborn = job();
    stubborn->stubborn = true;
    leave(*start(1, 10s, stubborn));
    EXPECT_FALSE(flights.in_flight(1));
    EXPECT_EQ(flights.stats().flights, 1U);
    const auto fresh = job(2s, "fresh");
    const auto caller = start(1, 10s, fresh);
    EXPECT_EQ(fresh->started, 1);
    EXPECT_EQ(flights.stats().flights, 2U);
    advance(1s);
    EXPECT_EQ(stubborn->finished, 1);
    EXPECT_TRUE(flights.in_flight(1)) << "the old flight's end is not the new one's";
    advance(1s);
    ASSERT_TRUE(caller->answer);
    EXPECT_EQ(*caller->answer->value(), "fresh");
}

// Each caller has its own deadline; the last one to give up stops the work.
TEST_F(SingleFlightTest, DeadlinesAreTheCallersOwn) {
    const auto work = job(10s);
    const auto hasty = start(1, 2s, work);
    const auto patient = start(1, 5s, work);
    advance(2s);
    ASSERT_TRUE(hasty->answer);
    EXPECT_EQ(hasty->answer->error().code, Code::kDeadlineExceeded);
    EXPECT_FALSE(patient->answer);
    EXPECT_EQ(flights.stats().flights, 1U);
    advance(3s);
    ASSERT_TRUE(patient->answer);
    EXPECT_EQ(patient->answer->error().code, Code::kDeadlineExceeded);
    EXPECT_EQ(flights.stats().flights, 0U);
    EXPECT_EQ(work->finished, 0);

    const auto late = start(1, 0s, work);
    EXPECT_EQ(late->answer->error().code, Code::kDeadlineExceeded);
    EXPECT_EQ(work->started, 1) << "no time, no work";
}

// When result and deadline come in the same step, the result is given.
TEST_F(SingleFlightTest, AResultBeatsTheDeadline) {
    const auto caller = start(1, 1s, job(1s));
    const auto other = start(1, 1s, job(1s));
    advance(1s);
    ASSERT_TRUE(caller->answer && other->answer);
    EXPECT_TRUE(caller->answer->ok());
    EXPECT_TRUE(other->answer->ok());
}

// A failure is shared, and is not remembered.
TEST_F(SingleFlightTest, FailuresAreShared) {
    const auto work = job(1s, "");
    const auto first = start(1, 10s, work);
    const auto second = start(1, 10s, work);
    advance(1s);
    ASSERT_TRUE(first->answer && second->answer);
    EXPECT_EQ(first->answer->error().code, Code::kUpstreamFailed);
    EXPECT_EQ(second->answer->error().message, "it failed");
    start(1, 10s, work);
    EXPECT_EQ(work->started, 2);
    advance(1s);
}

// A bug in the work is reported, and nobody waits for ever because of it.
TEST_F(SingleFlightTest, BugsAreReported) {
    for (const Duration takes : {0s, 1s}) {
        bugs = 0;
        const auto work = job(takes);
        work->throws = true;
        const auto first = start(1, 10s, work);
        const auto second = start(1, 10s, work);
        advance(1s);
        ASSERT_TRUE(first->answer && second->answer);
        EXPECT_EQ(first->answer->error().code, Code::kInternal);
        EXPECT_EQ(second->answer->error().code, Code::kInternal);
        EXPECT_EQ(bugs, takes == 0s ? 2 : 1);
    }
}

// Flights are bounded; joining needs no room.
TEST_F(SingleFlightTest, FlightsAreBounded) {
    for (int key = 1; key <= 3; ++key) {
        start(key, 10s, job());
    }
    const auto refused = start(4, 10s, job());
    ASSERT_TRUE(refused->answer);
    EXPECT_EQ(refused->answer->error().code, Code::kOverloaded);
    EXPECT_TRUE(refused->answer->error().retry_after.has_value());
    const auto joined = start(3, 10s, job());
    EXPECT_FALSE(joined->answer);
    advance(1s);
    EXPECT_TRUE(joined->answer && joined->answer->ok());
    start(4, 10s, job());
    EXPECT_EQ(flights.stats().flights, 1U);
    advance(1s);
}

// Shutdown: everybody gets an answer, the work stops, nothing new starts.
TEST_F(SingleFlightTest, ShutsDown) {
    const auto work = job();
    const auto first = start(1, 10s, work);
    const auto second = start(1, 10s, work);
    scope.close();
    flights.cancel_all();
    run();
    ASSERT_TRUE(first->answer && second->answer);
    EXPECT_EQ(first->answer->error().code, Code::kUnavailable);
    EXPECT_EQ(scope.running(), 0U);
    EXPECT_EQ(flights.stats().flights, 0U);
    const auto refused = start(2, 10s, work);
    ASSERT_TRUE(refused->answer);
    EXPECT_EQ(refused->answer->error().code, Code::kUnavailable);
    EXPECT_EQ(work->started, 1);
}

// Any order of arrivals, departures and time: one piece of work a key, everybody answered, nothing
// left over.
TEST_F(SingleFlightTest, RandomComingsAndGoings) {
    SeededRandom random(42);
    std::vector<std::shared_ptr<Caller>> callers;
    std::map<int, std::weak_ptr<Job>> running;
    for (int i = 0; i < 20'000; ++i) {
        SCOPED_TRACE(i);
        const std::uint64_t what = random.below(10);
        if (what < 4) {
            const int key = static_cast<int>(random.below(3));
            const bool joins = flights.in_flight(key);
            const auto work = job(Millis(random.below(500)), random.below(4) == 0 ? "" : "done");
            callers.push_back(start(key, Millis(random.below(400)), work));
            ASSERT_TRUE(!joins || work->started == 0);
        } else if (what < 6 && !callers.empty()) {
            leave(*callers[random.below(callers.size())]);
        } else {
            advance(Millis(random.below(100)));
        }
        std::size_t waiting = 0;
        std::erase_if(callers, [&](const auto& caller) { return caller->ended; });
        for (const auto& caller : callers) {
            waiting += caller->answer ? 0 : 1;
        }
        ASSERT_EQ(flights.stats().waiters, waiting);
        ASSERT_LE(flights.stats().flights, 3U);
        ASSERT_EQ(flights.stats().flights, scope.running());
        ASSERT_EQ(waiting == 0, flights.stats().flights == 0);
    }
    advance(10s);
    EXPECT_EQ(flights.stats().flights, 0U);
    EXPECT_EQ(clock.sleepers(), 0U);
    EXPECT_EQ(bugs, 0);
}

// An event loop that is torn down in the middle of everything leaves nothing behind (ASan looks).
TEST(SingleFlightTeardown, MayHappenAtAnyTime) {
    test::ManualClock clock;
    auto io = std::make_unique<asio::io_context>();
    auto scope = std::make_unique<TaskScope>(io->get_executor(), [](const std::exception_ptr&) {});
    Flights flights(*scope, clock, FlightLimits{8, 0});
    const auto work = std::make_shared<Job>();
    for (int i = 0; i < 6; ++i) {
        asio::co_spawn(*io, call(flights, clock, i % 2, 10s, work, std::make_shared<Caller>()),
                       [](const std::exception_ptr&) {});
    }
    io->poll();
    EXPECT_EQ(flights.stats().waiters, 6U);
    io.reset();
    EXPECT_EQ(flights.stats().flights, 0U);
    // Its tasks never ended, which it would take for a mistake of ours.
    static TaskScope* const unended = scope.release();
    static_cast<void>(unended);
}

}  // namespace
}  // namespace sluice::guard
