// The server behind TLS: the same exchanges, and what only TLS brings.
#include "server_fixture.h"
#include "support/temp_dir.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::test {
namespace {

using namespace std::chrono_literals;

// A self-signed certificate and its key, made once.
class Certificate {
 public:
    static const Certificate& get() {
        static const Certificate certificate;
        return certificate;
    }

    std::string certificate_file() const { return directory_.file("cert.pem"); }
    std::string key_file() const { return directory_.file("key.pem"); }
    // Of another certificate.
    std::string other_key_file() const { return directory_.file("other.pem"); }

 private:
    Certificate() {
        make(certificate_file(), key_file());
        make(directory_.file("other-cert.pem"), other_key_file());
    }

    static void make(const std::string& certificate_file, const std::string& key_file) {
        const std::string command =
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
            "-subj /CN=localhost -keyout " +
            key_file + " -out " + certificate_file + " 2>/dev/null";
        SLUICE_ASSERT(std::system(command.c_str()) == 0);
    }

    TempDir directory_;
};

io::HttpServerConfig with_tls() {
    io::HttpServerConfig config;
    config.tls_certificate_file = Certificate::get().certificate_file();
    config.tls_key_file = Certificate::get().key_file();
    return config;
}

// A blocking TLS client over a RawClient's connection.
class TlsClient {
 public:
    explicit TlsClient(const std::string& address, int version = TLS1_3_VERSION)
        : connection_(address), context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
        SSL_CTX_set_min_proto_version(context_.get(), version);
        SSL_CTX_set_max_proto_version(context_.get(), version);
        // Old versions are refused by the client's own policy otherwise.
        SSL_CTX_set_cipher_list(context_.get(), "DEFAULT:@SECLEVEL=0");
        static constexpr unsigned char kProtocols[] = "\x02h2\x08http/1.1";
        SSL_CTX_set_alpn_protos(context_.get(), kProtocols, sizeof kProtocols - 1);
        ssl_ = {SSL_new(context_.get()), SSL_free};
        SSL_set_fd(ssl_.get(), connection_.descriptor());
        connected_ = SSL_connect(ssl_.get()) == 1;
        ERR_clear_error();
    }

    bool connected() const { return connected_; }
    RawClient& connection() { return connection_; }

    std::string protocol() const {
        const unsigned char* name = nullptr;
        unsigned int size = 0;
        SSL_get0_alpn_selected(ssl_.get(), &name, &size);
        return {name, name + size};
    }

    bool send(std::string_view bytes) {
        std::size_t n = 0;
        return SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &n) == 1 && n == bytes.size();
    }

    bool get(const std::string& path, const std::string& fields = {}) {
        return send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n");
    }

    std::optional<RawResponse> read_response() {
        RawResponse response;
        std::size_t end = 0;
        while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
            if (!read_more()) {
                return std::nullopt;
            }
        }
        response.head = buffer_.substr(0, end + 4);
        response.status = std::stoi(response.head.substr(9, 3));
        buffer_.erase(0, end + 4);
        const std::size_t length = std::stoul(response.header("Content-Length").value_or("0"));
        while (buffer_.size() < length) {
            if (!read_more()) {
                return std::nullopt;
            }
        }
        response.body = buffer_.substr(0, length);
        buffer_.erase(0, length);
        return response;
    }

    // True when the server has said goodbye as TLS wants it.
    bool ended_properly() {
        while (read_more()) {
        }
        return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
    }

    void say_goodbye() { SSL_shutdown(ssl_.get()); }

 private:
    bool read_more() {
        char bytes[16 * 1024];
        std::size_t n = 0;
        ERR_clear_error();
        if (SSL_read_ex(ssl_.get(), bytes, sizeof bytes, &n) != 1) {
            return false;
        }
        buffer_.append(bytes, n);
        return true;
    }

    RawClient connection_;
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
    std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, SSL_free};
    std::string buffer_;
    bool connected_ = false;
};

