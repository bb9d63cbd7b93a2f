#include "io/listener.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace sluice::io {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

namespace {

constexpr int kBacklog = 4096;  // the kernel lowers it to net.core.somaxconn

Error unusable_address(std::string_view text) {
    return {.code = Code::kInvalidRequest,
            .blame = Blame::kGateway,
            .message = "not an address of the form host:port or [v6]:port: " + std::string(text),
            .retry_after = {}};
}

Error unavailable(std::string_view what, const error_code& ec) {
    return {.code = Code::kUnavailable,
            .blame = Blame::kGateway,
            .message = std::string(what) + ": " + ec.message(),
            .retry_after = {}};
}

Error last_error(std::string_view what) {
    return unavailable(what, error_code(errno, boost::system::system_category()));
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return port;
}

// For TCP endpoints, which a generic one holds as raw bytes.
tcp::endpoint to_tcp(const Endpoint& endpoint) {
    tcp::endpoint out;
    out.resize(endpoint.size());
    std::memcpy(out.data(), endpoint.data(), endpoint.size());
    return out;
}

Result<Acceptor> open_bound(asio::io_context& io, const Endpoint& endpoint, bool shared_port) {
    Acceptor acceptor(io);
    error_code ec;
    acceptor.open(endpoint.protocol(), ec);
    if (!ec) {
        acceptor.set_option(asio::socket_base::reuse_address(true), ec);
    }
    if (!ec && shared_port) {
        acceptor.set_option(ReusePort(true), ec);
    }
    if (!ec && endpoint.protocol().family() == AF_INET6) {
        acceptor.set_option(asio::ip::v6_only(true), ec);
    }
    if (!ec) {
        acceptor.bind(endpoint, ec);
    }
    if (ec) {
        return unavailable("can't listen on " + describe(endpoint), ec);
    }
    return acceptor;
}

// True when a connection to the socket at `path` succeeds, so that its owner is alive.
bool is_served(asio::io_context& io, const Endpoint& endpoint) {
    Socket probe(io);
    error_code ec;
    probe.connect(endpoint, ec);
    return !ec;
}

Status remove_stale(asio::io_context& io, const std::string& path, const Endpoint& endpoint) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) {
        if (errno == ENOENT) {
            return {};
        }
        return last_error("can't use " + path);
    }
    if (!S_ISSOCK(info.st_mode)) {
        return Error{.code = Code::kUnavailable,
                     .blame = Blame::kGateway,
                     .message = path + " is there already and not a socket",
                     .retry_after = {}};
    }
    if (is_served(io, endpoint)) {
        return unavailable("can't listen on " + path,
                           error_code(EADDRINUSE, boost::system::system_category()));
    }
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
        return last_error("can't replace " + path);
    }
    return {};
}

}  // namespace

Result<Endpoint> parse_listen_address(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        return unusable_address(text);
    }
    const std::optional<std::uint16_t> port = parse_port(text.substr(colon + 1));
    std::string host(text.substr(0, colon));
    const bool bracketed = host.front() == '[' && host.back() == ']';
    if (bracketed) {
        host = host.substr(1, host.size() - 2);
    }
    if (!port || host.empty() || (!bracketed && host.find(':') != std::string::npos)) {
        return unusable_address(text);
    }
    error_code ec;
    if (const auto literal = asio::ip::make_address(host, ec); !ec) {
        return Endpoint(tcp::endpoint(literal, *port));
    }
    if (bracketed) {
        return unusable_address(text);
    }
    asio::io_context io;
    tcp::resolver resolver(io);
    const auto found = resolver.resolve(host, std::to_string(*port), tcp::resolver::passive, ec);
    if (ec || found.empty()) {
        return unusable_address(text);
    }
    return Endpoint(found.begin()->endpoint());
}

std::string describe(const Endpoint& endpoint) {
    const tcp::endpoint address = to_tcp(endpoint);
    const std::string host = address.address().to_string();
    const std::string port = std::to_string(address.port());
    return address.address().is_v6() ? "[" + host + "]:" + port : host + ":" + port;
}

Address address_of(const Endpoint& endpoint) {
    const asio::ip::address from = to_tcp(endpoint).address();
    Address address;
    if (from.is_v6() && !from.to_v6().is_v4_mapped()) {
        address.family = Address::Family::kV6;
        address.bytes = from.to_v6().to_bytes();
        return address;
    }
    const asio::ip::address_v4 v4 =
        from.is_v4() ? from.to_v4() : asio::ip::make_address_v4(asio::ip::v4_mapped, from.to_v6());
    address.family = Address::Family::kV4;
    std::ranges::copy(v4.to_bytes(), address.bytes.begin());
    return address;
}

Status check_unused(const Endpoint& endpoint) {
    asio::io_context io;
    TRY([[maybe_unused]] const auto probe, open_bound(io, endpoint, false));
    return {};
}

Result<Acceptor> listen_tcp(asio::io_context& io, const Endpoint& endpoint) {
    TRY(auto acceptor, open_bound(io, endpoint, true));
    error_code ec;
    acceptor.listen(kBacklog, ec);
    if (ec) {
        return unavailable("can't listen on " + describe(endpoint), ec);
    }
    return acceptor;
}

Result<Acceptor> listen_unix(asio::io_context& io, const std::string& path) {
    if (path.empty() || path.size() >= sizeof(sockaddr_un::sun_path)) {
        return Error{.code = Code::kInvalidRequest,
                     .blame = Blame::kGateway,
                     .message = "not usable as the path of a socket: " + path,
                     .retry_after = {}};
    }
    const Endpoint endpoint{asio::local::stream_protocol::endpoint(path)};
    TRY_STATUS(remove_stale(io, path, endpoint));
    Acceptor acceptor(io);
    error_code ec;
    acceptor.open(endpoint.protocol(), ec);
    // On Linux bind() gives the path the mode of the socket, so it is right from the first moment.
    if (!ec && ::fchmod(acceptor.native_handle(), S_IRUSR | S_IWUSR) != 0) {
        return last_error("can't listen on " + path);
    }
    if (!ec) {
        acceptor.bind(endpoint, ec);
    }
    if (!ec) {
        acceptor.listen(kBacklog, ec);
    }
    if (ec) {
        return unavailable("can't listen on " + path, ec);
    }
    return acceptor;
}

Result<Acceptor> share(asio::io_context& io, Acceptor& acceptor) {
    const int copy = ::dup(acceptor.native_handle());
    if (copy < 0) {
        return last_error("can't share a listening socket");
    }
    Acceptor shared(io);
    error_code ec;
    shared.assign(acceptor.local_endpoint().protocol(), copy, ec);
    if (ec) {
        ::close(copy);
        return unavailable("can't share a listening socket", ec);
    }
    return shared;
}

}  // namespace sluice::io
