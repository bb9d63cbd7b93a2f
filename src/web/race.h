// Several providers asked at once, for strategies that do not wait for one after another. Belongs
// to the control loop.
#pragma once

#include "base/clock.h"
#include "base/task.h"
#include "web/provider_run.h"
#include "web/route.h"
#include "web/strategy.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::web {

class Race {
 public:
    explicit Race(const SearchWork& work);
    // Cancels what is still under way; that gives back what it holds by itself.
    ~Race();
    Race(const Race&) = delete;
    Race& operator=(const Race&) = delete;

    // Asks a provider, beside those that are being asked. It may have ended when this returns; at
    // shutdown it has, without an attempt. Runners are numbered from 0 as they start.
    void start(Candidate candidate, RunShare share);

    struct Finish {
        std::size_t runner = 0;
        ProviderRun run;
        const Attempt* last = nullptr;  // its last attempt, if it made any; until take_trail()
        // Whether the provider was asked at all, or only passed over.
        bool was_sent() const { return last != nullptr && !last->egress.empty(); }
    };
    // The next one to end that has not been returned before; nothing when none has ended by
    // `until`. Throws when the waiting task was cancelled.
    Task<std::optional<Finish>> next(Instant until);

    // Runners that next() has not returned.
    std::size_t open() const { return open_; }

    // Of kMaxAttempts, what no runner has made or may still make. Whoever starts one gives it no
    // more than that.
    std::size_t attempts_left() const;

    // Cancels those that are still under way and waits for their end, so that nothing is held any
    // more; not for longer than a moment, and not at all when the waiting task was cancelled (it
    // throws then). One that ends later keeps alive what it needs, and its attempts are lost.
    Task<void> stop();

    // After stop(): every attempt, in the order of the runners.
    std::vector<Attempt> take_trail();

 private:
    struct Runner;
    struct State;
    static Task<void> run(std::shared_ptr<State> state, std::size_t number, RunShare share);
    void cancel_all();

    std::shared_ptr<State> state_;
    std::size_t open_ = 0;
};

}  // namespace sluice::web