// Protects: requests and answers of every size pass through TLS, over one connection.
TEST(HttpServerTls, ServesAsWithoutIt) {
    RunningServer running(with_tls());
    std::string large(3'000'000, '\0');
    SeededRandom(3).fill(std::as_writable_bytes(std::span(large)));
    running.handler.set_body("lead", large);
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        TlsClient client(running.address, version);
        ASSERT_TRUE(client.connected());
        EXPECT_EQ(client.protocol(), "http/1.1");
        ASSERT_TRUE(client.get("/"));
        EXPECT_EQ(client.read_response()->body, "hello");
        ASSERT_TRUE(client.get("/later"));
        EXPECT_EQ(client.read_response()->body, "later");
        ASSERT_TRUE(client.get("/body"));
        EXPECT_EQ(client.read_response()->body, "lead" + large);
        const std::string body(500'000, 'b');
        ASSERT_TRUE(
            client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n" + body));
        EXPECT_TRUE(client.read_response()->body.ends_with("\n\n" + body));
        ASSERT_TRUE(client.get("/close"));
        EXPECT_EQ(client.read_response()->body, "bye");
        EXPECT_TRUE(client.ended_properly());
    }
}

// Protects: requests that came together in one record are all served, although the socket itself
// has nothing more to read.
TEST(HttpServerTls, ServesWhatOpenSslHoldsBack) {
    RunningServer running(with_tls());
    TlsClient client(running.address);
    std::string requests;
    for (int i = 0; i < 300; ++i) {
        requests += i % 7 == 0 ? "GET /later HTTP/1.1\r\nHost: h\r\n\r\n"
                               : "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    }
    ASSERT_TRUE(client.send(requests));
    for (int i = 0; i < 300; ++i) {
        const auto response = client.read_response();
        ASSERT_TRUE(response) << i;
        EXPECT_EQ(response->body, i % 7 == 0 ? "later" : "hello");
    }
    // The last record has the end of a body, which is read on its own, and a request behind it.
    ASSERT_TRUE(client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 30000\r\n\r\n" +
                            std::string(30'000, 'b') + "GET /later HTTP/1.1\r\nHost: h\r\n\r\n"));
    EXPECT_EQ(client.read_response()->body, "hello");
    EXPECT_EQ(client.read_response()->body, "later");
}

// Protects: a client that leaves cancels its request, with a goodbye and without.
TEST(HttpServerTls, NoticesClientsThatLeave) {
    RunningServer running(with_tls());
    for (int i = 1; i <= 2; ++i) {
        TlsClient client(running.address);
        ASSERT_TRUE(client.get("/wait"));
        ASSERT_TRUE(running.handler.wait_for_started(i));
        if (i == 1) {
            client.say_goodbye();
        }
        client.connection().close();
        EXPECT_TRUE(running.handler.wait_for_cancelled(i));
    }
}

// Protects: old versions of TLS and plain HTTP get nowhere.
TEST(HttpServerTls, RefusesWhatIsNotModernTls) {
    RunningServer running(with_tls());
    EXPECT_FALSE(TlsClient(running.address, TLS1_1_VERSION).connected());
    RawClient plain = running.connect();
    ASSERT_TRUE(plain.get("/"));
    EXPECT_FALSE(plain.read_response());
    EXPECT_EQ(running.handler.handled(), 0);
    TlsClient client(running.address);
    ASSERT_TRUE(client.get("/"));
    EXPECT_TRUE(client.read_response());
}

// Protects: refusals are readable behind TLS too.
TEST(HttpServerTls, SendsRefusals) {
    RunningServer running(with_tls());
    TlsClient client(running.address);
    ASSERT_TRUE(client.send("nonsense\r\n\r\n"));
    EXPECT_EQ(client.read_response()->status, 400);
    EXPECT_TRUE(client.ended_properly());
}

// Protects: a handshake that does not get on is ended.
TEST(HttpServerTls, EndsSlowHandshakes) {
    io::HttpServerConfig config = with_tls();
    config.header_timeout = 40ms;
    RunningServer running(config);
    RawClient silent = running.connect();
    EXPECT_TRUE(silent.is_closed());
    RawClient slow = running.connect();
    ASSERT_TRUE(slow.send("\x16\x03\x01"));
    EXPECT_TRUE(slow.is_closed());
}

// Protects: files that can't be used stop the start, and the message names the file.
TEST(HttpServerTls, NamesFilesThatAreUnusable) {
    const TempDir directory;
    const std::string missing = directory.file("missing.pem");
    const std::string garbage = directory.file("garbage.pem");
    std::ofstream(garbage) << "-----BEGIN NOTHING-----\n";
    const std::string good_certificate = Certificate::get().certificate_file();
    const std::string good_key = Certificate::get().key_file();
    const std::string other_key = Certificate::get().other_key_file();
    struct Case {
        std::string certificate;
        std::string key;
        std::string named;
    };
    const std::vector<Case> cases = {
        {missing, good_key, missing},
        {garbage, good_key, garbage},
        {good_certificate, missing, missing},
        {good_certificate, garbage, garbage},
        {good_certificate, other_key, other_key},
    };
    RunningServer running;
    for (const Case& c : cases) {
        io::HttpServerConfig config;
        config.listen = {"127.0.0.1:0"};
        config.tls_certificate_file = c.certificate;
        config.tls_key_file = c.key;
        io::HttpServer server(config, running.handler, running.clock, running.random, running.log,
                              running.metrics);
        const Status status = server.start();
        ASSERT_FALSE(status.ok()) << c.named;
        EXPECT_EQ(status.error().code, Code::kInvalidRequest) << c.named;
        EXPECT_NE(status.error().message.find(c.named), std::string::npos)
            << status.error().message;
    }
}

}  // namespace
}  // namespace sluice::test
