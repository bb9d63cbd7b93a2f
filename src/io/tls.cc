#include "io/tls.h"

#include "io/address.h"

#include <boost/asio/error.hpp>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace sluice::io {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kRecordBytes = 16 * 1024;  // the largest TLS record

// OpenSSL's own socket BIO writes with write(), which raises SIGPIPE; this one goes through Asio.
Socket& socket_of(BIO* bio) {
    return *static_cast<Socket*>(BIO_get_data(bio));
}

int bio_read(BIO* bio, char* data, int size) {
    BIO_clear_retry_flags(bio);
    error_code ec;
    const std::size_t n =
        socket_of(bio).read_some(asio::buffer(data, static_cast<std::size_t>(size)), ec);
    if (!ec) {
        return static_cast<int>(n);
    }
    if (ec == asio::error::would_block || ec == asio::error::try_again) {
        BIO_set_retry_read(bio);
        return -1;
    }
    if (ec == asio::error::eof) {
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
        return 0;
    }
    return -1;
}

int bio_write(BIO* bio, const char* data, int size) {
    BIO_clear_retry_flags(bio);
    error_code ec;
    const std::size_t n =
        socket_of(bio).write_some(asio::buffer(data, static_cast<std::size_t>(size)), ec);
    if (!ec) {
        return static_cast<int>(n);
    }
    if (ec == asio::error::would_block || ec == asio::error::try_again) {
        BIO_set_retry_write(bio);
    }
    return -1;
}

long bio_control(BIO* bio, int command, long, void*) {
    switch (command) {
        case BIO_CTRL_FLUSH:
            return 1;
        case BIO_CTRL_EOF:
            return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
        default:
            return 0;
    }
}

BIO_METHOD* make_bio_method() {
    BIO_METHOD* const method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "asio");
    BIO_meth_set_read(method, bio_read);
    BIO_meth_set_write(method, bio_write);
    BIO_meth_set_ctrl(method, bio_control);
    return method;
}

// Lives as long as the process: OpenSSL keeps pointers to it in every BIO.
BIO_METHOD* bio_method() {
    static BIO_METHOD* const method = make_bio_method();
    return method;
}

// Called with what the client offers. No overlap: the connection goes on without ALPN, as clients
// that offer only HTTP/2 then fall back or leave on their own.
int select_protocol(SSL*, const unsigned char** out, unsigned char* out_size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
    static constexpr std::string_view kHttp11 = "http/1.1";
    for (unsigned int at = 0; at < offered_size; at += 1U + offered[at]) {
        const std::string_view name(reinterpret_cast<const char*>(offered + at + 1),
                                    std::min<std::size_t>(offered[at], offered_size - at - 1));
        if (name == kHttp11) {
            *out = offered + at + 1;
            *out_size = offered[at];
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_NOACK;
}

// Copies what follows the first `skip` bytes of `buffers` to `record`, as much as fits.
std::size_t join(std::span<const asio::const_buffer> buffers, std::size_t skip,
                 std::span<char> record) {
    std::size_t size = 0;
    for (asio::const_buffer buffer : buffers) {
        const std::size_t skipped = std::min(skip, buffer.size());
        skip -= skipped;
        buffer += skipped;
        const std::size_t n = std::min(buffer.size(), record.size() - size);
        std::memcpy(record.data() + size, buffer.data(), n);
        size += n;
    }
    return size;
}

// The handshake fails unless the other side's certificate is for `peer`.
void expect_peer(SSL* ssl, const std::string& peer) {
    if (Address::parse(peer)) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), peer.c_str());
        return;
    }
    SSL_set1_host(ssl, peer.c_str());
    SSL_set_tlsext_host_name(ssl, peer.c_str());
}

// `what` says what the file is, and names its setting where the caller can't.
Error unusable(const std::string& file, std::string_view what) {
    std::array<char, 256> reason{};
    ERR_error_string_n(ERR_get_error(), reason.data(), reason.size());
    ERR_clear_error();
    return {.code = Code::kInvalidRequest,
            .blame = Blame::kGateway,
            .message = std::string(what) + " " + file + ": " + reason.data(),
            .retry_after = {}};
}

}  // namespace

