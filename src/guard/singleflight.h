// Identical requests at the same time share one piece of work. The first one starts it, the others
// wait for its result; the work goes on while anybody waits. When nobody does it is cancelled,
// unless it has something under way that is paid for already.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "guard/event.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

namespace sluice::guard {

// What a piece of work would lose if it were cancelled now, and whether anybody waits for it. Its
// flight gives it one, which it owns together with the flight: what the work started may still hold
// it after both have ended.
class Stake {
 public:
    // While the work goes on although nobody waits, it should begin nothing new.
    bool is_attended() const { return attended_; }
    void set_attended(bool attended) { attended_ = attended; }

    // As long as one of these exists, the work has something under way that is paid for.
    class Hold {
     public:
        // `stake` may be null; else it outlives the hold.
        explicit Hold(Stake* stake) : stake_(stake) { change(1); }
        ~Hold() { change(-1); }
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;

     private:
        void change(int by) {
            if (stake_ != nullptr) {
                stake_->holds_ += by;
            }
        }
        Stake* stake_;
    };
    bool is_high() const { return holds_ > 0; }

 private:
    int holds_ = 0;
    bool attended_ = true;
};

struct FlightLimits {
    std::size_t max_flights = 0;     // at once
    std::size_t max_unattended = 0;  // of those, that go on although nobody waits
};

struct FlightStats {
    std::size_t flights = 0;      // running now, those that are being cancelled included
    std::size_t waiters = 0;      // waiting now
    std::uint64_t started = 0;    // since the beginning
    std::uint64_t joined = 0;     // requests that found a flight to wait for
    std::uint64_t abandoned = 0;  // flights cancelled because nobody waited any more
    std::size_t unattended = 0;   // running now although nobody waits
};

namespace detail {

void cancel(boost::asio::cancellation_signal& signal);
// Of the exception that is being handled.
bool is_cancellation();

Error too_many_flights(std::size_t max_flights);
Error flights_closed();
Error waited_too_long();
Error waiter_left();
Error flight_cancelled();
Error flight_failed();

}  // namespace detail

// Value is copyable, and cheap to copy: a shared_ptr, usually.
//
// Not thread-safe: everything happens on the thread of the scope's executor. The scope and the
// clock outlive it and every task in it.
template <class Key, class Value, class Hash = std::hash<Key>>
class SingleFlight {
 public:
    SingleFlight(TaskScope& scope, Clock& clock, FlightLimits limits)
        : clock_(clock), state_(std::make_shared<State>(scope, limits)) {}
    SingleFlight(const SingleFlight&) = delete;
    SingleFlight& operator=(const SingleFlight&) = delete;

    // The result of the flight of `key`. If there is none, `make_work(std::shared_ptr<Stake>)` is
    // called once for the Task<Result<Value>> that is the work; it is an ordinary function, not a
    // coroutine, and is destroyed before the work ends. A failure is a result and goes to everybody
    // who waits; the next request starts a new flight.
    //
    // Only this caller is affected by its own deadline (kDeadlineExceeded) and its own cancellation
    // (kCancelled; as always its next asynchronous operation throws). The work runs with the
    // deadline that the one who started it gave it, so a follower with more time can see it time
    // out.
    //
    // kOverloaded when there is no room for another flight, kUnavailable when the scope is closed.
    // An exception that leaves the work is kInternal for everybody and is reported by the scope.
    template <class MakeWork>
    Task<Result<Value>> run(Key key, Instant deadline, MakeWork make_work) {
        if (deadline <= clock_.now()) {
            co_return detail::waited_too_long();
        }
        CO_TRY(const std::shared_ptr<Flight> flight, board(std::move(key), make_work));
        Seat seat(state_, flight);
        WaitEnd end = WaitEnd::kSet;
        if (!flight->outcome) {
            end = co_await seat.event.wait_until(clock_, deadline);
        }
        if (flight->outcome) {
            co_return *flight->outcome;
        }
        if (end == WaitEnd::kDeadline) {
            co_return detail::waited_too_long();
        }
        co_return detail::waiter_left();
    }

    // Whether run() would join rather than start, if it were called right now.
    bool in_flight(const Key& key) const { return state_->boarding.contains(key); }

    // Cancels the work of every flight; who waits gets kUnavailable. For shutdown, after the scope
    // has been closed.
    void cancel_all() {
        const auto boarding = std::exchange(state_->boarding, {});
        for (const auto& [key, flight] : boarding) {
            flight->publish(detail::flights_closed());
            detail::cancel(flight->signal);
        }
    }

    FlightStats stats() const {
        FlightStats stats = state_->stats;
        for (const auto& [key, flight] : state_->boarding) {
            stats.waiters += flight->waiting.size();
        }
        return stats;
    }

