// Writes down what keys were used: at once where a call waits for it, the rest once in a while.
// Belongs to the control loop.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "guard/write_waiters.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "web/key_runtime.h"
#include "web/key_store.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::web {

class KeyUsageWriter {
 public:
    // References outlive it.
    KeyUsageWriter(Executor control, KeyRuntime& runtime, KeyStore& store, Clock& clock,
                   const obs::Log& log, obs::Metrics& metrics);
    ~KeyUsageWriter();
    KeyUsageWriter(const KeyUsageWriter&) = delete;
    KeyUsageWriter& operator=(const KeyUsageWriter&) = delete;

    // Until the store vouches for every call that is counted now: at most guard::kMaxWriteWait, and
    // not past `deadline`. At once, and kLost, while the store is lost.
    Task<guard::WriteEnd> cover(Instant deadline);

    // Writes what changed since the last time; to be called now and then, also to find a store that
    // was lost. On an error it is written with the next.
    Task<Status> save();

    // At shutdown, when no call is under way: writes exact figures and ends. Changes after that are
    // not written.
    Task<Status> stop();

 private:
    std::uint64_t ask_for(UsageWrite what);
    Task<void> write_until_done();
    void lose(std::string_view reason);
    void find();

    const Executor control_;
    KeyRuntime& runtime_;
    KeyStore& store_;
    Clock& clock_;
    const obs::Log& log_;
    obs::Gauge lost_;
    obs::LogLimiter lost_lines_;
    TaskScope tasks_;
    guard::WriteWaiters waiting_;
    std::optional<UsageWrite> wanted_;  // the next write
    std::uint64_t writes_ = 0;          // begun
    Status last_;                       // how the last one ended
    bool has_writer_ = false;
    bool is_lost_ = false;
    bool is_said_ = false;  // that it is
};

}  // namespace sluice::web
