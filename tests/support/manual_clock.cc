#include "support/manual_clock.h"

#include "base/result.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

struct Sleeper {
    explicit Sleeper(Executor executor) : timer(std::move(executor), Instant::max()) {}

    asio::steady_timer timer;      // never expires: cancelled when the time has come
    std::atomic<bool> due{false};  // tells that cancellation from a real one
};

using Sleepers = std::multimap<Instant, std::shared_ptr<Sleeper>>;

}  // namespace

struct ManualClock::State {
    mutable std::mutex mutex;
    Instant now{1'000'000s};
    WallTime wall{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)};
    Sleepers sleepers;

    // Whose time has come, in order; each is taken out.
    std::vector<std::shared_ptr<Sleeper>> take_due() {
        std::vector<std::shared_ptr<Sleeper>> due;
        const auto end = sleepers.upper_bound(now);
        for (auto it = sleepers.begin(); it != end; it = sleepers.erase(it)) {
            due.push_back(it->second);
        }
        return due;
    }

    void add(Instant deadline, std::shared_ptr<Sleeper> sleeper) {
        const std::lock_guard lock(mutex);
        sleepers.emplace(deadline, std::move(sleeper));
    }

    // It may be gone already.
    void remove(Instant deadline, const Sleeper* sleeper) {
        const std::lock_guard lock(mutex);
        auto [it, end] = sleepers.equal_range(deadline);
        for (; it != end; ++it) {
            if (it->second.get() == sleeper) {
                sleepers.erase(it);
                return;
            }
        }
    }
};

ManualClock::ManualClock() : state_(std::make_shared<State>()) {}
ManualClock::~ManualClock() = default;

Instant ManualClock::now() const {
    const std::lock_guard lock(state_->mutex);
    return state_->now;
}

WallTime ManualClock::wall_now() const {
    const std::lock_guard lock(state_->mutex);
    return state_->wall;
}

Task<void> ManualClock::sleep_until(Instant deadline) {
    if (deadline <= now()) {
        co_await asio::post(asio::use_awaitable);
        co_return;
    }
    // Takes the sleeper out again when the task is cancelled, or destroyed where it is suspended.
    struct Registration {
        std::shared_ptr<State> state;
        Instant deadline;
        std::shared_ptr<Sleeper> sleeper;
        ~Registration() { state->remove(deadline, sleeper.get()); }
    };
    auto sleeper = std::make_shared<Sleeper>(co_await asio::this_coro::executor);
    state_->add(deadline, sleeper);
    const Registration registration{state_, deadline, sleeper};
    const auto [error] = co_await sleeper->timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!sleeper->due) {
        throw boost::system::system_error(error);
    }
}

void ManualClock::advance(Duration by) {
    SLUICE_ASSERT(by >= Duration::zero());
    std::vector<std::shared_ptr<Sleeper>> due;
    {
        const std::lock_guard lock(state_->mutex);
        state_->now += by;
        state_->wall += std::chrono::duration_cast<WallTime::duration>(by);
        due = state_->take_due();
    }
    for (const std::shared_ptr<Sleeper>& sleeper : due) {
        sleeper->due = true;
        // A timer may be touched only where its executor runs.
        asio::dispatch(sleeper->timer.get_executor(), [sleeper] { sleeper->timer.cancel(); });
    }
}

void ManualClock::advance_to(Instant instant) {
    advance(instant - now());
}

void ManualClock::set_wall(WallTime wall) {
    const std::lock_guard lock(state_->mutex);
    state_->wall = wall;
}

std::optional<Instant> ManualClock::next_deadline() const {
    const std::lock_guard lock(state_->mutex);
    if (state_->sleepers.empty()) {
        return std::nullopt;
    }
    return state_->sleepers.begin()->first;
}

std::size_t ManualClock::sleepers() const {
    const std::lock_guard lock(state_->mutex);
    return state_->sleepers.size();
}

}  // namespace sluice::test
