#include "support/redis_server.h"

#include "base/result.h"

#include <csignal>
#include <utility>

namespace sluice::test {

RedisServer::RedisServer(std::vector<std::string> options)
    : port_(free_port()), options_(std::move(options)) {
    start();
}

std::string RedisServer::url() const {
    return "redis://127.0.0.1:" + std::to_string(port_);
}

void RedisServer::kill() {
    process_.reset();
}

void RedisServer::start() {
    const std::string program = find_program("redis-server");
    SLUICE_ASSERT(!program.empty() && "scripts/setup test installs redis-server");
    std::vector<std::string> command{program,
                                     "--port",
                                     std::to_string(port_),
                                     "--bind",
                                     "127.0.0.1",
                                     "--dir",
                                     folder_.file("."),
                                     "--save",
                                     "",
                                     "--appendonly",
                                     "no",
                                     "--enable-debug-command",
                                     "yes"};
    command.insert(command.end(), options_.begin(), options_.end());
    process_ = std::make_unique<ChildProcess>(std::move(command));
    SLUICE_ASSERT(process_->wait_for_port(port_));
}

void RedisServer::freeze() {
    process_->send_signal(SIGSTOP);
}

void RedisServer::resume() {
    process_->send_signal(SIGCONT);
}

}  // namespace sluice::test
