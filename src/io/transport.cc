#include "io/transport.h"

#include "io/tls.h"

#include <boost/asio/error.hpp>

#include <utility>

namespace sluice::io {

namespace asio = boost::asio;
using boost::system::error_code;

Transport::Transport(Socket socket, const TlsContext* tls, const std::string& peer)
    : socket_(std::move(socket)) {
    if (tls != nullptr) {
        tls_ = std::make_unique<TlsStream>(*tls, socket_, peer);
    }
}

Transport::~Transport() = default;

IoResult Transport::handshake() {
    return tls_ ? tls_->handshake() : IoResult();
}

IoResult Transport::read(std::span<char> room) {
    if (tls_) {
        return tls_->read(room);
    }
    error_code ec;
    const std::size_t n = socket_.read_some(asio::buffer(room.data(), room.size()), ec);
    if (!ec) {
        // A short read has emptied the socket's buffer: asking again would only cost a system call.
        return {.state = IoState::kOk, .bytes = n, .drained = n < room.size()};
    }
    if (ec == asio::error::would_block || ec == asio::error::try_again) {
        return {.state = IoState::kWantsRead, .bytes = 0, .drained = true};
    }
    return {.state = ec == asio::error::eof ? IoState::kEnd : IoState::kBroken};
}

IoResult Transport::write(std::span<const asio::const_buffer> buffers) {
    if (tls_) {
        return tls_->write(buffers);
    }
    error_code ec;
    const std::size_t n = socket_.write_some(buffers, ec);
    if (!ec) {
        const bool all = n == asio::buffer_size(buffers);
        return {.state = all ? IoState::kOk : IoState::kWantsWrite, .bytes = n};
    }
    if (ec == asio::error::would_block || ec == asio::error::try_again) {
        return {.state = IoState::kWantsWrite};
    }
    return {.state = IoState::kBroken};
}

void Transport::finish_sending() {
    if (tls_) {
        tls_->finish_sending();
    }
    error_code ignored;  // the other side may be gone already
    socket_.shutdown(Socket::shutdown_send, ignored);
}

void Transport::close() {
    error_code ignored;
    socket_.close(ignored);
}

}  // namespace sluice::io
