// The composition root: every long-lived object of a serving process, built in dependency order and
// destroyed in reverse.
#pragma once

#include "app/config.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/random.h"
#include "base/result.h"
#include "base/secret.h"
#include "obs/log.h"
#include "web/readiness.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::app {

// Threads: one per core for HTTP, the first of which is the control loop too, and one for each
// io::SqliteStore (keys, access, usage, usage_reports, pages, pages_reads) and for hashing PINs.
// Every function is called on the main thread.
class Gateway {
 public:
    // What is written as the process ends waits no longer for a database that hangs.
    static constexpr Millis kLastWrites{2'000};

    // References outlive it.
    Gateway(Config config, const Environment& environment, Clock& clock, Random& random,
            obs::Log& log);
    ~Gateway();
    Gateway(const Gateway&) = delete;
    Gateway& operator=(const Gateway&) = delete;

    // Opens the data directory and its stores, starts the threads and listens. Once. After an error
    // nothing is served, and all that is left to do is to destroy this object. kInvalidRequest: an
    // address or a certificate can't be used; kUnavailable and kConflict: the data directory or a
    // store can't be used (a PostgreSQL that is away is no error: see waits_for()), or an address
    // is taken. The message says what to do.
    Status start();

    // What it listens on, with real ports, after start().
    std::vector<std::string> addresses() const;

    // The admin token that was made since this is the first start on an address that is not a
    // loopback one; to be shown once, so a second call gives nothing. While is_starting() it may
    // come later.
    std::optional<Secret> first_admin_token();

    // Why nothing can be served yet, after start(), which succeeds all the same when its database
    // is away: that is tried again until it is there. Empty: it serves.
    const std::string& waits_for() const;

    // Whether the start goes on in the background, since its database is away.
    bool is_starting() const;

    // Keys of providers of this binary, after start().
    std::size_t key_count() const;
    // As it was at the start.
    const std::vector<web::IdleLane>& idle_lanes() const;

    // Whether the control loop, which every search that is not cached goes over, gets to new work
    // within `limit`; waits for that. After start(), before drain().
    bool responds_within(Millis limit);

    // Takes over what may change while running; the rest stays until the next start.
    void reload(Config config);

    // Readiness off, so that balancers go elsewhere; everything is served as before, but each
    // connection ends with its next answer. drain() follows.
    void start_leaving();

    // Readiness off, no new connections, requests under way finish within server.drain_timeout_s,
    // everything stops. Returns when all is done; a second call does nothing.
    void drain();

 private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// Where the admin socket of a data directory is.
std::string admin_socket_path(const std::string& data_dir);

}  // namespace sluice::app
