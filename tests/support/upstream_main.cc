// sluice_upstream: recorded providers as a program, for tests against the real binary, simulations
// and benchmarks (support/provider_upstream.h says what it serves).
#include "support/provider_upstream.h"

#include <CLI/CLI.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>

#include <array>
#include <cstdint>
#include <exception>
#include <iostream>
#include <signal.h>
#include <string>
#include <unistd.h>

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// Ends the loop when the other end of standard input is gone.
class ParentWatch {
 public:
    explicit ParentWatch(asio::io_context& io) : io_(io), input_(io, ::dup(STDIN_FILENO)) {
        wait();
    }

 private:
    void wait() {
        input_.async_read_some(asio::buffer(ignored_), [this](error_code error, std::size_t) {
            if (error) {
                io_.stop();
            } else {
                wait();
            }
        });
    }

    asio::io_context& io_;
    asio::posix::stream_descriptor input_;
    std::array<char, 256> ignored_{};
};

struct Arguments {
    sluice::test::ProviderUpstream::Options upstream;
    std::int64_t delay_ms = 0;
    bool exit_with_parent = false;
};

int serve(const Arguments& arguments) {
    asio::io_context io;
    asio::signal_set signals(io, SIGTERM, SIGINT);
    signals.async_wait([&io](error_code, int) { io.stop(); });
    std::optional<ParentWatch> parent;
    if (arguments.exit_with_parent) {
        parent.emplace(io);
    }
    sluice::test::ProviderUpstream upstream(arguments.upstream);
    std::cout << "listening 127.0.0.1:" << upstream.server().port() << std::endl;
    io.run();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    CLI::App app("Recorded search providers on a loopback port", "sluice_upstream");
    app.add_option("--port", arguments.upstream.port, "0: any free port")->capture_default_str();
    app.add_option("--fixtures", arguments.upstream.fixtures,
                   "folder with <provider>/fixtures/<name>.json")
        ->required();
    app.add_option("--delay-ms", arguments.delay_ms, "before every answer")
        ->check(CLI::Range(0, 600'000));
    app.add_option("--max-recorded", arguments.upstream.max_recorded,
                   "requests kept for /_requests")
        ->capture_default_str();
    app.add_flag("--exit-with-parent", arguments.exit_with_parent,
                 "end when stdin (a pipe) closes");
    CLI11_PARSE(app, argc, argv);
    arguments.upstream.delay = sluice::Millis(arguments.delay_ms);
    try {
        return serve(arguments);
    } catch (const std::exception& error) {
        std::cerr << "sluice_upstream: " << error.what() << '\n';
        return 1;
    }
}
