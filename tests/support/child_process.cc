#include "support/child_process.h"

#include "base/result.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::test {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

tcp::endpoint loopback(std::uint16_t port) {
    return {asio::ip::address_v4::loopback(), port};
}

// In the child: nothing here may allocate.
[[noreturn]] void become(char* const* arguments, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (::getppid() != parent || null < 0) {
        ::_exit(127);
    }
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        ::dup2(null, stream);
    }
    ::execv(arguments[0], arguments);
    ::_exit(127);
}

}  // namespace

std::string find_program(std::string_view program) {
    for (const std::string_view folder : {"/usr/bin/", "/usr/sbin/", "/bin/", "/usr/local/bin/"}) {
        std::string path = std::string(folder).append(program);
        if (::access(path.c_str(), X_OK) == 0) {
            return path;
        }
    }
    return {};
}

std::uint16_t free_port() {
    asio::io_context io;
    const tcp::acceptor acceptor(io, loopback(0));
    return acceptor.local_endpoint().port();
}

ChildProcess::ChildProcess(std::vector<std::string> command) {
    std::vector<char*> arguments;
    for (std::string& argument : command) {
        arguments.push_back(argument.data());
    }
    arguments.push_back(nullptr);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    SLUICE_ASSERT(pid_ >= 0);
    if (pid_ == 0) {
        become(arguments.data(), parent);
    }
}

ChildProcess::~ChildProcess() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        wait();
    }
}

int ChildProcess::wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void ChildProcess::send_signal(int number) const {
    SLUICE_ASSERT(pid_ > 0 && ::kill(pid_, number) == 0);
}

bool ChildProcess::wait_for_port(std::uint16_t port, std::chrono::milliseconds patience) const {
    constexpr std::chrono::milliseconds kPause{10};
    asio::io_context io;
    for (auto waited = kPause; waited <= patience; waited += kPause) {
        tcp::socket socket(io);
        boost::system::error_code error;
        socket.connect(loopback(port), error);
        if (!error) {
            return true;
        }
        asio::steady_timer(io, kPause).wait();
    }
    return false;
}

}  // namespace sluice::test
