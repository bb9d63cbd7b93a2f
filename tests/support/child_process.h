// Another program that runs for as long as a test needs it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {

// Where `program` is installed, or an empty path.
std::string find_program(std::string_view program);

// A port of 127.0.0.1 that nothing listens on.
std::uint16_t free_port();

// Started by the constructor, killed and awaited by the destructor, and by the kernel when the test
// dies first.
class ChildProcess {
 public:
    // `command[0]` is a path. Its output is thrown away.
    explicit ChildProcess(std::vector<std::string> command);
    ~ChildProcess();
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    // Waits for it to end by itself; its exit status.
    int wait();

    // While it runs.
    void send_signal(int number) const;
    int pid() const { return pid_; }

    // Waits until something listens on `port`. False when nothing did in time.
    bool wait_for_port(std::uint16_t port,
                       std::chrono::milliseconds patience = std::chrono::seconds(10)) const;

 private:
    int pid_ = -1;
};

}  // namespace sluice::test
