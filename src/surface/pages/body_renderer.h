// Bodies of pages as HTML, each rendered once for all who ask for it meanwhile, and a few at a
// time.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "guard/lanes.h"
#include "guard/singleflight.h"
#include "surface/pages/body_cache.h"
#include "surface/pages/markdown.h"
#include "titles/compute_threads.h"

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::surface {

// Any thread, but for what says otherwise.
class BodyRenderer {
 public:
    static constexpr std::size_t kAtOnce = 2;      // on threads of their own
    static constexpr std::size_t kMaxQueued = 32;  // different bodies that wait for one
    static constexpr Millis kQueueTime{2'000};     // so long
    static constexpr Millis kPatience{5'000};      // of whoever asks, in all
    static constexpr std::size_t kShort = 1'024;   // a body up to here is rendered where it is

    // Threads are waited for on `control`'s thread. References outlive it, and it outlives its
    // calls. An exception that leaves the work is given to `on_exception`. `to_html` is
    // markdown_to_html(), which a test may hold up; called on any thread.
    using ToHtml = std::function<std::string(std::string_view markdown)>;
    BodyRenderer(Executor control, Clock& clock,
                 std::function<void(std::exception_ptr)> on_exception,
                 ToHtml to_html = markdown_to_html);

    // The body of that page in that version, which is `markdown`. Errors: kOverloaded with when to
    // come back, where too many wait or this one has waited for too long; kCancelled; kUnavailable
    // while it stops; kInternal where rendering threw.
    Task<Result<BodyHtml>> html(BodyKey key, std::string markdown);

    // Ends what is under way. Once, before the destructor, while the control loop runs.
    Task<void> stop();

 private:
    Task<Result<BodyHtml>> join(BodyKey key, std::string markdown);
    Task<Result<BodyHtml>> render(BodyKey key, std::string markdown,
                                  std::shared_ptr<guard::Stake> stake);
    Task<void> close();

    const Executor control_;
    Clock& clock_;
    const ToHtml to_html_;
    BodyCache cache_;
    titles::ComputeThreads threads_{"markdown", kAtOnce};
    // The rest belongs to the control loop.
    TaskScope tasks_;
    guard::LaneGate gate_;
    guard::SingleFlight<BodyKey, BodyHtml, BodyKeyHash> flights_;
};

}  // namespace sluice::surface
