// TLS for the server's connections: OpenSSL on a non-blocking socket, without buffers of its own
// between the two, so that a TLS connection is read, written and waited for just as a plain one.
#pragma once

#include "base/result.h"
#include "io/transport.h"

#include <boost/asio/buffer.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace sluice::io {

// A certificate chain with its key: TLS 1.2 and later, HTTP/1.1 by ALPN. Thread-safe once loaded.
class TlsContext {
 public:
    // PEM files. kInvalidRequest with the file and the reason when they can't be used together.
    static Result<std::shared_ptr<const TlsContext>> load(const std::string& certificate_file,
                                                          const std::string& key_file);
    struct Impl;
    explicit TlsContext(std::unique_ptr<Impl> impl);  // for load()
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

 private:
    friend class TlsStream;
    std::unique_ptr<Impl> impl_;
};

// The server's side of one connection. Not thread-safe. `socket` outlives it.
class TlsStream {
 public:
    TlsStream(const TlsContext& context, Socket& socket);
    ~TlsStream();
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    // As the functions of Transport.
    IoResult handshake();
    IoResult read(std::span<char> room);
    IoResult write(std::span<const boost::asio::const_buffer> buffers);
    void finish_sending();

 private:
    IoResult failed(int result);

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::io
