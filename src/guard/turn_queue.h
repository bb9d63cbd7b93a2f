// Turns to make calls, at most so many per interval and with bursts up to as many: what a provider
// allows us, for callers that wait.
#pragma once

#include "base/clock.h"
#include "guard/token_bucket.h"

#include <cstdint>
#include <optional>

namespace sluice::guard {

// A turn is promised first and taken when the call starts, which may be later. What was started
// decides when the next call may start, so that in any span of time no more than `tokens` and what
// flows in meanwhile start, whoever is late or leaves. Promises go by the turns before them: who
// starts in time is not put off unless others were late.
//
// Not thread-safe. Instants that are passed as `now` never go back.
class TurnQueue {
 public:
    explicit TurnQueue(TokenBucketConfig config);

    struct Turn {
        std::uint64_t number = 0;
        Instant at{};  // when it comes
    };

    // The turn after all that were promised, if it comes by `latest`. Ends with one start() that
    // gave true, or with one leave().
    std::optional<Turn> promise(Instant now, Instant latest);
    // When the next promised turn would come.
    Instant next(Instant now) const;

    // A call starts. False, and nothing happened, before `turn.at`, and where others were late and
    // the turn is put off: then `turn.at` is when to ask again.
    bool start(Turn& turn, Instant now);
    // A promised turn is not wanted. Those after it come when they would have; while somebody
    // waits, only the last promised one is there for others.
    void leave(const Turn& turn);
    // What was started came to nothing. If nobody else started since, the turn is there again.
    void undo(const Turn& turn);

    // That many calls were started without a turn of this queue. Of more than a full bucket holds
    // it takes no notice.
    void note_started(std::int64_t calls, Instant now);
    // Tokens that are missing in the bucket, by what was started; one that is flowing in is.
    std::int64_t missing(Instant now) const;

 private:
    std::int64_t tokens() const { return burst_ / per_token_ + 1; }
    // When the next turn comes if the bucket will be full at `full`.
    Instant when(Instant full, Instant now) const;
    // When the bucket will be full if everybody starts in time.
    Instant full_with_promises(Instant now) const;

    Duration per_token_;
    Duration burst_;            // for the tokens of a full bucket but one
    Instant full_at_{};         // when the bucket will be full, by what was started
    Instant promised_{};        // the same by what was promised; meaningless while nothing is
    std::int64_t waiting_ = 0;  // promised and not started
    std::uint64_t last_promised_ = 0;
    std::uint64_t last_started_ = 0;
};

}  // namespace sluice::guard
