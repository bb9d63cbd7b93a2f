#include "guard/window_counter.h"

#include "base/result.h"

#include <algorithm>
#include <limits>

namespace sluice::guard {

std::int64_t window_index(WallTime now, Duration length) {
    SLUICE_ASSERT(length > Duration::zero());
    const auto since_epoch = std::chrono::duration_cast<Duration>(now.time_since_epoch());
    const std::int64_t index = since_epoch / length;
    return since_epoch % length < Duration::zero() ? index - 1 : index;
}

WallTime window_start(std::int64_t index, Duration length) {
    return WallTime(std::chrono::duration_cast<WallTime::duration>(index * length));
}

WindowCounter::WindowCounter(std::int64_t limit, Duration length)
    : limit_(std::max<std::int64_t>(limit, 0)),
      length_(length),
      use_{std::numeric_limits<std::int64_t>::min(), 0} {
    SLUICE_ASSERT(length > Duration::zero());
}

WindowUse WindowCounter::at(WallTime now) const {
    const std::int64_t index = window_index(now, length_);
    if (index > use_.index) {
        return WindowUse{index, 0};
    }
    if (use_.index - index > 1) {
        return WindowUse{index, use_.used};
    }
    return use_;
}

WindowVerdict WindowCounter::take(WallTime now) {
    use_ = at(now);
    const bool allowed = use_.used < limit_;
    use_.used += allowed ? 1 : 0;
    return WindowVerdict{allowed, limit_ - use_.used, window_start(use_.index + 1, length_)};
}

WindowVerdict WindowCounter::peek(WallTime now) const {
    const WindowUse use = at(now);
    return WindowVerdict{use.used < limit_, limit_ - use.used,
                         window_start(use.index + 1, length_)};
}

void WindowCounter::give_back(WallTime now) {
    use_ = at(now);
    use_.used = std::max<std::int64_t>(use_.used - 1, 0);
}

}  // namespace sluice::guard
