// TLS for connections that this program reads and writes itself: OpenSSL on a non-blocking socket,
// without buffers of its own between the two, so that a TLS connection is read, written and waited
// for just as a plain one.
#pragma once

#include "base/result.h"
#include "io/transport.h"

#include <boost/asio/buffer.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace sluice::io {

// What one side of connections goes by, TLS 1.2 and later. Thread-safe once loaded.
class TlsContext {
 public:
    // A server's: a certificate chain with its key, HTTP/1.1 by ALPN. PEM files. kInvalidRequest
    // with the file and the reason when they can't be used together.
    static Result<std::shared_ptr<const TlsContext>> load(const std::string& certificate_file,
                                                          const std::string& key_file);
    // A client's: whom it trusts, as a PEM file; empty: whom the system trusts. kInvalidRequest as
    // above.
    static Result<std::shared_ptr<const TlsContext>> load_client(const std::string& ca_file);
    struct Impl;
    explicit TlsContext(std::unique_ptr<Impl> impl);  // for load()
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

 private:
    friend class TlsStream;
    std::unique_ptr<Impl> impl_;
};

// The context's side of one connection. Not thread-safe. `socket` outlives it.
class TlsStream {
 public:
    // `peer` is for a client: the name or address that the certificate of the other side must be
    // for.
    TlsStream(const TlsContext& context, Socket& socket, const std::string& peer);
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
