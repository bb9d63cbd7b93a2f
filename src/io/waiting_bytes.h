// What answers that clients do not read hold of memory, over all connections of a server. A body
// that many of them share counts once.
#pragma once

#include "base/clock.h"
#include "io/http_message.h"
#include "io/response_batch.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace sluice::io {

// Thread-safe.
class WaitingBytes {
 public:
    std::size_t total() const { return total_.load(std::memory_order_relaxed); }
    // Whether somebody waits for it, so that it costs nothing more.
    bool holds(const HttpBody& body) const;

 private:
    friend class HeldAnswers;
    void add(std::size_t bytes) { total_.fetch_add(bytes, std::memory_order_relaxed); }
    void take(std::size_t bytes) { total_.fetch_sub(bytes, std::memory_order_relaxed); }
    void add(const HttpBody& body);
    void take(const HttpBody& body);

    // Of a body that waits: who waits for it, and what it was counted as.
    struct Shared {
        std::size_t holders = 0;
        std::size_t bytes = 0;
    };
    std::atomic<std::size_t> total_{0};
    mutable std::mutex mutex_;
    std::unordered_map<const HttpBody*, Shared> bodies_;
};

// What one connection adds to it. Not thread-safe.
class HeldAnswers {
 public:
    // `all` outlives it.
    explicit HeldAnswers(WaitingBytes& all) : all_(all) {}
    ~HeldAnswers() { release(); }
    HeldAnswers(const HeldAnswers&) = delete;
    HeldAnswers& operator=(const HeldAnswers&) = delete;

    // From now on that which is in `answers`.
    void hold(const ResponseBatch& answers);
    // The client took what there was.
    void written(const ResponseBatch& answers) {
        if (answers.empty()) {
            release();
        }
    }
    void release();
    // Whether there is anything.
    bool any() const { return own_ > 0; }

 private:
    using Bodies = std::vector<std::shared_ptr<const HttpBody>>;

    WaitingBytes& all_;
    std::size_t own_ = 0;
    Bodies bodies_;
};

// A client for whom an answer waits.
struct WaitingReader {
    Duration held{};        // since it first left something untaken
    Duration silent{};      // since it last took anything
    std::size_t taken = 0;  // bytes, meanwhile
};

// Who may be cut off for want of room: who took nothing for a second, or has been at it for five
// seconds, however much is taken. Readers that keep up are done by then, and what is left goes by
// speed, so that many slow ones can't keep the room from others.
bool may_be_cut(const WaitingReader& reader);
// Whether `one` is cut off before `other`: who has been silent for a second first, longest first;
// then who takes least in a second.
bool is_cut_before(const WaitingReader& one, const WaitingReader& other);

}  // namespace sluice::io
