// Sockets that listen: one per thread for each TCP address (SO_REUSEPORT spreads the connections),
// one shared by all threads for a Unix path.
#pragma once

#include "base/result.h"
#include "io/address.h"
#include "io/transport.h"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include <string>
#include <string_view>

namespace sluice::io {

using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol,
                                                    boost::asio::io_context::executor_type>;
using Endpoint = boost::asio::generic::stream_protocol::endpoint;

// "127.0.0.1:8080", "[::1]:8080" or "name:8080", which is looked up. kInvalidRequest when it is
// none of these.
Result<Endpoint> parse_listen_address(std::string_view text);

// "127.0.0.1:8080" or "[::1]:8080".
std::string describe(const Endpoint& endpoint);

// Of a TCP endpoint; IPv4 also where it comes mapped into IPv6.
Address address_of(const Endpoint& endpoint);

// kUnavailable when somebody listens on that address already. Needed since SO_REUSEPORT would let a
// second process of the same user take half of the connections.
Status check_unused(const Endpoint& endpoint);

// Binds to a TCP address and listens; kUnavailable with the reason when that fails. Port 0: any,
// see Acceptor::local_endpoint().
Result<Acceptor> listen_tcp(boost::asio::io_context& io, const Endpoint& endpoint);

// Binds to a path with mode 0600 and listens. A socket that nobody listens on any more is replaced;
// kUnavailable when somebody does or the path can't be used.
Result<Acceptor> listen_unix(boost::asio::io_context& io, const std::string& path);

// The same listening socket for another thread's io_context.
Result<Acceptor> share(boost::asio::io_context& io, Acceptor& acceptor);

}  // namespace sluice::io
