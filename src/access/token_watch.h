// Keeps the table that verifies tokens true to the store that keeps them.
#pragma once

#include "access/token_store.h"
#include "access/tokens.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/secret.h"
#include "base/store_revision.h"
#include "base/task.h"
#include "guard/bell.h"
#include "obs/log.h"
#include "obs/metrics.h"

#include <cstdint>
#include <optional>

namespace sluice::access {

inline constexpr Millis kTokenPollInterval{1'000};

// Belongs to one executor. A change by another process is seen within kTokenPollInterval, or when
// changed() tells of it; who changes tokens in this process calls refresh() afterwards and is in
// force when it returns.
class TokenWatch {
 public:
    // References outlive it.
    TokenWatch(TokenStore& store, TokenTable& table, Clock& clock, const obs::Log& log,
               obs::Metrics& metrics);

    // Loads the table if the store's revision is not the one it was loaded at, be it later or
    // earlier. On an error the table stays as it is.
    Task<Status> refresh();

    // Refreshes for ever; ends by cancellation. While the store is away the tokens last known stay
    // in force, which is logged and counted.
    Task<void> run();

    // Somebody may have changed something: run() looks now.
    void changed();

 private:
    TokenStore& store_;
    TokenTable& table_;
    Clock& clock_;
    const obs::Log& log_;
    obs::Gauge active_;
    obs::Counter failures_;
    obs::LogLimiter failure_lines_;
    std::optional<StoreRevision> loaded_revision_ = {};
    guard::Bell bell_;
};

// For the start of a gateway that listens beyond loopback: makes the first token, of scope admin,
// if there is none that is not revoked. The text is returned to be shown once; nothing when there
// was no need.
Task<Result<std::optional<Secret>>> ensure_admin_token(TokenStore& store);

}  // namespace sluice::access