struct TlsContext::Impl {
    explicit Impl(const SSL_METHOD* method) : ssl(SSL_CTX_new(method), SSL_CTX_free) {
        SLUICE_ASSERT(ssl != nullptr);
        SSL_CTX_set_min_proto_version(ssl.get(), TLS1_2_VERSION);
        // Every message tells its own length, so a connection that ends without a close_notify
        // can't pass off half of one as a whole one.
        SSL_CTX_set_options(ssl.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
        // Idle connections hold no record buffers, and a write may be tried again from another
        // place.
        SSL_CTX_set_mode(ssl.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    }

    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> ssl;
    bool is_client = false;
};

TlsContext::TlsContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

TlsContext::~TlsContext() = default;

Result<std::shared_ptr<const TlsContext>> TlsContext::load(const std::string& certificate_file,
                                                           const std::string& key_file) {
    auto impl = std::make_unique<Impl>(TLS_server_method());
    SSL_CTX* const ssl = impl->ssl.get();
    SSL_CTX_set_options(ssl, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    // Sessions are resumed by tickets, which the clients keep; a cache here would grow with them.
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(ssl, select_protocol, nullptr);
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(ssl, certificate_file.c_str()) != 1) {
        return unusable(certificate_file, "server.tls_certificate_file: no certificate chain in");
    }
    if (SSL_CTX_use_PrivateKey_file(ssl, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
        return unusable(key_file, "server.tls_key_file: no private key in");
    }
    if (SSL_CTX_check_private_key(ssl) != 1) {
        return unusable(key_file,
                        "server.tls_key_file: the key does not belong to the certificate:");
    }
    return Result(std::shared_ptr<const TlsContext>(std::make_shared<TlsContext>(std::move(impl))));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::load_client(const std::string& ca_file) {
    auto impl = std::make_unique<Impl>(TLS_client_method());
    impl->is_client = true;
    SSL_CTX* const ssl = impl->ssl.get();
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, nullptr);
    ERR_clear_error();
    const int trusted = ca_file.empty() ? SSL_CTX_set_default_verify_paths(ssl)
                                        : SSL_CTX_load_verify_file(ssl, ca_file.c_str());
    if (trusted != 1) {
        return unusable(ca_file, ca_file.empty()
                                     ? "the certificates of the system can't be read"
                                     : "expected certificates of authorities in PEM, found "
                                       "none in");
    }
    return Result(std::shared_ptr<const TlsContext>(std::make_shared<TlsContext>(std::move(impl))));
}

struct TlsStream::Impl {
    std::unique_ptr<SSL, decltype(&SSL_free)> ssl{nullptr, SSL_free};
};

TlsStream::TlsStream(const TlsContext& context, Socket& socket, const std::string& peer)
    : impl_(std::make_unique<Impl>()) {
    impl_->ssl.reset(SSL_new(context.impl_->ssl.get()));
    BIO* const bio = BIO_new(bio_method());
    if (!impl_->ssl || bio == nullptr) {
        BIO_free(bio);
        throw std::bad_alloc();
    }
    BIO_set_data(bio, &socket);
    BIO_set_init(bio, 1);
    SSL_set_bio(impl_->ssl.get(), bio, bio);
    if (context.impl_->is_client) {
        SSL_set_connect_state(impl_->ssl.get());
        expect_peer(impl_->ssl.get(), peer);
    } else {
        SSL_set_accept_state(impl_->ssl.get());
    }
}

TlsStream::~TlsStream() = default;

// What the failure of an OpenSSL call means for the caller.
IoResult TlsStream::failed(int result) {
    switch (SSL_get_error(impl_->ssl.get(), result)) {
        case SSL_ERROR_WANT_READ:
            return {.state = IoState::kWantsRead, .bytes = 0, .drained = true};
        case SSL_ERROR_WANT_WRITE:
            return {.state = IoState::kWantsWrite};
        case SSL_ERROR_ZERO_RETURN:
            return {.state = IoState::kEnd};
        default:
            return {.state = IoState::kBroken};
    }
}

IoResult TlsStream::handshake() {
    ERR_clear_error();
    const int result = SSL_do_handshake(impl_->ssl.get());
    return result == 1 ? IoResult() : failed(result);
}

IoResult TlsStream::read(std::span<char> room) {
    ERR_clear_error();
    std::size_t n = 0;
    const int result = SSL_read_ex(impl_->ssl.get(), room.data(), room.size(), &n);
    if (result == 1) {
        return {.state = IoState::kOk, .bytes = n, .drained = false};
    }
    return failed(result);
}

IoResult TlsStream::write(std::span<const asio::const_buffer> buffers) {
    // Each call of SSL_write makes a record, so the pieces are joined into full ones. A call that
    // is repeated after kWantsWrite joins the same bytes again, as OpenSSL demands.
    thread_local std::array<char, kRecordBytes> record;
    const std::size_t total = asio::buffer_size(buffers);
    std::size_t done = 0;
    while (done < total) {
        const std::size_t size = join(buffers, done, record);
        std::size_t n = 0;
        ERR_clear_error();
        const int result = SSL_write_ex(impl_->ssl.get(), record.data(), size, &n);
        if (result != 1) {
            IoResult outcome = failed(result);
            outcome.bytes = done;
            return outcome;
        }
        done += n;
    }
    return {.state = IoState::kOk, .bytes = done};
}

void TlsStream::finish_sending() {
    ERR_clear_error();
    if (SSL_is_init_finished(impl_->ssl.get()) == 1) {
        SSL_shutdown(impl_->ssl.get());
    }
    ERR_clear_error();
}

}  // namespace sluice::io
