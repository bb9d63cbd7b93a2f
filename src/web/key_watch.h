// Keeps the pool that leases keys true to the store that keeps them.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/store_revision.h"
#include "base/task.h"
#include "guard/bell.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "web/key_store.h"
#include "web/keys.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::web {

inline constexpr Millis kKeyPollInterval{1'000};

// Belongs to the control loop. A change by another process is in force within kKeyPollInterval, or
// from changed() on, and the time of a query; who changes keys in this process calls catch_up()
// afterwards, and the change is in force when that returns, unless the store is away.
class KeyWatch {
 public:
    // References outlive it.
    KeyWatch(KeyStore& store, KeyPool& pool, Clock& clock, const obs::Log& log,
             obs::Metrics& metrics);

    // Fills the pool if the store's revision is not the one it was filled at, be it later or
    // earlier. On an error the pool stays as it is.
    Task<Status> refresh();

    // After a change that the store has taken: refresh(). Where that fails the change is in force
    // with a later turn of run(); that is logged and counted.
    Task<void> catch_up();

    // That, what the pool's KeyUsageWriter has to save, and the gauges, for ever; ends by
    // cancellation. While the store is away the keys last known stay in force, which is logged and
    // counted.
    Task<void> run();

    // Somebody may have changed something: run() looks now.
    void changed();

    // What the last turn of run() met: false while the store is away.
    bool store_answers() const { return store_answers_; }

 private:
    struct Gauges {
        std::vector<obs::Gauge> by_status;
        obs::Gauge in_flight;
    };

    void note(const Status& status);
    void publish_counts();

    KeyStore& store_;
    KeyPool& pool_;
    Clock& clock_;
    const obs::Log& log_;
    obs::Metrics& metrics_;
    obs::Counter failures_;
    obs::LogLimiter failure_lines_;
    bool store_answers_ = true;
    std::optional<StoreRevision> loaded_revision_ = {};
    std::map<std::string, Gauges> gauges_;  // by provider
    guard::Bell bell_;
};

}  // namespace sluice::web
