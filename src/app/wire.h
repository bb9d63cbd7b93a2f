// The composition root: every long-lived object of a serving process, built in dependency order and
// destroyed in reverse.
#pragma once

#include "app/config.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/random.h"
#include "base/result.h"
#include "obs/log.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice::app {

// Threads: one per core for HTTP, the first of which is the control loop too, and one for SQLite.
// Every function is called on the main thread.
class Gateway {
 public:
    // References outlive it.
    Gateway(Config config, const Environment& environment, Clock& clock, Random& random,
            obs::Log& log);
    ~Gateway();
    Gateway(const Gateway&) = delete;
    Gateway& operator=(const Gateway&) = delete;

    // Opens the data directory and its stores, starts the threads and listens. After an error
    // nothing is left running.
    Status start();

    std::vector<std::string> addresses() const;

    // The admin token that was made since this is the first start on an address that is not a
    // loopback one; to be shown once.
    std::optional<Secret> first_admin_token();

    std::size_t key_count() const;

    // Takes over what may change while running; the rest stays until the next start.
    void reload(Config config);

    // Readiness off, no new connections, requests under way finish within server.drain_timeout_s,
    // everything stops.
    void drain();

 private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// Where the admin socket of a data directory is.
std::string admin_socket_path(const std::string& data_dir);
// Where its tokens are.
std::string tokens_path(const std::string& data_dir);

// Makes the data directory (mode 0700) unless it is there.
Status prepare_data_dir(const std::string& data_dir);

}  // namespace sluice::app
