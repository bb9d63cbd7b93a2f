// Time that stands still until a test moves it.
//
//     clock.advance(99ms); run_ready(io);   // nothing happened
//     clock.advance(1ms);  run_ready(io);   // it did
#pragma once

#include "base/clock.h"

#include <cstddef>
#include <memory>
#include <optional>

namespace sluice::test {

// Thread-safe. A sleeping task is woken on its own executor, so it runs when that executor next
// does. May be destroyed before the tasks that sleep on it: they then sleep until they are
// cancelled.
class ManualClock final : public Clock {
 public:
    // Starts at a million seconds, so that subtracting from it is harmless, and on
    // 2026-01-01T00:00:00Z.
    ManualClock();
    ~ManualClock() override;

    Instant now() const override;
    WallTime wall_now() const override;
    Task<void> wait(std::shared_ptr<Alarm> alarm, Instant deadline) override;

    // Moves both clocks and wakes, in order of their deadlines, the sleepers whose time has come. A
    // task that sleeps again and again sees only the end of a large step; where each wake-up
    // matters step to next_deadline() instead.
    void advance(Duration by);
    // The same, up to `instant`, which must not be in the past.
    void advance_to(Instant instant);
    // Changes the date only, as an operator or NTP does; sleepers do not notice.
    void set_wall(WallTime wall);

    // The earliest instant that something sleeps until.
    std::optional<Instant> next_deadline() const;
    std::size_t sleepers() const;

 private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace sluice::test
