#include "web/race.h"

#include "guard/event.h"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

namespace sluice::web {

namespace asio = boost::asio;

namespace {

// What is cancelled ends within a few turns of the loop. Nobody waits longer for it than this.
constexpr Millis kStopPatience{50};

}  // namespace

struct Race::Runner {
    Candidate candidate;
    ProviderRun run;
    std::size_t may_make = 0;  // attempts, at most
    std::vector<Attempt> trail;
    std::shared_ptr<asio::cancellation_signal> signal =
        std::make_shared<asio::cancellation_signal>();
    bool ended = false;
    bool returned = false;  // by next()
};

// Shared with the tasks of the runners, which may outlive the race for a moment.
struct Race::State {
    explicit State(const SearchWork& w) : work(w) {}

    std::optional<std::size_t> first_ended() const {
        for (std::size_t i = 0; i < runners.size(); ++i) {
            if (runners[i].ended && !runners[i].returned) {
                return i;
            }
        }
        return std::nullopt;
    }

    bool all_ended() const {
        return std::all_of(runners.begin(), runners.end(),
                           [](const Runner& runner) { return runner.ended; });
    }

    void end(Runner& runner) {
        runner.ended = true;
        if (waiting != nullptr) {
            waiting->set();
        }
    }

    const SearchWork work;
    std::deque<Runner> runners;       // they stay where they are
    guard::Event* waiting = nullptr;  // of the task in next() or stop()
};

namespace {

// Lets the runners' ends ring an event for as long as a task waits for it.
class Listening {
 public:
    explicit Listening(guard::Event*& place) : place_(place) { place_ = &event; }
    ~Listening() { place_ = nullptr; }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

    guard::Event event;

 private:
    guard::Event*& place_;
};

}  // namespace

Race::Race(const SearchWork& work) : state_(std::make_shared<State>(work)) {}

Race::~Race() {
    cancel_all();
}

void Race::cancel_all() {
    for (Runner& runner : state_->runners) {
        if (!runner.ended) {
            runner.signal->emit(asio::cancellation_type::terminal);
        }
    }
}

Task<void> Race::run(std::shared_ptr<State> state, std::size_t number, RunShare share) {
    Runner& runner = state->runners[number];
    // However the task ends, its runner has ended then.
    struct Ending {
        State& state;
        Runner& runner;
        ~Ending() { state.end(runner); }
    };
    const Ending ending{*state, runner};
    runner.run = co_await run_provider(state->work, runner.candidate, share, runner.trail);
}

void Race::start(Candidate candidate, RunShare share) {
    const std::size_t number = state_->runners.size();
    Runner& runner = state_->runners.emplace_back();
    runner.candidate = candidate;
    runner.may_make = share.attempts;
    open_ += 1;
    if (!state_->work.tasks.spawn(run(state_, number, share), runner.signal)) {
        state_->end(runner);
    }
}

std::size_t Race::attempts_left() const {
    std::size_t taken = 0;
    for (const Runner& runner : state_->runners) {
        taken += runner.ended ? runner.trail.size() : runner.may_make;
    }
    return kMaxAttempts - std::min(taken, kMaxAttempts);
}

Task<std::optional<Race::Finish>> Race::next(Instant until) {
    State& state = *state_;
    std::optional<std::size_t> ended = state.first_ended();
    while (!ended && open_ > 0) {
        Listening listening(state.waiting);
        const guard::WaitEnd end = co_await listening.event.wait_until(state.work.clock, until);
        // The time may be over as well, and must not be taken for the reason.
        const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
        if (cancellation.cancelled() != asio::cancellation_type::none) {
            throw boost::system::system_error(asio::error::operation_aborted);
        }
        ended = state.first_ended();
        if (end != guard::WaitEnd::kSet) {
            break;
        }
    }
    if (!ended) {
        co_return std::nullopt;
    }
    Runner& runner = state.runners[*ended];
    runner.returned = true;
    open_ -= 1;
    Finish finish;
    finish.runner = *ended;
    finish.run = std::move(runner.run);
    finish.last = runner.trail.empty() ? nullptr : &runner.trail.back();
    co_return finish;
}

Task<void> Race::stop() {
    cancel_all();
    State& state = *state_;
    const Instant until = state.work.clock.now() + kStopPatience;
    while (!state.all_ended()) {
        Listening listening(state.waiting);
        if (co_await listening.event.wait_until(state.work.clock, until) != guard::WaitEnd::kSet) {
            co_return;
        }
    }
}

std::vector<Attempt> Race::take_trail() {
    std::vector<Attempt> trail;
    for (Runner& runner : state_->runners) {
        if (runner.ended) {
            std::move(runner.trail.begin(), runner.trail.end(), std::back_inserter(trail));
            runner.trail.clear();
        }
    }
    return trail;
}

}  // namespace sluice::web
