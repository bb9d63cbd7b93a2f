// The HTTP client against real programs: proxies, TLS and HTTP/2. Each test needs its program,
// which scripts/setup installs; without it the test is skipped and says so.
#include "http_client_fixture.h"
#include "support/child_process.h"
#include "support/temp_dir.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdlib.h>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {
namespace {

using test::ChildProcess;
using test::Scripted;

void write_file(const std::string& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
}

std::string loopback(std::string_view scheme, std::uint16_t port) {
    return std::string(scheme) + "://127.0.0.1:" + std::to_string(port);
}

// A URL that a proxy can't reach either.
std::string nowhere() {
    return loopback("http", test::free_port()) + "/";
}

// Environment variables for the length of a test.
class ScopedEnvironment {
 public:
    explicit ScopedEnvironment(std::map<std::string, std::string> variables)
        : variables_(std::move(variables)) {
        for (const auto& [name, value] : variables_) {
            ::setenv(name.c_str(), value.c_str(), 1);
        }
    }
    ~ScopedEnvironment() {
        for (const auto& [name, value] : variables_) {
            ::unsetenv(name.c_str());
        }
    }
    ScopedEnvironment(const ScopedEnvironment&) = delete;
    ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
    std::map<std::string, std::string> variables_;
};

class HttpClientNetworkTest : public HttpClientFixture {
 protected:
    // Sets `program_`, or skips the test.
    bool find(std::string_view program) {
        program_ = test::find_program(program);
        return !program_.empty();
    }

    Result<ClientResponse> get_through(const std::string& proxy, const std::string& url,
                                       Millis within = 10s) {
        ClientRequest what = request(url, within);
        what.proxy = Secret(proxy);
        return send(std::move(what));
    }

    void expect_error(const Result<ClientResponse>& result, Blame blame, std::string_view what) {
        ASSERT_FALSE(result.ok()) << what;
        EXPECT_EQ(result.error().code, Code::kUnavailable) << what;
        EXPECT_EQ(result.error().blame, blame) << what << ": " << result.error().message;
    }