 private:
    struct Flight {
        explicit Flight(Key k) : key(std::move(k)) {}

        void publish(Result<Value> result) {
            if (outcome) {
                return;
            }
            outcome.emplace(std::move(result));
            for (Event* event : waiting) {
                event->set();
            }
        }

        const Key key;
        std::optional<Result<Value>> outcome;
        std::list<Event*> waiting;  // in the seats of those who wait, in order of arrival
        boost::asio::cancellation_signal signal;
        Stake stake;
    };

    // Shared by seats and flights, which can be destroyed later than the SingleFlight when a whole
    // event loop is torn down.
    struct State {
        State(TaskScope& s, FlightLimits max) : scope(s), limits(max) {}

        // From here on nobody joins this flight.
        void close(const Flight& flight) {
            const auto it = boarding.find(flight.key);
            if (it != boarding.end() && it->second.get() == &flight) {
                boarding.erase(it);
            }
        }

        // Somebody waits for it.
        void attend(Flight& flight) {
            if (!flight.stake.is_attended()) {
                flight.stake.set_attended(true);
                stats.unattended -= 1;
            }
        }

        // Nobody waits any more. What is paid for is finished, and can still be joined.
        void leave_alone(Flight& flight) {
            if (flight.stake.is_high() && stats.unattended < limits.max_unattended) {
                flight.stake.set_attended(false);
                stats.unattended += 1;
                return;
            }
            stats.abandoned += 1;
            close(flight);
            detail::cancel(flight.signal);
        }

        TaskScope& scope;
        const FlightLimits limits;
        std::unordered_map<Key, std::shared_ptr<Flight>, Hash> boarding;  // may be joined
        FlightStats stats;
    };

    // One who waits. Leaves when it is destroyed, and the last to leave ends the work.
    class Seat {
     public:
        Seat(std::shared_ptr<State> state, std::shared_ptr<Flight> flight)
            : state_(std::move(state)),
              flight_(std::move(flight)),
              place_(flight_->waiting.insert(flight_->waiting.end(), &event)) {
            state_->attend(*flight_);
        }
        ~Seat() {
            flight_->waiting.erase(place_);
            if (flight_->waiting.empty() && !flight_->outcome) {
                state_->leave_alone(*flight_);
            }
        }
        Seat(const Seat&) = delete;
        Seat& operator=(const Seat&) = delete;

        Event event;

     private:
        std::shared_ptr<State> state_;
        std::shared_ptr<Flight> flight_;
        const std::list<Event*>::iterator place_;
    };

    // The end of the work, however it comes about: the flight is over and everybody has a result.
    class Landing {
     public:
        Landing(std::shared_ptr<State> state, std::shared_ptr<Flight> flight)
            : state_(std::move(state)), flight_(std::move(flight)) {}
        ~Landing() {
            state_->close(*flight_);
            state_->stats.flights -= 1;
            state_->attend(*flight_);
            flight_->publish(detail::flight_failed());
        }
        Landing(const Landing&) = delete;
        Landing& operator=(const Landing&) = delete;

     private:
        std::shared_ptr<State> state_;
        std::shared_ptr<Flight> flight_;
    };

    template <class MakeWork>
    Result<std::shared_ptr<Flight>> board(Key key, MakeWork& make_work) {
        State& state = *state_;
        if (const auto it = state.boarding.find(key); it != state.boarding.end()) {
            state.stats.joined += 1;
            return it->second;
        }
        if (state.stats.flights >= state.limits.max_flights) {
            return detail::too_many_flights(state.limits.max_flights);
        }
        auto flight = std::make_shared<Flight>(std::move(key));
        state.boarding.emplace(flight->key, flight);
        state.stats.flights += 1;
        state.stats.started += 1;
        // On this thread the work starts at once: it may have run up to its first wait, or even to
        // its end, before spawn() returns, and it can be cancelled from then on.
        std::shared_ptr<boost::asio::cancellation_signal> signal(flight, &flight->signal);
        std::shared_ptr<Stake> stake(flight, &flight->stake);
        Task<Result<Value>> work = make_work(std::move(stake));
        if (!state.scope.spawn(fly(state_, flight, std::move(work)), std::move(signal))) {
            state.close(*flight);
            state.stats.flights -= 1;
            state.stats.started -= 1;
            return detail::flights_closed();
        }
        return flight;
    }

    static Task<void> fly(std::shared_ptr<State> state, std::shared_ptr<Flight> flight,
                          Task<Result<Value>> work) {
        const Landing landing(std::move(state), flight);
        try {
            flight->publish(co_await std::move(work));
        } catch (...) {
            if (detail::is_cancellation()) {
                flight->publish(detail::flight_cancelled());
            }
            throw;
        }
    }

    Clock& clock_;
    std::shared_ptr<State> state_;
};

}  // namespace sluice::guard
