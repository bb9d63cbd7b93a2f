// How many requests may run at once. Two lanes with budgets of their own, FAST and DEEP, under one
// overall limit with one queue, in which FAST goes first. Waiting is bounded in number and in time.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {
class ConfigReader;
}

namespace sluice::guard {

enum class LaneKind : std::uint8_t { kFast, kDeep };
inline constexpr std::size_t kLaneCount = 2;

std::string_view to_string(LaneKind lane);

struct LaneConfig {
    std::size_t concurrency = 0;  // running at once
    Millis queue_timeout{};       // waiting for longer fails
    Millis deadline{};            // the whole request; for who makes requests, not used here

    void read(ConfigReader in);
};

struct LanesConfig {
    LaneConfig fast{64, Millis(2'000), Millis(10'000)};
    LaneConfig deep{16, Millis(10'000), Millis(45'000)};
    std::size_t max_queued = 512;       // waiting at once, both lanes together
    std::size_t total_concurrency = 0;  // running at once, both lanes; 0: the sum of both

    // From the section "lanes".
    static LanesConfig read(ConfigReader& in);

    const LaneConfig& lane(LaneKind kind) const { return kind == LaneKind::kFast ? fast : deep; }
};

struct LaneStats {
    std::size_t running = 0;
    std::size_t queued = 0;
    std::uint64_t admitted = 0;   // since the beginning, at once or after waiting
    std::uint64_t shed = 0;       // refused at once, for the queue was full
    std::uint64_t timed_out = 0;  // left the queue because their time in it was over
    std::uint64_t left = 0;       // left the queue by themselves
};

// The decisions, without time or tasks of their own. Whoever may run is told so at once: nobody
// waits while there is room for them. Not thread-safe.
class LaneScheduler {
 public:
    // One who waits. Ordered as the queue is: FAST first, then by arrival.
    struct Waiter {
        LaneKind lane = LaneKind::kFast;
        std::uint64_t number = 0;
        auto operator<=>(const Waiter&) const = default;
    };
    enum class Entry : std::uint8_t { kAdmitted, kQueued, kShed };
    struct Entered {
        Entry entry = Entry::kShed;
        Waiter waiter{};        // for kQueued
        Instant waits_until{};  // for kQueued: when expire() will drop it
    };

    explicit LaneScheduler(const LanesConfig& config);

    // Who is admitted calls finish() once. Who is queued waits until finish() names it, expire()
    // names it, or leave() is called for it; at most for the lane's queue timeout and until
    // `deadline`.
    Entered enter(LaneKind lane, Instant deadline, Instant now);
    // The same for who does not wait: whether it is admitted.
    bool try_enter(LaneKind lane);

    // One that ran is done. Returns the one that may run in its place, if anybody waits for that:
    // one free place is never enough for two.
    std::optional<Waiter> finish(LaneKind lane);

    // Takes a waiter out of the queue. False if it is not in there (any more).
    bool leave(Waiter waiter);

    // Takes those out whose time is over, and returns them.
    std::vector<Waiter> expire(Instant now);

    LaneStats stats(LaneKind lane) const;

 private:
    struct Lane {
        std::size_t concurrency = 0;
        Duration queue_timeout{};
        LaneStats stats;
    };

    Lane& lane_of(LaneKind kind) { return lanes_[static_cast<std::size_t>(kind)]; }
    bool has_room(const Lane& lane) const;
    void start(Lane& lane);
    void remove(std::map<Waiter, Instant>::iterator it);

    std::array<Lane, kLaneCount> lanes_;
    const std::size_t total_concurrency_;
    const std::size_t max_queued_;
    std::size_t running_ = 0;
    std::uint64_t next_number_ = 0;
    std::map<Waiter, Instant> queue_;                   // with the instant it waits until
    std::set<std::pair<Instant, Waiter>> by_deadline_;  // the same
};

// A place in a lane. Gives it back when it is destroyed.
class LaneTicket {
 public:
    LaneTicket(LaneTicket&& other) noexcept = default;
    LaneTicket& operator=(LaneTicket&& other) noexcept;
    ~LaneTicket();

    // Gives the place back now. The ticket is worth nothing afterwards.
    void release();

    Duration waited() const { return waited_; }

 private:
    friend class LaneGate;
    struct State;
    LaneTicket(std::shared_ptr<State> state, LaneKind lane, Duration waited);

    std::shared_ptr<State> state_;  // null: given back, or moved from
    LaneKind lane_;
    Duration waited_;
};

// The scheduler for tasks. Not thread-safe: everything, tickets included, belongs to one executor's
// thread. The clock outlives it; tickets may outlive it.
class LaneGate {
 public:
    LaneGate(const LanesConfig& config, Clock& clock);
    ~LaneGate();
    LaneGate(const LaneGate&) = delete;
    LaneGate& operator=(const LaneGate&) = delete;

    // Waits for a place. kOverloaded with retry_after when the queue is full or the lane's queue
    // timeout has passed, kDeadlineExceeded when `deadline` has, kCancelled when the task was
    // cancelled (as always its next asynchronous operation throws). Who does not get a ticket is
    // out of the queue at once.
    Task<Result<LaneTicket>> enter(LaneKind lane, Instant deadline);
    // A place that is free now, or nothing.
    std::optional<LaneTicket> try_enter(LaneKind lane);

    LaneStats stats(LaneKind lane) const;

 private:
    class Seat;
    Clock& clock_;
    std::shared_ptr<LaneTicket::State> state_;
};

}  // namespace sluice::guard