    std::string program_;
    test::TempDir folder_;
};

// Guards an HTTP proxy: plain requests pass through it, pooled apart from direct ones.
TEST_F(HttpClientNetworkTest, GoesThroughAnHttpProxy) {
    if (!find("tinyproxy")) {
        FAIL() << "tinyproxy is not installed; scripts/setup test installs what the tests need";
    }
    const std::uint16_t port = test::free_port();
    const std::string config = folder_.file("tinyproxy.conf");
    write_file(config,
               "Port " + std::to_string(port) + "\nListen 127.0.0.1\nMaxClients 10\nTimeout 30\n");
    const ChildProcess proxy({program_, "-d", "-c", config});
    ASSERT_TRUE(proxy.wait_for_port(port));
    upstream_.on("/", Scripted::json("{\"ok\":true}"));

    const auto through = get_through(loopback("http", port), upstream_.url());
    ASSERT_TRUE(through.ok()) << through.error().message;
    EXPECT_EQ(through->body, "{\"ok\":true}");
    EXPECT_FALSE(upstream_.requests().front().header("Via").empty());
    const auto direct = get(upstream_.url());
    ASSERT_TRUE(direct.ok());
    EXPECT_FALSE(direct->reused_connection);
    EXPECT_TRUE(upstream_.requests().back().header("Via").empty());
    // What a proxy says about a plain request can't be told from the upstream's own words.
    EXPECT_GE(get_through(loopback("http", port), nowhere())->status, 500);
    // A tunnel that the proxy does not open is the proxy's fault only when it says so.
    const std::string tls_nowhere = loopback("https", test::free_port()) + "/";
    ASSERT_FALSE(get_through(loopback("http", port), tls_nowhere).ok());
}

// Guards a SOCKS5 proxy, and who is to blame when a connection through it fails.
TEST_F(HttpClientNetworkTest, GoesThroughASocksProxy) {
    if (!find("microsocks")) {
        FAIL() << "microsocks is not installed; scripts/setup test installs what the tests need";
    }
    const std::uint16_t port = test::free_port();
    const ChildProcess proxy({program_, "-i", "127.0.0.1", "-p", std::to_string(port)});
    ASSERT_TRUE(proxy.wait_for_port(port));
    upstream_.on("/", Scripted::json("{\"ok\":true}"));
    for (const std::string scheme : {"socks5", "socks5h"}) {
        const auto through = get_through(loopback(scheme, port), upstream_.url());
        ASSERT_TRUE(through.ok()) << through.error().message;
        EXPECT_EQ(through->body, "{\"ok\":true}");
        EXPECT_FALSE(through->reused_connection);
        EXPECT_TRUE(get_through(loopback(scheme, port), upstream_.url())->reused_connection);
        expect_error(get_through(loopback(scheme, port), nowhere()), Blame::kProvider,
                     "the proxy reaches nobody");
    }
    expect_error(get_through(loopback("socks5", port), "http://no-such-host.invalid/"),
                 Blame::kProvider, "no such upstream");
}

// Guards the blame for proxies that do not work: it is ours to repair, no provider failed.
TEST_F(HttpClientNetworkTest, BlamesTheGatewayForABrokenProxy) {
    upstream_.on("/", Scripted::json("{}"));
    HttpClientConfig config;
    config.connect_timeout = 200ms;
    make_client(std::move(config));
    const std::uint16_t dead = test::free_port();
    for (const std::string scheme : {"http", "socks5", "socks5h"}) {
        expect_error(get_through(loopback(scheme, dead), upstream_.url()), Blame::kGateway,
                     scheme + " that nobody runs");
        expect_error(get_through(scheme + "://no-such-proxy.invalid:1080", upstream_.url()),
                     Blame::kGateway, scheme + " without an address");
    }
    // An HTTP server is no SOCKS proxy.
    expect_error(get_through(loopback("socks5", upstream_.port()), upstream_.url()),
                 Blame::kGateway, "not SOCKS");
    // A proxy that does not let us open a tunnel.
    test::ScriptedUpstream proxy;
    for (const int status : {403, 407, 503}) {
        proxy.set_responder(
            [status](const test::RecordedRequest&) { return Scripted::with_status(status); });
        const auto refused = get_through(proxy.url(""), "https://127.0.0.1:1/");
        expect_error(refused, Blame::kGateway, "CONNECT refused with " + std::to_string(status));
        EXPECT_EQ(refused.error().message,
                  "the proxy answered " + std::to_string(status) + " to CONNECT" +
                      (status == 407 ? ": check its user and password" : ""));
    }
    for (const int status : {502, 504}) {
        proxy.set_responder(
            [status](const test::RecordedRequest&) { return Scripted::with_status(status); });
        const auto refused = get_through(proxy.url(""), "https://127.0.0.1:1/");
        expect_error(refused, Blame::kProvider, "CONNECT answered with " + std::to_string(status));
        EXPECT_EQ(refused.error().message,
                  "the proxy answered " + std::to_string(status) + " to CONNECT");
    }
    // One that goes without a word, and one behind which it is the upstream that says nothing.
    const std::pair<Scripted, Blame> ends[] = {
        {Scripted::doing(Scripted::Act::kClose), Blame::kGateway},
        {Scripted::doing(Scripted::Act::kStall), Blame::kGateway},
        {Scripted::raw("HTTP/1.1 200 OK\r\n\r\n"), Blame::kProvider},
        {Scripted::with_status(200), Blame::kProvider},
    };
    for (const auto& [script, blame] : ends) {
        proxy.set_responder([answer = script](const test::RecordedRequest&) { return answer; });
        expect_error(get_through(proxy.url(""), "https://127.0.0.1:1/"), blame,
                     "CONNECT ends by act " + std::to_string(static_cast<int>(script.act)));
    }
    // An https proxy that does not speak TLS, that closes, that says nothing.
    const std::string not_tls = loopback("https", proxy.port());
    for (const std::string& url : {upstream_.url(), std::string("https://127.0.0.1:1/")}) {
        expect_error(get_through(not_tls, url), Blame::kGateway, "no TLS, " + url);
        proxy.close_on_accept(1);
        expect_error(get_through(not_tls, url), Blame::kGateway, "closed, " + url);
    }
    EXPECT_EQ(upstream_.request_count(), 0U);
}

// Guards the blame at the deadline: a proxy that had not connected us by then is ours to repair,
// and an upstream that says nothing on a connection that the proxy did make is the provider's.
TEST_F(HttpClientNetworkTest, BlamesWhoeverIsSilentAtTheDeadline) {
    test::ScriptedUpstream silent;
    silent.set_responder(
        [](const test::RecordedRequest&) { return Scripted::doing(Scripted::Act::kStall); });
    for (const std::string scheme : {"socks5h", "http"}) {
        expect_error(get_through(loopback(scheme, silent.port()), "https://127.0.0.1:1/", 200ms),
                     Blame::kGateway, scheme + " that says nothing");
    }
    if (!find("microsocks")) {
        FAIL() << "microsocks is not installed; scripts/setup test installs what the tests need";
    }
    const std::uint16_t port = test::free_port();
    const ChildProcess proxy({program_, "-i", "127.0.0.1", "-p", std::to_string(port)});
    ASSERT_TRUE(proxy.wait_for_port(port));
    const std::string socks = loopback("socks5h", port);
    HttpClientConfig config;
    config.max_connections_per_host = 1;
    make_client(std::move(config));
    upstream_.on("/", Scripted::json("{}"));
    upstream_.on("/stall", Scripted::doing(Scripted::Act::kStall));
    const auto expect_timeout = [&](const Result<ClientResponse>& result, std::string_view what) {
        ASSERT_FALSE(result.ok()) << what;
        EXPECT_EQ(result.error().code, Code::kTimeout) << what << ": " << result.error().message;
        EXPECT_EQ(result.error().blame, Blame::kProvider) << what;
    };
    expect_timeout(get_through(socks, upstream_.url("/stall"), 200ms), "a new connection");
    ASSERT_TRUE(get_through(socks, upstream_.url()).ok());
    expect_timeout(get_through(socks, upstream_.url("/stall"), 200ms), "a connection of before");
    upstream_.clear_requests();
    // The second one waits for the only connection.
    std::optional<Result<ClientResponse>> results[2];
    for (const std::size_t i : {0U, 1U}) {
        ClientRequest what = request(upstream_.url("/stall"), i == 0 ? 400ms : 200ms);
        what.proxy = Secret(socks);
        start(std::move(what), results[i]);
    }
    io_.restart();
    io_.run();
    expect_timeout(*results[0], "the only connection");
    expect_timeout(*results[1], "waiting for it");
    EXPECT_EQ(upstream_.requests().size(), 1U);
}

// Guards that egress is what the configuration says: the process's environment has no say, neither
// in using a proxy nor in going around one.
TEST_F(HttpClientNetworkTest, IgnoresProxiesOfTheEnvironment) {
    const std::string dead = nowhere();
    const ScopedEnvironment variables({{"http_proxy", dead},
                                       {"HTTP_PROXY", dead},
                                       {"https_proxy", dead},
                                       {"ALL_PROXY", dead},
                                       {"all_proxy", dead},
                                       {"no_proxy", "*"},
                                       {"NO_PROXY", "*"}});
    upstream_.on("/", Scripted::json("{}"));
    EXPECT_TRUE(get(upstream_.url()).ok());
    EXPECT_FALSE(get_through(dead, upstream_.url()).ok());
    EXPECT_EQ(upstream_.request_count(), 1U);
}

class HttpClientTlsTest : public HttpClientNetworkTest {
 protected:
    // nginx on a port of its own with a certificate that it signed itself. `protocol`: "http2", or
    // nothing for HTTP/1.1.
    bool start_nginx(std::string_view protocol = "http2") {
        const std::string openssl = test::find_program("openssl");
        if (openssl.empty() || !find("nginx")) {
            return false;
        }
        certificate_ = folder_.file("cert.pem");
        ChildProcess make({openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt",
                           "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                           "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                           folder_.file("key.pem"), "-out", certificate_});
        EXPECT_EQ(make.wait(), 0);
        port_ = test::free_port();
        write_file(folder_.file("nginx.conf"), nginx_config(protocol));
        nginx_.emplace(std::vector<std::string>{program_, "-p", folder_.path().string(), "-c",
                                                folder_.file("nginx.conf")});
        EXPECT_TRUE(nginx_->wait_for_port(port_));
        return true;
    }

