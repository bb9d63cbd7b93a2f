#include "io/transfer_errors.h"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

namespace sluice::io {

namespace asio = boost::asio;

Error transfer_timed_out() {
    return Error{Code::kTimeout, Blame::kProvider, "no complete answer before the deadline", {}};
}

Error transfer_too_late() {
    return Error{Code::kTimeout, Blame::kGateway, "the deadline has passed", {}};
}

Error transfer_cancelled() {
    return Error{Code::kCancelled, Blame::kCaller, "the request was given up", {}};
}

bool is_shortage(int system_error) {
    constexpr std::array kShortages = {EMFILE, ENFILE, ENOBUFS, ENOMEM, EADDRNOTAVAIL};
    return std::ranges::find(kShortages, system_error) != kShortages.end();
}

int descriptor_shortage() {
    const int probe = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (probe < 0) {
        return is_shortage(errno) ? errno : 0;
    }
    ::close(probe);
    return 0;
}

Error transfer_short_of_resources(int system_error) {
    return Error{Code::kOverloaded, Blame::kGateway,
                 std::string("no connection could be opened on this machine: ") +
                     std::strerror(system_error),
                 std::nullopt};
}

Task<std::optional<Error>> wait_in_transfer(Clock& clock, Instant at, Instant deadline) {
    if (at > clock.now()) {
        auto alarm = std::make_shared<Alarm>(co_await asio::this_coro::executor);
        co_await clock.wait(std::move(alarm), std::min(at, deadline));
        const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none) {
            co_return transfer_cancelled();
        }
    }
    if (at > deadline) {
        co_return transfer_timed_out();
    }
    co_return std::nullopt;
}

}  // namespace sluice::io
