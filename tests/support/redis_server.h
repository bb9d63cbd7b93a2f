// A real redis-server for tests: on a port of its own, with nothing kept on disk.
#pragma once

#include "support/child_process.h"
#include "support/temp_dir.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::test {

class RedisServer {
 public:
    // `options` as redis-server takes them: {"--requirepass", "secret"}. A machine without a
    // redis-server fails the test: scripts/setup installs it.
    explicit RedisServer(std::vector<std::string> options = {});

    std::uint16_t port() const { return port_; }
    // "redis://127.0.0.1:port"
    std::string url() const;

    void kill();
    // After kill(), on the same port, empty.
    void start();
    // Stands still until resume(); the kernel goes on taking connections for it.
    void freeze();
    void resume();

 private:
    const TempDir folder_;  // where a replica puts what it was sent
    const std::uint16_t port_;
    const std::vector<std::string> options_;
    std::unique_ptr<ChildProcess> process_;
};

}  // namespace sluice::test