    std::string nginx_config(std::string_view protocol) const {
        const std::string listen = std::to_string(port_) + " ssl " + std::string(protocol);
        return R"(daemon off;
master_process off;
pid nginx.pid;
error_log /dev/null;
events {}
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  server {
    ssl_protocols TLSv1.3;
    ssl_certificate cert.pem;
    ssl_certificate_key key.pem;
    location / { return 200 "$server_protocol $connection $ssl_session_reused"; }
    location /last { keepalive_timeout 0; return 200 ""; }
    location /behind { proxy_pass )" +
               upstream_.url("") + ";}\n    listen 127.0.0.1:" + listen + ";\n  }\n}\n";
    }

    std::string url() const { return loopback("https", port_) + "/"; }

    void trust_certificate() {
        HttpClientConfig config;
        config.ca_file = certificate_;
        make_client(std::move(config));
    }

    std::uint16_t port_ = 0;
    std::string certificate_;
    std::optional<ChildProcess> nginx_;
};

// Guards that a TLS upstream which offers HTTP/2 gets it, on one connection for requests at once.
TEST_F(HttpClientTlsTest, SpeaksHttp2) {
    if (!start_nginx()) {
        FAIL()
            << "nginx or openssl is not installed; scripts/setup test installs what the tests need";
    }
    trust_certificate();
    const auto first = get(url());
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_TRUE(first->body.starts_with("HTTP/2.0 ")) << first->body;
    EXPECT_EQ(first->status, 200);
    EXPECT_FALSE(first->header("content-length").empty());
    std::optional<Result<ClientResponse>> results[20];
    for (auto& result : results) {
        start(request(url()), result);
    }
    io_.restart();
    io_.run();
    for (const auto& result : results) {
        ASSERT_TRUE(result.has_value() && result->ok());
        EXPECT_EQ((*result)->body, first->body);
        EXPECT_TRUE((*result)->reused_connection);
    }
}

// Guards that giving up one of several requests costs an HTTP/2 connection nothing but the stream,
// and that the connection then idles without keeping the loop busy.
TEST_F(HttpClientTlsTest, GivesUpOneStreamOfAConnection) {
    if (!start_nginx()) {
        FAIL()
            << "nginx or openssl is not installed; scripts/setup test installs what the tests need";
    }
    trust_certificate();
    upstream_.on("/behind", Scripted::doing(Scripted::Act::kStall));
    ASSERT_TRUE(get(url()).ok());
    const Instant started = clock_.now();
    const auto stalled = get(url() + "behind", 100ms);  // returns when the loop has nothing to do
    EXPECT_LT(clock_.now() - started, 5s);
    ASSERT_FALSE(stalled.ok());
    EXPECT_EQ(stalled.error().code, Code::kTimeout);
    EXPECT_EQ(upstream_.request_count(), 1U);
    const auto next = get(url());
    ASSERT_TRUE(next.ok());
    EXPECT_TRUE(next->reused_connection);
}

// Guards that a new connection to a known host takes up the TLS session of the last one.
TEST_F(HttpClientTlsTest, ResumesTlsSessions) {
    if (!start_nginx("")) {
        FAIL()
            << "nginx or openssl is not installed; scripts/setup test installs what the tests need";
    }
    trust_certificate();
    ASSERT_TRUE(get(url() + "last").ok());
    const auto again = get(url());
    ASSERT_TRUE(again.ok());
    EXPECT_FALSE(again->reused_connection);
    EXPECT_TRUE(again->body.ends_with(" r")) << again->body;  // nginx's word for a resumed session
}

// Guards that nobody can stand in for an upstream: a certificate that nobody vouches for is
// refused.
TEST_F(HttpClientTlsTest, RefusesAnUnknownCertificate) {
    if (!start_nginx()) {
        FAIL()
            << "nginx or openssl is not installed; scripts/setup test installs what the tests need";
    }
    expect_error(get(url()), Blame::kProvider, "self-signed");
    trust_certificate();
    const std::string other_name = "https://localhost:" + std::to_string(port_) + "/";
    expect_error(get(other_name), Blame::kProvider, "another name");
    HttpClientConfig impatient;
    impatient.connect_timeout = 200ms;
    make_client(std::move(impatient));
    expect_error(get(loopback("https", upstream_.port()) + "/"), Blame::kProvider, "not TLS");
}

// Guards that an https proxy whose own certificate is not good is ours to repair: no provider was
// asked anything.
TEST_F(HttpClientTlsTest, BlamesTheGatewayForAnHttpsProxyWithABadCertificate) {
    if (!start_nginx("")) {
        FAIL()
            << "nginx or openssl is not installed; scripts/setup test installs what the tests need";
    }
    const std::string other_name = "https://localhost:" + std::to_string(port_);
    for (const std::string& target : {upstream_.url(), std::string("https://127.0.0.1:1/")}) {
        make_client({});
        expect_error(get_through(loopback("https", port_), target), Blame::kGateway,
                     "self-signed, " + target);
        trust_certificate();
        expect_error(get_through(other_name, target), Blame::kGateway, "another name, " + target);
    }
    EXPECT_EQ(upstream_.request_count(), 0U);
}

}  // namespace
}  // namespace sluice::io
