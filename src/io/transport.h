// One connection, plain or TLS, TCP or Unix: reads and writes what is possible right now
// and says what to wait for otherwise. Nothing here blocks or suspends.
#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sluice::io {

class TlsContext;
class TlsStream;

// One type for TCP and Unix sockets.
using Socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol,
                                                boost::asio::io_context::executor_type>;

enum class IoState : std::uint8_t {
    kOk,
    kWantsRead,   // to be called again when the socket is readable
    kWantsWrite,  // to be called again when it is writable
    kEnd,         // the other side sends nothing more
    kBroken,
};

struct IoResult {
    IoState state = IoState::kOk;
    std::size_t bytes = 0;
    bool drained = false;  // of a read: nothing more is there now, so the next step is to wait
};

// Belongs to the thread of the socket's io_context.
class Transport {
 public:
    // `tls` is null for a plain connection; it outlives this object. `peer` is for a client's TLS:
    // see TlsStream.
    Transport(Socket socket, const TlsContext* tls, const std::string& peer = {});
    ~Transport();
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    // To wait on, and to cancel those waits.
    Socket& socket() { return socket_; }
    bool is_tls() const { return tls_ != nullptr; }

    // kOk when the connection is ready for use, for a plain one at once.
    IoResult handshake();
    // At most room.size() bytes, at least one when kOk.
    IoResult read(std::span<char> room);
    // As many bytes as fit into the socket's buffer. kOk: all of them.
    IoResult write(std::span<const boost::asio::const_buffer> buffers);
    // Tells the other side that nothing more will be sent.
    void finish_sending();
    // Also ends all waits on the socket.
    void close();

 private:
    Socket socket_;
    std::unique_ptr<TlsStream> tls_;
};

}  // namespace sluice::io
