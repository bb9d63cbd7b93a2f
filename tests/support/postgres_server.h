// A real PostgreSQL for tests: on a port of its own, in a folder of its own.
#pragma once

#include "support/child_process.h"
#include "support/temp_dir.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::test {

class PostgresServer {
 public:
    // A machine without PostgreSQL fails the test: scripts/setup installs it.
    PostgresServer();

    std::uint16_t port() const { return port_; }
    // "postgresql://postgres@127.0.0.1:port/name"; that database is made, empty.
    std::string make_database();
    // Of the database that is always there.
    std::string url() const { return url_of("postgres"); }

    void kill();
    // After kill(), on the same port, with what was committed.
    void start();
    // Stands still until resume(), with every process that serves a connection; the kernel goes on
    // taking connections for it.
    void freeze();
    void resume();

 private:
    std::string url_of(const std::string& database) const;
    void signal_all(int number) const;  // its children, too

    const TempDir folder_;
    const std::uint16_t port_;
    int databases_ = 0;
    std::unique_ptr<ChildProcess> process_;
};

// One that lives as long as the process, for tests that only need databases: initdb takes a second.
PostgresServer& shared_postgres();

}  // namespace sluice::test
