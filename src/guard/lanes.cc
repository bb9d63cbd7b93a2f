#include "guard/lanes.h"

#include "base/config_reader.h"
#include "guard/event.h"
#include "guard/saturate.h"

#include <algorithm>
#include <chrono>
#include <string>

namespace sluice::guard {

using namespace std::chrono_literals;

namespace {

// A place in the queue or in a lane is likely to be free again by then.
constexpr Millis kRetryAfter = 1s;

Error shed_error(LaneKind lane, std::size_t max_queued) {
    return Error{Code::kOverloaded, Blame::kGateway,
                 "the queue is full: " + std::to_string(max_queued) + " requests wait already (" +
                     std::string(to_string(lane)) + " lane)",
                 kRetryAfter};
}

Error queue_timeout_error(LaneKind lane) {
    return Error{Code::kOverloaded, Blame::kGateway,
                 "no place became free in the " + std::string(to_string(lane)) +
                     " lane within its queue timeout",
                 kRetryAfter};
}

Error deadline_error() {
    return Error{Code::kDeadlineExceeded, Blame::kGateway,
                 "the deadline passed while the request waited for its turn", std::nullopt};
}

Error cancelled_error() {
    return Error{Code::kCancelled, Blame::kCaller, "the caller left while it waited for its turn",
                 std::nullopt};
}

}  // namespace

std::string_view to_string(LaneKind lane) {
    switch (lane) {
        case LaneKind::kFast:
            return "fast";
        case LaneKind::kDeep:
            return "deep";
    }
    SLUICE_ASSERT(false && "a LaneKind outside its enumeration");
}

void LaneConfig::read(ConfigReader in) {
    in.integer<std::size_t>({"concurrency", "requests that run at once"}, concurrency, 1, 4096);
    in.duration({"queue_timeout_s", "a request that has waited for so long is refused"},
                queue_timeout, 10ms, 10min);
    in.duration({"deadline_s", "the whole request, all attempts together", {}, false}, deadline,
                100ms, 10min);
    if (queue_timeout >= deadline) {
        in.fail("queue_timeout_s",
                "must be below deadline_s, or a request could wait all its time");
    }
}

LanesConfig LanesConfig::read(ConfigReader& in) {
    LanesConfig config;
    config.fast.read(in.section("fast"));
    config.deep.read(in.section("deep"));
    in.integer<std::size_t>({"max_queued", "requests that wait at once; further ones are refused"},
                            config.max_queued, 0, 65'536);
    in.integer<std::size_t>(
        {"total_concurrency", "requests that run at once in both lanes; 0: the sum of both"},
        config.total_concurrency, 0, 8192);
    return config;
}

LaneScheduler::LaneScheduler(const LanesConfig& config)
    : total_concurrency_(config.total_concurrency > 0
                             ? config.total_concurrency
                             : config.fast.concurrency + config.deep.concurrency),
      max_queued_(config.max_queued) {
    for (const LaneKind kind : {LaneKind::kFast, LaneKind::kDeep}) {
        Lane& lane = lane_of(kind);
        lane.concurrency = config.lane(kind).concurrency;
        lane.queue_timeout = config.lane(kind).queue_timeout;
        SLUICE_ASSERT(lane.concurrency > 0);
    }
}

bool LaneScheduler::has_room(const Lane& lane) const {
    return running_ < total_concurrency_ && lane.stats.running < lane.concurrency;
}

void LaneScheduler::start(Lane& lane) {
    running_ += 1;
    lane.stats.running += 1;
    lane.stats.admitted += 1;
}

void LaneScheduler::remove(std::map<Waiter, Instant>::iterator it) {
    lane_of(it->first.lane).stats.queued -= 1;
    by_deadline_.erase({it->second, it->first});
    queue_.erase(it);
}

bool LaneScheduler::try_enter(LaneKind kind) {
    Lane& lane = lane_of(kind);
    if (!has_room(lane)) {
        return false;
    }
    // Nobody is passed over: finish() leaves none waiting for whom there is room.
    start(lane);
    return true;
}

LaneScheduler::Entered LaneScheduler::enter(LaneKind kind, Instant deadline, Instant now) {
    if (try_enter(kind)) {
        return Entered{Entry::kAdmitted, {}, {}};
    }
    Lane& lane = lane_of(kind);
    if (queue_.size() >= max_queued_) {
        lane.stats.shed += 1;
        return Entered{Entry::kShed, {}, {}};
    }
    const Waiter waiter{kind, next_number_++};
    const Instant until = std::min(add_saturating(now, lane.queue_timeout), deadline);
    queue_.emplace(waiter, until);
    by_deadline_.emplace(until, waiter);
    lane.stats.queued += 1;
    return Entered{Entry::kQueued, waiter, until};
}

std::optional<LaneScheduler::Waiter> LaneScheduler::finish(LaneKind kind) {
    SLUICE_ASSERT(lane_of(kind).stats.running > 0);
    lane_of(kind).stats.running -= 1;
    running_ -= 1;
    for (const LaneKind next : {LaneKind::kFast, LaneKind::kDeep}) {
        const auto it = queue_.lower_bound(Waiter{next, 0});
        if (it == queue_.end() || it->first.lane != next || !has_room(lane_of(next))) {
            continue;
        }
        const Waiter waiter = it->first;
        remove(it);
        start(lane_of(next));
        return waiter;
    }
    return std::nullopt;
}

bool LaneScheduler::leave(Waiter waiter) {
    const auto it = queue_.find(waiter);
    if (it == queue_.end()) {
        return false;
    }
    remove(it);
    lane_of(waiter.lane).stats.left += 1;
    return true;
}

std::vector<LaneScheduler::Waiter> LaneScheduler::expire(Instant now) {
    std::vector<Waiter> expired;
    while (!by_deadline_.empty() && by_deadline_.begin()->first <= now) {
        const Waiter waiter = by_deadline_.begin()->second;
        remove(queue_.find(waiter));
        lane_of(waiter.lane).stats.timed_out += 1;
        expired.push_back(waiter);
    }
    return expired;
}

LaneStats LaneScheduler::stats(LaneKind lane) const {
    return lanes_[static_cast<std::size_t>(lane)].stats;
}

// Shared by the gate, its tickets and those who wait.
struct LaneTicket::State {
    explicit State(const LanesConfig& config) : scheduler(config), max_queued(config.max_queued) {}

    void finish(LaneKind lane) {
        const auto next = scheduler.finish(lane);
        if (next) {
            waiting.extract(*next).mapped()->set();
        }
    }

    LaneScheduler scheduler;
    const std::size_t max_queued;
    std::map<LaneScheduler::Waiter, Event*> waiting;  // set when the place is theirs
};

LaneTicket::LaneTicket(std::shared_ptr<State> state, LaneKind lane, Duration waited)
    : state_(std::move(state)), lane_(lane), waited_(waited) {}

LaneTicket& LaneTicket::operator=(LaneTicket&& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(lane_, other.lane_);
    std::swap(waited_, other.waited_);
    return *this;
}

LaneTicket::~LaneTicket() {
    release();
}

void LaneTicket::release() {
    if (const auto state = std::exchange(state_, nullptr); state != nullptr) {
        state->finish(lane_);
    }
}

// One who waits. However its task ends, it is in the queue no longer, and a place that it was given
// and did not take goes to the next.
class LaneGate::Seat {
 public:
    Seat(std::shared_ptr<LaneTicket::State> state, LaneScheduler::Waiter waiter, Instant since)
        : state_(std::move(state)), waiter_(waiter), since_(since) {
        state_->waiting.emplace(waiter_, &event);
    }
    ~Seat() {
        if (taken_) {
            return;
        }
        if (event.is_set()) {
            state_->finish(waiter_.lane);
            return;
        }
        state_->waiting.erase(waiter_);
        state_->scheduler.leave(waiter_);
    }
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

    LaneTicket take(Instant now) {
        taken_ = true;
        return LaneTicket(state_, waiter_.lane, now - since_);
    }

    Event event;

 private:
    std::shared_ptr<LaneTicket::State> state_;
    const LaneScheduler::Waiter waiter_;
    const Instant since_;
    bool taken_ = false;
};

LaneGate::LaneGate(const LanesConfig& config, Clock& clock)
    : clock_(clock), state_(std::make_shared<LaneTicket::State>(config)) {}

LaneGate::~LaneGate() = default;

Task<Result<LaneTicket>> LaneGate::enter(LaneKind lane, Instant deadline) {
    const Instant now = clock_.now();
    if (deadline <= now) {
        co_return deadline_error();
    }
    const auto entered = state_->scheduler.enter(lane, deadline, now);
    if (entered.entry == LaneScheduler::Entry::kShed) {
        co_return shed_error(lane, state_->max_queued);
    }
    if (entered.entry == LaneScheduler::Entry::kAdmitted) {
        co_return LaneTicket(state_, lane, Duration::zero());
    }
    Seat seat(state_, entered.waiter, now);
    const WaitEnd end = co_await seat.event.wait_until(clock_, entered.waits_until);
    switch (end) {
        case WaitEnd::kSet:
            co_return seat.take(clock_.now());
        case WaitEnd::kCancelled:
            co_return cancelled_error();
        case WaitEnd::kDeadline:
            break;
    }
    state_->scheduler.expire(clock_.now());
    if (entered.waits_until == deadline) {
        co_return deadline_error();
    }
    co_return queue_timeout_error(lane);
}

std::optional<LaneTicket> LaneGate::try_enter(LaneKind lane) {
    if (!state_->scheduler.try_enter(lane)) {
        return std::nullopt;
    }
    return LaneTicket(state_, lane, Duration::zero());
}

LaneStats LaneGate::stats(LaneKind lane) const {
    return state_->scheduler.stats(lane);
}

}  // namespace sluice::guard
