#include "support/manual_clock.h"

#include "base/result.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice {

// How the clock reaches an alarm's timer, wherever the task that waits on it runs.
class ManualAlarms {
 public:
    static Task<void> wait_until_rung(Alarm& alarm) {
        alarm.timer_.expires_at(Instant::max());
        co_await alarm.timer_.async_wait(boost::asio::as_tuple(use_task));
    }
    // A timer may be touched only where its executor runs.
    static void ring(std::shared_ptr<Alarm> alarm) {
        const auto executor = alarm->timer_.get_executor();
        boost::asio::dispatch(executor, [alarm = std::move(alarm)] { alarm->ring(); });
    }
};

}  // namespace sluice

namespace sluice::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

using Sleepers = std::multimap<Instant, std::shared_ptr<Alarm>>;

}  // namespace

struct ManualClock::State {
    mutable std::mutex mutex;
    Instant now{1'000'000s};
    WallTime wall{std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)};
    Sleepers sleepers;

    // Whose time has come, in order; each is taken out.
    std::vector<std::shared_ptr<Alarm>> take_due() {
        std::vector<std::shared_ptr<Alarm>> due;
        const auto end = sleepers.upper_bound(now);
        for (auto it = sleepers.begin(); it != end; it = sleepers.erase(it)) {
            due.push_back(it->second);
        }
        return due;
    }

    void add(Instant deadline, std::shared_ptr<Alarm> sleeper) {
        const std::lock_guard lock(mutex);
        sleepers.emplace(deadline, std::move(sleeper));
    }

    // It may be gone already.
    void remove(Instant deadline, const Alarm* sleeper) {
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

Task<void> ManualClock::wait(std::shared_ptr<Alarm> alarm, Instant deadline) {
    if (deadline <= now()) {
        co_await asio::post(use_task);
        co_return;
    }
    // Takes the alarm out again when the task is cancelled, or destroyed where it is suspended.
    struct Registration {
        std::shared_ptr<State> state;
        Instant deadline;
        std::shared_ptr<Alarm> alarm;
        ~Registration() { state->remove(deadline, alarm.get()); }
    };
    state_->add(deadline, alarm);
    const Registration registration{state_, deadline, alarm};
    co_await ManualAlarms::wait_until_rung(*alarm);
}

void ManualClock::advance(Duration by) {
    SLUICE_ASSERT(by >= Duration::zero());
    std::vector<std::shared_ptr<Alarm>> due;
    {
        const std::lock_guard lock(state_->mutex);
        state_->now += by;
        state_->wall += std::chrono::duration_cast<WallTime::duration>(by);
        due = state_->take_due();
    }
    for (const std::shared_ptr<Alarm>& sleeper : due) {
        ManualAlarms::ring(sleeper);
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
