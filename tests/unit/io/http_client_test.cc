#include "io/http_client.h"

#include "base/config_reader.h"
#include "http_client_fixture.h"
#include "io/http_client_metrics.h"

#include <boost/asio/bind_cancellation_slot.hpp>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace sluice::io {
namespace {

using test::HeaderList;
using test::Scripted;
using Act = Scripted::Act;

constexpr std::size_t kMiB = 1024 * 1024;

class HttpClientTest : public HttpClientFixture {};

Scripted cut(std::size_t bytes) {
    Scripted script = Scripted::json(std::string(1000, 'x'));
    script.cut_after = bytes;
    return script;
}

Scripted declaring(std::uint64_t length, std::string body) {
    Scripted script = Scripted::json(std::move(body));
    script.content_length = length;
    script.close = true;
    return script;
}

Scripted with_headers(HeaderList headers, std::string body = "{}") {
    Scripted script;
    script.headers = std::move(headers);
    script.body = std::move(body);
    return script;
}

struct FailureCase {
    std::string_view name;
    Scripted script;
    Code code;
};

// Guards that no misbehaviour of an upstream looks like an answer, hangs, or is blamed on us.
TEST_F(HttpClientTest, TurnsEveryMisbehaviourIntoAnError) {
    HeaderList many_headers;
    for (int i = 0; i < 300; ++i) {
        many_headers.emplace_back("X-H" + std::to_string(i), "v");
    }
    const FailureCase cases[] = {
        {"closes without an answer", Scripted::doing(Act::kClose), Code::kUpstreamFailed},
        {"resets", Scripted::doing(Act::kReset), Code::kUpstreamFailed},
        {"talks nonsense", Scripted::raw("SSH-2.0-OpenSSH_9.2\r\n"), Code::kUpstreamFailed},
        {"sends only a body", Scripted::raw("{\"organic\":[]}"), Code::kUpstreamFailed},
        {"has a broken status line", Scripted::raw("HTTP/1.1 OK\r\n\r\n"), Code::kUpstreamFailed},
        {"has a broken length", Scripted::raw("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nxx"),
         Code::kUpstreamFailed},
        {"has a broken chunk",
         Scripted::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nxx\r\n"),
         Code::kUpstreamFailed},
        {"is cut off in the status line", cut(8), Code::kUpstreamFailed},
        {"is cut off in the body", cut(500), Code::kUpstreamFailed},
        {"declares more than it sends", declaring(100, "short"), Code::kUpstreamFailed},
        {"ends before the last chunk",
         Scripted::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
         Code::kUpstreamFailed},
        {"has a broken gzip body",
         with_headers({{"Content-Encoding", "gzip"}}, "this is not gzip at all"),
         Code::kUpstreamFailed},
        {"has an unknown encoding", with_headers({{"Content-Encoding", "rot13"}}, "grkg"),
         Code::kUpstreamFailed},
        {"is a gzip bomb", Scripted::gzip_bomb(64 * kMiB), Code::kPayloadTooLarge},
        {"never ends", Scripted::doing(Act::kEndless), Code::kPayloadTooLarge},
        {"declares a gigabyte", declaring(1024 * kMiB, "x"), Code::kPayloadTooLarge},
        {"has a large header", with_headers({{"X-Large", std::string(70'000, 'h')}}),
         Code::kPayloadTooLarge},
        {"has a header without end", with_headers({{"X-Large", std::string(300'000, 'h')}}),
         Code::kPayloadTooLarge},
        {"has many headers", with_headers(many_headers), Code::kPayloadTooLarge},
    };
    for (const FailureCase& c : cases) {
        SCOPED_TRACE(c.name);
        upstream_.on("/", c.script);
        const auto result = get(upstream_.url("/?q=private+words"));
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().code, c.code) << result.error().message;
        EXPECT_EQ(result.error().blame, Blame::kProvider);
        EXPECT_FALSE(result.error().message.empty());
        EXPECT_EQ(result.error().message.find("private"), std::string::npos);
        EXPECT_EQ(client_->transfers_under_way(), 0U);
    }
    EXPECT_FALSE(sink_.contains("private"));
    EXPECT_EQ(errors(Code::kPayloadTooLarge), 6);
    EXPECT_EQ(counted("sluice_upstream_transfers"), 0);
}

// Guards that nothing is connected at all: nobody listens, or the name does not exist.
TEST_F(HttpClientTest, ReportsWhatCannotBeReached) {
    std::string nobody;
    {
        const test::ScriptedUpstream gone;
        nobody = gone.url();
    }
    for (const std::string& url : {nobody, std::string("http://no-such-host.invalid/")}) {
        const auto result = get(url);
        ASSERT_FALSE(result.ok()) << url;
        EXPECT_EQ(result.error().code, Code::kUnavailable) << url;
        EXPECT_EQ(result.error().blame, Blame::kProvider) << url;
    }
}

struct AnswerCase {
    std::string_view name;
    Scripted script;
    int status;
    std::string_view body;
};

// Guards that every complete answer gets through as it is, whatever its status and its framing.
TEST_F(HttpClientTest, PassesEveryCompleteAnswer) {
    Scripted chunked = Scripted::json("a body in many chunks");
    chunked.chunk_bytes = 3;
    Scripted slow = Scripted::json("drop by drop");
    slow.piece_bytes = 16;
    slow.piece_interval = 1ms;
    Scripted limited = Scripted::with_status(429, "{\"message\":\"slow down\"}");
    limited.headers.emplace_back("Retry-After", "7");
    Scripted redirect = Scripted::with_status(302, "");
    redirect.headers.emplace_back("Location", upstream_.url("/elsewhere"));
    const AnswerCase cases[] = {
        {"json", Scripted::json("{\"a\":1}"), 200, "{\"a\":1}"},
        {"empty", Scripted::json(""), 200, ""},
        {"server error", Scripted::with_status(503, "oops"), 503, "oops"},
        {"rate limit", limited, 429, "{\"message\":\"slow down\"}"},
        {"redirect", redirect, 302, ""},
        {"chunked", chunked, 200, "a body in many chunks"},
        {"slow", slow, 200, "drop by drop"},
        {"gzip", with_headers({{"Content-Encoding", "gzip"}}, test::gzip("squeezed")), 200,
         "squeezed"},
        {"until closed", Scripted::raw("HTTP/1.1 200 OK\r\n\r\nno length"), 200, "no length"},
        {"http/1.0", Scripted::raw("HTTP/1.0 404 Nope\r\n\r\nold"), 404, "old"},
        {"interim answer",
         Scripted::raw("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
         200, "ok"},
        {"trailers",
         Scripted::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "2\r\nok\r\n0\r\nX-Trailer: late\r\n\r\n"),
         200, "ok"},
        {"more than declared", declaring(4, "okayxxxx"), 200, "okay"},
        {"just fits", Scripted::json(std::string(100, 'f')), 200, std::string_view()},
    };
    for (const AnswerCase& c : cases) {
        SCOPED_TRACE(c.name);
        // A connection that the one before is about to close is used up here.
        (void)get(upstream_.url("/settle"));
        upstream_.on("/", c.script);
        ClientRequest what = request(upstream_.url());
        what.max_response_bytes = 100;
        const std::size_t before = upstream_.request_count();
        const auto result = send(what);
        EXPECT_EQ(upstream_.request_count(), before + 1) << "a redirect is not followed";
        ASSERT_TRUE(result.ok()) << result.error().message;
        EXPECT_EQ(result->status, c.status);
        EXPECT_EQ(result->body, c.name == "just fits" ? std::string(100, 'f') : c.body);
        EXPECT_EQ(result->header("link"), "");
        EXPECT_EQ(result->header("x-trailer"), "");
        EXPECT_EQ(result->header("retry-after"), c.name == "rate limit" ? "7" : "");
    }
}

// Guards the order and the spelling of response headers, and that the first of a name is found.
TEST_F(HttpClientTest, KeepsResponseHeadersInOrder) {
    upstream_.on("/", with_headers({{"X-Two", " b "}, {"x-one", "a:b"}, {"X-TWO", "c"}}));
    const auto result = get(upstream_.url());
    ASSERT_TRUE(result.ok());
    const HeaderList expected = {
        {"x-two", "b"}, {"x-one", "a:b"}, {"x-two", "c"}, {"content-length", "2"}};
    EXPECT_EQ(result->headers, expected);
    EXPECT_EQ(result->header("x-two"), "b");
}

struct MethodCase {
    Method method;
    std::string_view body;
    std::string_view sent;
};

// Guards how a request is put on the wire: method, body and headers, nothing added that was not
// asked for, and nothing left over from the request that used the handle before.
TEST_F(HttpClientTest, SendsWhatWasAsked) {
    const std::string large(2 * kMiB, 'b');
    const MethodCase cases[] = {
        {Method::kPost, "{\"q\":1}", "POST"}, {Method::kGet, "", "GET"},
        {Method::kHead, "", "HEAD"},          {Method::kGet, "with a body", "GET"},
        {Method::kPost, "", "POST"},          {Method::kPut, "put", "PUT"},
        {Method::kPatch, "patch", "PATCH"},   {Method::kDelete, "", "DELETE"},
        {Method::kDelete, "gone", "DELETE"},  {Method::kOptions, "", "OPTIONS"},
        {Method::kPost, large, "POST"},       {Method::kGet, "", "GET"},
    };
    upstream_.on("/path", Scripted::json("{}"));
    for (const MethodCase& c : cases) {
        SCOPED_TRACE(c.sent);
        upstream_.clear_requests();
        ClientRequest what = request(upstream_.url("/path?q=a%20b"));
        what.method = c.method;
        what.body = c.body;
        what.headers = {{"X-Plain", "visible"}, {"X-Empty", ""}};
        what.secret_headers = {{"X-API-KEY", Secret("sesame-0123456789")}};
        const auto result = send(what);
        ASSERT_TRUE(result.ok()) << result.error().message;
        EXPECT_EQ(result->body, c.method == Method::kHead ? "" : "{}");

        ASSERT_EQ(upstream_.requests().size(), 1U);
        const auto seen = upstream_.requests().front();
        EXPECT_EQ(seen.method, c.sent);
        EXPECT_EQ(seen.target, "/path?q=a%20b");
        EXPECT_TRUE(seen.body == c.body) << seen.body.size() << " bytes";
        std::set<std::string> names;
        for (const auto& [name, value] : seen.headers) {
            names.insert(name);
        }
        std::set<std::string> expected = {"Host",    "User-Agent", "Accept",   "Accept-Encoding",
                                          "X-Plain", "X-Empty",    "X-API-KEY"};
        if (names.contains("Content-Length")) {
            expected.insert("Content-Length");
            EXPECT_EQ(seen.header("content-length"), std::to_string(c.body.size()));
        }
        EXPECT_EQ(names, expected);
        EXPECT_EQ(seen.header("x-plain"), "visible");
        EXPECT_EQ(seen.header("x-api-key"), "sesame-0123456789");
        EXPECT_EQ(seen.header("user-agent"), "sluice");
        for (const std::string_view encoding : {"gzip", "br", "zstd", "deflate"}) {
            EXPECT_NE(seen.header("accept-encoding").find(encoding), std::string_view::npos);
        }
    }
    EXPECT_FALSE(sink_.contains("sesame"));
    EXPECT_EQ(metrics_.expose().find("sesame"), std::string::npos);
}

// Guards against requests that would reach another place than asked, or smuggle in a second one.
TEST_F(HttpClientTest, RefusesWhatMustNotGoOnTheWire) {
    upstream_.on("/", Scripted::json("{}"));
    std::vector<ClientRequest> bad(11, request(upstream_.url()));
    bad[0].url = "file:///etc/passwd";
    bad[1].url = "ftp://127.0.0.1/";
    bad[2].url = "127.0.0.1:" + std::to_string(upstream_.port());
    bad[3].url = "http://";
    bad[4].url = upstream_.url("/ with blanks\r\nX: y");
    bad[5].url = upstream_.url("/" + std::string(70'000, 'u'));
    bad[6].headers = {{"X-A", "b\r\nX-Injected: c"}};
    bad[7].headers = {{"X-A: b\r\nX-Injected", "c"}};
    bad[8].secret_headers = {{"X-Key", Secret("line\nbreak")}};
    bad[9].proxy = Secret("ftp://127.0.0.1:1");
    bad[10].method = Method::kOther;
    for (std::size_t i = 0; i < bad.size(); ++i) {
        const auto result = send(bad[i]);
        ASSERT_FALSE(result.ok()) << i;
        EXPECT_EQ(result.error().code, Code::kInvalidRequest) << i << result.error().message;
        EXPECT_EQ(result.error().blame, Blame::kGateway) << i;
        EXPECT_EQ(result.error().message.find("passwd"), std::string::npos);
        EXPECT_EQ(result.error().message.find("break"), std::string::npos);
    }
    EXPECT_EQ(upstream_.request_count(), 0U);
    EXPECT_EQ(client_->transfers_under_way(), 0U);
}

// Secret parameters reach the upstream, encoded, behind those of the URL; what is said of a
// failure does not know them.
TEST_F(HttpClientTest, SecretParameters) {
    ClientRequest what = request(upstream_.url("/path"));
    what.secret_query = {{"key", Secret("se same&x=1")}, {"other", Secret("2")}};
    ASSERT_TRUE(send(what).ok());
    EXPECT_EQ(upstream_.requests().back().target, "/path?key=se%20same%26x%3D1&other=2");
    what.url = upstream_.url("/path?q=1");
    ASSERT_TRUE(send(what).ok());
    EXPECT_EQ(upstream_.requests().back().target, "/path?q=1&key=se%20same%26x%3D1&other=2");
    // The next one on the same handle has none of it.
    ASSERT_TRUE(send(request(upstream_.url("/path"))).ok());
    EXPECT_EQ(upstream_.requests().back().target, "/path");

    what.secret_query = {{"key", Secret(std::string(70'000, 's'))}};
    const auto too_long = send(what);
    ASSERT_FALSE(too_long.ok());
    EXPECT_EQ(too_long.error().code, Code::kInvalidRequest);
    EXPECT_EQ(too_long.error().message.find("sss"), std::string::npos);
}

// Guards the deadline: not before it, soon after it, and nothing is left behind.
TEST_F(HttpClientTest, EndsAtTheDeadline) {
    Scripted slow_body = Scripted::json(std::string(1000, 's'));
    slow_body.piece_bytes = 100;
    slow_body.piece_interval = 50ms;
    upstream_.on("/stall", Scripted::doing(Act::kStall));
    upstream_.on("/slow", slow_body);
    for (const std::string path : {"/stall", "/slow"}) {
        SCOPED_TRACE(path);
        const Instant started = clock_.now();
        const auto result = get(upstream_.url(path), 80ms);
        const auto took = clock_.now() - started;
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().code, Code::kTimeout);
        EXPECT_EQ(result.error().blame, Blame::kProvider);
        EXPECT_GE(took, 80ms);
        EXPECT_LT(took, 1s);
        EXPECT_EQ(client_->transfers_under_way(), 0U);
    }
    run_until([this] { return upstream_.connections_open() == 0; });
    EXPECT_EQ(errors(Code::kTimeout), 2);
}

// Guards that a request that can't be answered in time is not sent at all.
TEST_F(HttpClientTest, RefusesAtOnceAfterTheDeadline) {
    upstream_.on("/", Scripted::json("{}"));
    ClientRequest late = request(upstream_.url());
    late.deadline = clock_.now();
    ClientRequest without;
    without.url = upstream_.url();
    for (const ClientRequest& what : {late, without}) {
        const auto result = send(what);
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().code, Code::kTimeout);
        EXPECT_EQ(result.error().blame, Blame::kGateway);
    }
    EXPECT_EQ(upstream_.connections_accepted(), 0U);
}

// Guards that the deadline holds while a transfer only waits for a connection, and that the bound
// on connections is kept.
TEST_F(HttpClientTest, EndsAtTheDeadlineWhileWaitingForAConnection) {
    HttpClientConfig config;
    config.max_connections_per_host = 1;
    make_client(config);
    upstream_.on("/stall", Scripted::doing(Act::kStall));
    upstream_.on("/quick", Scripted::json("{}"));
    std::optional<Result<ClientResponse>> holder;
    std::optional<Result<ClientResponse>> waiter;
    std::optional<Result<ClientResponse>> patient;
    start(request(upstream_.url("/stall"), 200ms), holder);
    start(request(upstream_.url("/quick"), 50ms), waiter);
    start(request(upstream_.url("/quick"), 5s), patient);
    run_until([&] { return waiter.has_value(); });
    EXPECT_EQ((*waiter).error().code, Code::kTimeout);
    EXPECT_FALSE(holder.has_value());
    run_until([&] { return patient.has_value(); });
    EXPECT_TRUE(patient->ok());
    EXPECT_EQ(holder->error().code, Code::kTimeout);
    EXPECT_EQ(upstream_.connections_accepted(), 2U);
}

// Guards the shorter limit on connecting: an address that swallows packets must not cost the
// deadline.
TEST_F(HttpClientTest, GivesUpConnectingEarly) {
    HttpClientConfig config;
    config.connect_timeout = 60ms;
    make_client(config);
    // A listener whose queue is full drops further connections, as a filtered address does.
    boost::asio::ip::tcp::acceptor full(io_);
    full.open(boost::asio::ip::tcp::v4());
    full.bind({boost::asio::ip::address_v4::loopback(), 0});
    full.listen(0);
    std::vector<boost::asio::ip::tcp::socket> queue;
    for (int i = 0; i < 4; ++i) {
        queue.emplace_back(io_);
        queue.back().open(boost::asio::ip::tcp::v4());
        queue.back().non_blocking(true);
        // Not Asio's connect(), which waits.
        const auto endpoint = full.local_endpoint();
        const int started = ::connect(queue.back().native_handle(), endpoint.data(),
                                      static_cast<socklen_t>(endpoint.size()));
        ASSERT_TRUE(started == 0 || errno == EINPROGRESS);
    }
    const Instant started = clock_.now();
    const auto result =
        get("http://127.0.0.1:" + std::to_string(full.local_endpoint().port()) + "/");
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::kUnavailable) << result.error().message;
    EXPECT_LT(clock_.now() - started, 2s);
}

// Guards that a client that leaves costs nothing further: the transfer and its connection go at
// once.
TEST_F(HttpClientTest, FreesACancelledTransferAtOnce) {
    upstream_.on("/stall", Scripted::doing(Act::kStall));
    boost::asio::cancellation_signal signal;
    std::optional<Result<ClientResponse>> result;
    boost::asio::co_spawn(
        io_, store_result(client_->send(request(upstream_.url("/stall"))), result),
        boost::asio::bind_cancellation_slot(signal.slot(), [](std::exception_ptr) {}));
    run_until([this] { return upstream_.request_count() == 1; });
    ASSERT_EQ(client_->transfers_under_way(), 1U);

    signal.emit(boost::asio::cancellation_type::terminal);
    io_.restart();
    io_.run();  // ends, since nothing is left to wait for
    EXPECT_EQ(client_->transfers_under_way(), 0U);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->error().code, Code::kCancelled);
    run_until([this] { return upstream_.connections_open() == 0; });
    // A second cancellation finds nothing.
    signal.emit(boost::asio::cancellation_type::terminal);
    EXPECT_EQ(errors(Code::kCancelled), 1);
}

// Guards everybody's descriptors: libcurl tells nobody when it closes a connection that is still
// being made, so its number may be somebody else's at once, and must not be closed again.
TEST_F(HttpClientTest, LeavesDescriptorsAloneThatFollowAConnectionGivenUp) {
    upstream_.on("/", Scripted::json("{}"));
    boost::asio::cancellation_signal signal;
    std::optional<Result<ClientResponse>> result;
    boost::asio::co_spawn(
        io_, store_result(client_->send(request(upstream_.url())), result),
        boost::asio::bind_cancellation_slot(signal.slot(), [](std::exception_ptr) {}));
    while (client_->transfers_under_way() == 0) {
        ASSERT_EQ(io_.run_one(), 1U);
    }
    signal.emit(boost::asio::cancellation_type::terminal);

    std::vector<int> ours;
    for (int i = 0; i < 8; ++i) {
        ours.push_back(::dup(STDERR_FILENO));
    }
    io_.restart();
    io_.run();  // ends, since nothing is left to wait for
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->error().code, Code::kCancelled);
    EXPECT_TRUE(get(upstream_.url()).ok());
    client_.reset();
    for (const int descriptor : ours) {
        EXPECT_EQ(::close(descriptor), 0) << "somebody else closed " << descriptor;
    }
}

// Guards shutdown: whoever waits is told, and no handler runs into freed memory.
TEST_F(HttpClientTest, CancelsWhatIsUnderWayWhenDestroyed) {
    upstream_.on("/stall", Scripted::doing(Act::kStall));
    std::optional<Result<ClientResponse>> results[3];
    for (auto& result : results) {
        start(request(upstream_.url("/stall")), result);
    }
    std::optional<Result<ClientResponse>> resolving;
    start(request("http://no-such-host.invalid/"), resolving);
    run_until([this] { return upstream_.request_count() == 3; });
    client_.reset();
    io_.restart();
    io_.run();
    for (const auto& result : results) {
        ASSERT_TRUE(result.has_value());
        EXPECT_EQ((*result).error().code, Code::kCancelled);
    }
    EXPECT_TRUE(resolving.has_value());
}

// Guards the pool: a connection is used again, and the answer and the metrics say so.
TEST_F(HttpClientTest, ReusesConnections) {
    upstream_.on("/", Scripted::json("{}"));
    Scripted last = Scripted::json("{}");
    last.close = true;
    upstream_.on("/last", last);
    const auto first = get(upstream_.url());
    const auto second = get(upstream_.url());
    const auto third = get(upstream_.url("/last"));
    const auto fourth = get(upstream_.url());
    ASSERT_TRUE(first.ok() && second.ok() && third.ok() && fourth.ok());
    EXPECT_FALSE(first->reused_connection);
    EXPECT_TRUE(second->reused_connection);
    EXPECT_TRUE(third->reused_connection);
    EXPECT_FALSE(fourth->reused_connection);
    EXPECT_EQ(upstream_.connections_accepted(), 2U);
    EXPECT_EQ(counted("sluice_upstream_connections_total{reused=\"true\"}"), 2);
    EXPECT_EQ(counted("sluice_upstream_connections_total{reused=\"false\"}"), 2);
}

// Guards against a pooled connection that the upstream closed while it idled: the request goes out
// on a fresh one instead of failing.
TEST_F(HttpClientTest, RecoversFromAConnectionThatIdledAway) {
    upstream_.on("/", Scripted::raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"));
    upstream_.on("/other", Scripted::json("{}"));
    ASSERT_TRUE(get(upstream_.url()).ok());
    run_until([this] { return upstream_.connections_open() == 0; });
    const auto result = get(upstream_.url("/other"));
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_FALSE(result->reused_connection);
}

// Guards against calls that are paid for twice: what went out over a pooled connection, and was
// read, goes out once, although libcurl would send it again.
TEST_F(HttpClientTest, SendsNothingTwice) {
    upstream_.on("/", Scripted::json("{}"));
    upstream_.on("/paid", Scripted::doing(Act::kClose));
    ASSERT_TRUE(get(upstream_.url()).ok());
    ClientRequest paid = request(upstream_.url("/paid"));
    paid.method = Method::kPost;
    EXPECT_EQ(send(paid).error().code, Code::kUpstreamFailed);
    EXPECT_EQ(upstream_.request_count(), 2U);
    EXPECT_TRUE(get(upstream_.url()).ok()) << "the next one has a connection of its own";
}

// Guards that a listener that accepts and hangs up is an error, not a hang.
TEST_F(HttpClientTest, ReportsAnUpstreamThatHangsUp) {
    upstream_.on("/", Scripted::json("{}"));
    upstream_.close_on_accept(1);
    const auto result = get(upstream_.url());
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::kUpstreamFailed);
    EXPECT_TRUE(get(upstream_.url()).ok());
}

Task<void> send_many(CurlHttpClient& client, ClientRequest model, int count, int& good) {
    for (int i = 0; i < count; ++i) {
        ClientRequest copy = model;
        const auto result = co_await client.send(std::move(copy));
        good += result.ok() && result->status == 200 ? 1 : 0;
    }
}

// Guards long life: many requests one after the other and at once, and nothing is left over.
TEST_F(HttpClientTest, SurvivesManyRequests) {
    upstream_.on("/", Scripted::json(std::string(3000, 'b')));
    int sequential = 0;
    int parallel = 0;
    const auto run = [this](int count, int& good) {
        boost::asio::co_spawn(io_, send_many(*client_, request(upstream_.url(), 60s), count, good),
                              [](std::exception_ptr error) { EXPECT_EQ(error, nullptr); });
    };
    run(10'000, sequential);
    io_.run();
    EXPECT_EQ(sequential, 10'000);
    EXPECT_EQ(upstream_.connections_accepted(), 1U);
    for (int i = 0; i < 200; ++i) {
        run(5, parallel);
    }
    io_.restart();
    io_.run();
    EXPECT_EQ(parallel, 1000);
    EXPECT_EQ(client_->transfers_under_way(), 0U);
    EXPECT_LE(upstream_.connections_open(), 64U);
    EXPECT_EQ(counted("sluice_upstream_transfers"), 0);
    EXPECT_EQ(errors(Code::kUnavailable), 0);
}

struct ConfigCase {
    std::string_view toml;
    std::string_view bad_key;  // empty: nothing is wrong
};

// Guards the settings of the section "upstream": their names, their ranges and what they set.
TEST(HttpClientConfigTest, ReadsItsSection) {
    const ConfigCase cases[] = {
        {"", ""},
        {"max_response_bytes = '1MiB'\nconnect_timeout_s = 0.5\nmax_connections_per_host = 7\n"
         "max_idle_connections = 8\ndns_cache_s = 0\nuser_agent = 'me'\nca_file = 'ca.pem'",
         ""},
        {"max_response_bytes = 0", "upstream.max_response_bytes"},
        {"connect_timeout_s = 0", "upstream.connect_timeout_s"},
        {"max_connections_per_host = 0", "upstream.max_connections_per_host"},
        {"max_idle_connections = 0", "upstream.max_idle_connections"},
        {"dns_cache_s = -1", "upstream.dns_cache_s"},
        {"user_agent = \"a\\r\\nX-Injected: b\"", "upstream.user_agent"},
    };
    for (const ConfigCase& c : cases) {
        SCOPED_TRACE(c.toml);
        ConfigLayers layers;
        layers.add_file("sluice.toml", "[upstream]\n" + std::string(c.toml) + "\n");
        ConfigReader section = ConfigReader(layers).section("upstream");
        const HttpClientConfig read = HttpClientConfig::read(section);
        layers.finish();
        ASSERT_EQ(layers.errors().size(), c.bad_key.empty() ? 0U : 1U);
        if (!c.bad_key.empty()) {
            EXPECT_EQ(layers.errors().front().key, c.bad_key);
        } else if (!c.toml.empty()) {
            EXPECT_EQ(read.max_response_bytes, kMiB);
            EXPECT_EQ(read.connect_timeout, 500ms);
            EXPECT_EQ(read.max_connections_per_host, 7);
            EXPECT_EQ(read.max_idle_connections, 8);
            EXPECT_EQ(read.dns_cache, 0ms);
            EXPECT_EQ(read.user_agent, "me");
            EXPECT_EQ(read.ca_file, "ca.pem");
        }
    }
}

// Guards that each metric is listed for the generated page.
TEST(HttpClientMetricsTest, ListsItsMetrics) {
    EXPECT_EQ(http_client_metrics().size(), 3U);
}

}  // namespace
}  // namespace sluice::io
