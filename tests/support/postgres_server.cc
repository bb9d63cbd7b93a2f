#include "support/postgres_server.h"

#include "base/result.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <pwd.h>
#include <sys/types.h>
#include <unistd.h>
#include <utility>

namespace sluice::test {

namespace {

namespace fs = std::filesystem;

// Debian keeps each version in a folder of its own; the newest is used.
std::string server_program(const std::string& name) {
    std::string newest;
    std::error_code ignored;
    for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
        newest = std::max(newest, version.path().string());
    }
    std::string program = newest + "/bin/" + name;
    SLUICE_ASSERT(::access(program.c_str(), X_OK) == 0 && "scripts/setup test installs postgresql");
    return program;
}

// PostgreSQL does not run as root.
std::vector<std::string> unprivileged(std::vector<std::string> command) {
    if (::geteuid() != 0) {
        return command;
    }
    std::vector<std::string> wrapped{find_program("setpriv"), "--reuid=postgres",
                                     "--regid=postgres",      "--clear-groups",
                                     "--pdeathsig=KILL",      "--"};
    wrapped.insert(wrapped.end(), command.begin(), command.end());
    return wrapped;
}

void give_away(const std::string& path) {
    if (::geteuid() != 0) {
        return;
    }
    const passwd* user = ::getpwnam("postgres");
    SLUICE_ASSERT(user != nullptr && ::chown(path.c_str(), user->pw_uid, user->pw_gid) == 0);
}

int run(std::vector<std::string> command) {
    return ChildProcess(std::move(command)).wait();
}

// It listens before it has started, and refuses everybody meanwhile; a busy machine shows that.
bool takes_connections(std::uint16_t port) {
    constexpr int kLooks = 300;  // each takes hundredths of a second
    for (int i = 0; i < kLooks; ++i) {
        if (run({server_program("pg_isready"), "-q", "-t", "1", "-h", "127.0.0.1", "-p",
                 std::to_string(port)}) == 0) {
            return true;
        }
    }
    return false;
}

// The fourth field of /proc/<pid>/stat; the second one is in parentheses and may hold anything.
int parent_of(const fs::path& process) {
    std::ifstream in(process / "stat");
    std::string line;
    std::getline(in, line);
    const std::size_t end = line.rfind(") ");
    int parent = -1;
    if (end != std::string::npos && end + 4 < line.size()) {
        std::from_chars(line.data() + end + 4, line.data() + line.size(), parent);
    }
    return parent;
}

}  // namespace

PostgresServer::PostgresServer() : port_(free_port()) {
    give_away(folder_.path().string());
    SLUICE_ASSERT(
        run(unprivileged({server_program("initdb"), "-D", folder_.file("data"), "-U", "postgres",
                          "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"})) == 0);
    start();
}

std::string PostgresServer::url_of(const std::string& database) const {
    return "postgresql://postgres@127.0.0.1:" + std::to_string(port_) + "/" + database;
}

std::string PostgresServer::make_database() {
    const std::string name = "test" + std::to_string(++databases_);
    SLUICE_ASSERT(run({server_program("createdb"), "-h", "127.0.0.1", "-p", std::to_string(port_),
                       "-U", "postgres", name}) == 0);
    return url_of(name);
}

void PostgresServer::kill() {
    process_.reset();
}

void PostgresServer::start() {
    // The children of one that was killed end a moment after it, and until then none starts here.
    for (int attempts_left = 5; attempts_left > 0; --attempts_left) {
        process_ = std::make_unique<ChildProcess>(
            unprivileged({server_program("postgres"), "-D", folder_.file("data"), "-p",
                          std::to_string(port_), "-h", "127.0.0.1", "-k", "", "-F"}));
        if (process_->wait_for_port(port_) && takes_connections(port_)) {
            return;
        }
    }
    SLUICE_ASSERT(false && "PostgreSQL does not start");
}

void PostgresServer::freeze() {
    signal_all(SIGSTOP);
}

void PostgresServer::resume() {
    signal_all(SIGCONT);
}

void PostgresServer::signal_all(int number) const {
    // The parent first: it starts no further child then.
    process_->send_signal(number);
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        int pid = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (error == std::errc() && parent_of(entry.path()) == process_->pid()) {
            ::kill(pid, number);
        }
    }
}

PostgresServer& shared_postgres() {
    static PostgresServer server;
    return server;
}

}  // namespace sluice::test
