// What the server refuses, over real sockets: every malformed head and body, every bound.
#include "server_fixture.h"
#include "support/descriptor_limit.h"

#include <gtest/gtest.h>

#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace sluice::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

struct Refusal {
    std::string name;
    std::string request;
    int status;
};

const std::string kGet = "GET / HTTP/1.1\r\nHost: h\r\n";
const std::string kPost = "POST / HTTP/1.1\r\nHost: h\r\n";
const std::string kChunked = kPost + "Transfer-Encoding: chunked\r\n\r\n";

std::vector<Refusal> request_lines() {
    return {
        {"empty method", " / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"method with a control character", "G\x01T / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"method with a separator", "GE(T / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"method alone", "GET\r\n\r\n", 400},
        {"very long method", std::string(40, 'G') + " / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"TLS to a plain port", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s, 400},
        {"HTTP/0.9", "GET /\r\n\r\n", 400},
        {"no target", "GET  HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"two spaces before the version", "GET /  HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"space in the target", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"tab in the target", "GET /a\tb HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"NUL in the target", "GET /a\0b HTTP/1.1\r\nHost: h\r\n\r\n"s, 400},
        {"DEL in the target", "GET /a\x7f HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"fragment in the target", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"relative target", "GET a HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"asterisk without OPTIONS", "GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"authority as target", "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"foreign scheme", "GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"absolute target without a host", "GET http:///a HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"five blank lines first", "\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"bare line feed after the request line", "GET / HTTP/1.1\nHost: h\r\n\r\n", 400},
        {"bare line feeds only", "GET / HTTP/1.1\nHost: h\n\n", 400},
    };
}

std::vector<Refusal> versions() {
    return {
        {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505},
        {"HTTP/0.9 in words", "GET / HTTP/0.9\r\nHost: h\r\n\r\n", 505},
        {"HTTP/3", "GET / HTTP/3.0\r\nHost: h\r\n\r\n", 505},
        {"HTTP/1.10", "GET / HTTP/1.10\r\nHost: h\r\n\r\n", 400},
        {"HTTP/1", "GET / HTTP/1\r\nHost: h\r\n\r\n", 400},
        {"lower-case version", "GET / http/1.1\r\nHost: h\r\n\r\n", 400},
        {"another protocol", "GET / RTSP/1.0\r\nHost: h\r\n\r\n", 400},
        {"space after the version", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400},
    };
}

std::vector<Refusal> fields() {
    return {
        {"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
        {"two Hosts", kGet + "Host: h\r\n\r\n", 400},
        {"two Hosts on HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        {"Host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
        {"Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
        {"Host with user", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400},
        {"Host list", "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400},
        {"no colon", kGet + "Name value\r\n\r\n", 400},
        {"empty name", kGet + ": value\r\n\r\n", 400},
        {"space before the colon", kGet + "Name : value\r\n\r\n", 400},
        {"space in the name", kGet + "Na me: value\r\n\r\n", 400},
        {"NUL in the name", kGet + "Na\0me: value\r\n\r\n"s, 400},
        {"NUL in the value", kGet + "Name: va\0lue\r\n\r\n"s, 400},
        {"control character in the value", kGet + "Name: va\x02lue\r\n\r\n", 400},
        {"DEL in the value", kGet + "Name: va\x7flue\r\n\r\n", 400},
        {"CR in the value", kGet + "Name: va\rlue\r\n\r\n", 400},
        {"LF in the value", kGet + "Name: va\nlue\r\n\r\n", 400},
        {"bare LF at the end", kGet + "Name: value\n\r\n", 400},
        {"folded value", kGet + "Name: one\r\n two\r\n\r\n", 400},
        {"value on the next line", kGet + "Name:\r\n two\r\n\r\n", 400},
        {"folded blank value", kGet + "Name:\r\n \r\n\r\n", 400},
        {"folded with a tab", kGet + "Name: one\r\n\ttwo\r\n\r\n", 400},
        {"folded first field", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400},
        {"malformed Connection", kGet + "Connection: a b\r\n\r\n", 400},
    };
}

// Where smuggling lives.
std::vector<Refusal> framing() {
    return {
        {"negative length", kPost + "Content-Length: -1\r\n\r\n", 400},
        {"length with a sign", kPost + "Content-Length: +1\r\n\r\na", 400},
        {"length in hexadecimal", kPost + "Content-Length: 0x1\r\n\r\na", 400},
        {"empty length", kPost + "Content-Length:\r\n\r\n", 400},
        {"length with a fraction", kPost + "Content-Length: 1.0\r\n\r\na", 400},
        {"length beyond 64 bits", kPost + "Content-Length: 18446744073709551616\r\n\r\n", 400},
        {"two lengths", kPost + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400},
        {"one length twice", kPost + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", 400},
        {"list of lengths", kPost + "Content-Length: 1, 1\r\n\r\na", 400},
        {"length and coding", kPost + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
         400},
        {"coding and length", kPost + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
         400},
        {"unknown coding", kPost + "Transfer-Encoding: gzip\r\n\r\n", 400},
        {"coding list", kPost + "Transfer-Encoding: gzip, chunked\r\n\r\n", 400},
        {"chunked twice in a list", kPost + "Transfer-Encoding: chunked, chunked\r\n\r\n", 400},
        {"chunked twice",
         kPost + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"identity coding", kPost + "Transfer-Encoding: identity\r\n\r\n", 400},
        {"empty coding", kPost + "Transfer-Encoding:\r\n\r\n", 400},
        {"quoted coding", kPost + "Transfer-Encoding: \"chunked\"\r\n\r\n", 400},
        {"coding with a control character",
         kPost + "Transfer-Encoding: \x0b"
                 "chunked\r\n\r\n",
         400},
        {"chunked on HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    };
}

std::vector<Refusal> chunks() {
    return {
        {"empty chunk size", kChunked + "\r\n", 400},
        {"chunk size that is no number", kChunked + "x\r\n", 400},
        {"chunk size with a sign", kChunked + "+1\r\na", 400},
        {"chunk size with 0x", kChunked + "0x1\r\na", 400},
        {"chunk size after a space", kChunked + " 1\r\na", 400},
        {"blank after the size", kChunked + "1 \r\na\r\n0\r\n\r\n", 400},
        {"blank and no semicolon after the size", kChunked + "1 e\r\na\r\n0\r\n\r\n", 400},
        {"endless blanks after the size", kChunked + "1" + std::string(17'000, ' '), 413},
        {"chunk size too long", kChunked + std::string(16, '0') + "1\r\na\r\n", 400},
        {"bare LF after the size", kChunked + "1\na\r\n0\r\n\r\n", 400},
        {"CR without LF after the size", kChunked + "1\ra", 400},
        {"longer than its size", kChunked + "1\r\nab\r\n0\r\n\r\n", 400},
        {"bare LF after the data", kChunked + "1\r\na\n0\r\n\r\n", 400},
        {"bare LF in an extension", kChunked + "1;a\nb\r\na\r\n", 400},
        {"NUL in an extension", kChunked + "1;a\0\r\na\r\n"s, 400},
        {"bare LF after a trailer", kChunked + "0\r\nT: x\n\r\n", 400},
        {"CR without LF at the end", kChunked + "0\r\n\rx", 400},
        {"chunk over the bound", kChunked + "200001\r\n", 413},
        {"chunks over the bound together",
         kChunked + "100000\r\n" + std::string(1'048'576, 'b') + "\r\n100001\r\n", 413},
        {"enormous chunk", kChunked + "FFFFFFFFFFFFFFF\r\n", 413},
        {"endless extension", kChunked + "1;" + std::string(17'000, 'e'), 413},
        {"endless trailers", kChunked + "0\r\nT: " + std::string(17'000, 't'), 413},
    };
}

std::vector<Refusal> bounds() {
    return {
        {"target over the bound", "GET /" + std::string(8192, 'a') + " HTTP/1.1\r\n", 414},
        {"endless target", "GET /" + std::string(9000, 'a'), 414},
        {"head over the bound", kGet + "Name: " + std::string(16'384, 'v') + "\r\n\r\n", 431},
        {"endless head", kGet + "Name: " + std::string(16'384, 'v'), 431},
        {"endless name", kGet + std::string(16'400, 'n'), 431},
        {"length over the bound", kPost + "Content-Length: 2097153\r\n\r\n", 413},
        {"enormous length", kPost + "Content-Length: 18446744073709551615\r\n\r\n", 413},
        {"unknown expectation", kPost + "Expect: 200-ok\r\nContent-Length: 1\r\n\r\n", 417},
    };
}

std::vector<Refusal> refusals() {
    std::vector<Refusal> all;
    for (const auto& some :
         {request_lines(), versions(), fields(), framing(), chunks(), bounds()}) {
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

// Protects: whatever is malformed or out of bounds has an answer of its own, which the client can
// read to its end, and never reaches a handler; nothing behind it is taken for a request.
TEST(HttpServerRefusals, HaveAnAnswerAndCloseTheConnection) {
    RunningServer running;
    for (const Refusal& refusal : refusals()) {
        RawClient client = running.connect();
        ASSERT_TRUE(client.send(refusal.request)) << refusal.name;
        const auto response = client.read_response();
        ASSERT_TRUE(response) << refusal.name;
        EXPECT_EQ(response->status, refusal.status) << refusal.name << ": " << response->body;
        EXPECT_EQ(response->header("Connection"), "close") << refusal.name;
        client.send("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
        client.finish_sending();
        EXPECT_TRUE(client.is_closed()) << refusal.name;
        EXPECT_FALSE(client.was_reset()) << refusal.name;
    }
    EXPECT_EQ(running.handler.handled(), 0);
}

// Protects: the same verdicts when the bytes come one at a time, which takes the parser's slow
// path.
TEST(HttpServerRefusals, DoNotDependOnHowTheBytesArrive) {
    RunningServer running;
    for (const Refusal& refusal : refusals()) {
        if (refusal.request.size() > 200) {
            continue;
        }
        RawClient client = running.connect();
        for (const char& c : refusal.request) {
            if (!client.send(std::string_view(&c, 1))) {
                break;
            }
        }
        const auto response = client.read_response();
        ASSERT_TRUE(response) << refusal.name;
        EXPECT_EQ(response->status, refusal.status) << refusal.name << ": " << response->body;
    }
}

// Protects: what is exactly at a bound is served.
TEST(HttpServerRefusals, DoNotTouchWhatIsJustWithinTheBounds) {
    RunningServer running;
    const std::string target = "/" + std::string(8191, 'a');
    std::string large_head = kGet + "Name: ";
    large_head += std::string(16'384 - large_head.size() - 4, 'v') + "\r\n\r\n";
    std::string many_fields = kGet;
    for (int i = 1; i < 128; ++i) {
        many_fields += "A: b\r\n";
    }
    struct Case {
        std::string request;
        int status;
    };
    const std::vector<Case> cases = {
        {"GET " + target + " HTTP/1.1\r\nHost: h\r\n\r\n", 404},
        {large_head, 200},
        {many_fields + "\r\n", 200},
        {kPost + "Content-Length: 2097152\r\n\r\n" + std::string(2'097'152, 'b'), 200},
        {kChunked + "200000\r\n" + std::string(2'097'152, 'b') + "\r\n0\r\n\r\n", 200},
        {"\r\n\r\n\r\n\r\n" + kGet + "\r\n", 200},
        {"GET / HTTP/1.0\r\nExpect: anything\r\n\r\n", 200},
        {kGet + "Name: \xc3\xa4\xff\r\n\r\n", 200},
        {"GET / HTTP/1.1\r\nHost:\r\n\r\n", 200},
    };
    for (const Case& c : cases) {
        RawClient client = running.connect();
        ASSERT_TRUE(client.send(c.request));
        const auto response = client.read_response();
        ASSERT_TRUE(response) << c.request.substr(0, 60);
        EXPECT_EQ(response->status, c.status) << c.request.substr(0, 60);
    }
    RawClient client = running.connect();
    ASSERT_TRUE(client.send(many_fields + "A: b\r\n\r\n"));
    EXPECT_EQ(client.read_response()->status, 431);
}

// Protects: a body over the bound is refused before it is read, and its sender can read the answer
// although it goes on sending.
TEST(HttpServerRefusals, CanBeReadByAClientThatGoesOnSending) {
    RunningServer running;
    RawClient client = running.connect();
    ASSERT_TRUE(client.send(kPost + "Content-Length: 4000000\r\n\r\n"));
    client.send(std::string(100'000, 'b'));
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 413);
    client.finish_sending();
    EXPECT_TRUE(client.is_closed());
    EXPECT_FALSE(client.was_reset());
}

// Protects: good requests before a bad one are answered, and in order.
TEST(HttpServerRefusals, ComeAfterTheAnswersBeforeThem) {
    RunningServer running;
    RawClient client = running.connect();
    ASSERT_TRUE(client.send(kGet + "\r\nGET /later HTTP/1.1\r\nHost: h\r\n\r\nGET /a b\r\n\r\n"));
    EXPECT_EQ(client.read_response()->body, "hello");
    EXPECT_EQ(client.read_response()->body, "later");
    EXPECT_EQ(client.read_response()->status, 400);
}

io::HttpServerConfig impatient() {
    io::HttpServerConfig config;
    config.header_timeout = 40ms;
    config.body_timeout = 40ms;
    config.idle_timeout = 40ms;
    config.write_timeout = 40ms;
    return config;
}

// Protects: slow senders are told so and cut off; those who sent nothing are only cut off.
TEST(HttpServerTimeouts, EndSlowRequests) {
    struct Case {
        std::string sent;
        bool answered;
    };
    const std::vector<Case> cases = {
        {"", false},
        {"G", true},
        {"GET / HTTP/1.1\r\nHost:", true},
        {kPost + "Content-Length: 4\r\n\r\n", true},
        {kPost + "Content-Length: 4\r\n\r\nbod", true},
        {kPost + "Content-Length: 400000\r\n\r\nbod", true},
        {kChunked + "4\r\nbody\r\n", true},
        {kGet + "\r\n", false},
    };
    RunningServer running(impatient());
    for (const Case& c : cases) {
        RawClient client = running.connect();
        ASSERT_TRUE(client.send(c.sent));
        if (c.sent.ends_with("\r\n\r\n") && c.sent.starts_with("GET")) {
            EXPECT_EQ(client.read_response()->status, 200);
        }
        const auto response = client.read_response();
        EXPECT_EQ(response.has_value(), c.answered) << c.sent;
        if (response) {
            EXPECT_EQ(response->status, 408) << c.sent;
        }
        EXPECT_TRUE(client.is_closed()) << c.sent;
    }
}

// Protects: bytes that keep trickling in keep neither a head nor a body alive.
TEST(HttpServerTimeouts, AreNotPutOffByATrickle) {
    RunningServer running(impatient());
    for (const std::string& start :
         {std::string("GET / HTTP/1.1\r\nHost: h\r\nA: "), kPost + "Content-Length: 900000\r\n\r\n",
          kChunked + "FFFF\r\n"}) {
        RawClient client = running.connect();
        const auto begin = running.clock.now();
        ASSERT_TRUE(client.send(start));
        char peeked = 0;
        while (::recv(client.descriptor(), &peeked, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
               running.clock.now() - begin < 2s) {
            ASSERT_TRUE(client.send("b"));
            // One byte more whenever the server has had time to read the last.
            RawClient other = running.connect();
            other.get("/");
            other.read_response();
        }
        EXPECT_LT(running.clock.now() - begin, 2s) << start;
        EXPECT_EQ(client.read_response()->status, 408) << start;
    }
}

// Protects: a handler may take longer than any of the timeouts.
TEST(HttpServerTimeouts, LeaveRequestsUnderWayAlone) {
    RunningServer running(impatient());
    RawClient client = running.connect();
    ASSERT_TRUE(client.get("/wait"));
    ASSERT_TRUE(running.handler.wait_for_started(1));
    RawClient idle = running.connect();
    EXPECT_TRUE(idle.is_closed());
    running.handler.release();
    EXPECT_EQ(client.read_response()->body, "released ");
}

// Protects: a body that can't be kept beside its head costs nothing where the head says enough to
// refuse it, and the client can read why.
TEST(HttpServerLargeBodies, AreRefusedByTheirHead) {
    RunningServer running;
    const std::vector<std::string> heads = {
        "POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n",
        "POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n",
        "POST /refused HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /refused HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
    };
    for (const std::string& head : heads) {
        RawClient client = running.connect();
        ASSERT_TRUE(client.get("/"));
        EXPECT_EQ(client.read_response()->body, "hello");
        ASSERT_TRUE(client.send(head));
        const auto response = client.read_response();
        ASSERT_TRUE(response) << head;
        EXPECT_EQ(response->status, 401) << head;
        EXPECT_EQ(response->header("Connection"), "close") << head;
        EXPECT_EQ(client.interim_responses(), 0U) << head;
        client.send(std::string(100'000, 'b'));
        EXPECT_TRUE(client.is_closed()) << head;
        EXPECT_FALSE(client.was_reset()) << head;
    }
    EXPECT_EQ(running.handler.handled(), 4);
}

// Protects: all bodies that are arriving are bounded together; who is over the bound is told to
// come back, small bodies are served nevertheless, and there is room again afterwards.
TEST(HttpServerLargeBodies, AreBoundedTogether) {
    io::HttpServerConfig config;
    config.max_body_bytes = std::size_t{256} * 1024;
    config.max_buffered_body_bytes = std::size_t{256} * 1024;
    RunningServer running(config);
    const std::string body(200'000, 'b');
    const std::string large =
        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 200000\r\n\r\n" + body;
    RawClient slow = running.connect();
    ASSERT_TRUE(slow.send(std::string_view(large).substr(0, 150'000)));
    std::optional<RawResponse> refused;
    const auto begin = running.clock.now();
    while (!refused && running.clock.now() - begin < 10s) {
        RawClient other = running.connect();
        other.send(large);
        const auto response = other.read_response();
        ASSERT_TRUE(response);
        if (response->status != 200) {
            refused = response;
            EXPECT_TRUE(other.is_closed());
        }
    }
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 503);
    RawClient small = running.connect();
    ASSERT_TRUE(small.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"));
    EXPECT_EQ(small.read_response()->status, 200);

    ASSERT_TRUE(slow.send(std::string_view(large).substr(150'000)));
    EXPECT_EQ(slow.read_response()->status, 200);
    ASSERT_TRUE(small.send(large));
    EXPECT_EQ(small.read_response()->status, 200);
}

// Protects: a client that does not read its answer does not hold it forever.
TEST(HttpServerTimeouts, EndAnswersThatNobodyReads) {
    io::HttpServerConfig config = impatient();
    config.max_connections = 1;
    RunningServer running(config);
    running.handler.set_body("", std::string(64 * 1024 * 1024, 'b'));
    RawClient client = running.connect();
    ASSERT_TRUE(client.get("/body"));
    // There is room for another connection when this one has been given up.
    const auto begin = running.clock.now();
    bool served = false;
    while (!served && running.clock.now() - begin < 10s) {
        RawClient other = running.connect();
        other.get("/");
        served = other.read_response().has_value();
    }
    EXPECT_TRUE(served);
    EXPECT_LT(client.read_all().size(), 64U * 1024 * 1024);
}

// Protects: connections over the bound are closed at once, and there is room again afterwards.
TEST(HttpServerConnections, OverTheBoundAreTurnedAway) {
    io::HttpServerConfig config;
    config.max_connections = 3;
    RunningServer running(config);
    std::vector<RawClient> clients;
    for (int i = 0; i < 3; ++i) {
        clients.push_back(running.connect());
        ASSERT_TRUE(clients.back().get("/"));
        EXPECT_TRUE(clients.back().read_response());
    }
    RawClient fourth = running.connect();
    EXPECT_TRUE(fourth.is_closed());
    ASSERT_TRUE(clients.front().get("/close"));
    EXPECT_TRUE(clients.front().read_response());
    EXPECT_TRUE(clients.front().is_closed());
    clients.front().close();
    bool served = false;
    for (int i = 0; i < 1000 && !served; ++i) {
        RawClient next = running.connect();
        next.get("/");
        served = next.read_response().has_value();
    }
    EXPECT_TRUE(served);
    clients.clear();
    running.server->drain();
    EXPECT_EQ(running.metrics.expose().find("sluice_http_turned_away_total 0"), std::string::npos);
}

// Protects: a process without descriptors neither spins nor stops serving for good.
TEST(HttpServerConnections, WaitWhileThereAreNoDescriptors) {
    RunningServer running;
    const test::DescriptorLimit limit(256);
    test::HeldDescriptors held;
    held.give_back_one();
    RawClient client = running.connect();  // takes the last one
    ASSERT_TRUE(client.get("/"));
    const auto begin = running.clock.now();
    while (!running.sink.contains("accept_failed") && running.clock.now() - begin < 5s) {
        std::this_thread::yield();
    }
    held.give_back();
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, "hello");
    EXPECT_EQ(running.sink.count(obs::Level::kWarn, "accept_failed"), 1U);
    const auto answered = running.clock.now();
    while (running.metrics.expose().find("sluice_http_accept_failed_total 0") !=
               std::string::npos &&
           running.clock.now() - answered < 5s) {
        std::this_thread::yield();
    }
    EXPECT_EQ(running.metrics.expose().find("sluice_http_accept_failed_total 0"),
              std::string::npos);
}

// Protects: new bounds hold from the next request on, without a restart.
TEST(HttpServerConnections, FollowNewSettings) {
    RunningServer running;
    RawClient client = running.connect();
    ASSERT_TRUE(client.send(kPost + "Content-Length: 2000\r\n\r\n" + std::string(2000, 'b')));
    EXPECT_EQ(client.read_response()->status, 200);
    io::HttpServerConfig config;
    config.max_body_bytes = 1024;
    config.max_header_bytes = 2048;
    config.max_target_bytes = 256;
    running.server->reconfigure(config);
    // The new settings reach the thread in order with what it does anyway.
    int status = 200;
    for (int i = 0; i < 1000 && status == 200; ++i) {
        RawClient next = running.connect();
        ASSERT_TRUE(next.send(kPost + "Content-Length: 1025\r\n\r\n" + std::string(1025, 'b')));
        status = next.read_response()->status;
    }
    EXPECT_EQ(status, 413);
    ASSERT_TRUE(client.get("/" + std::string(300, 'a')));
    EXPECT_EQ(client.read_response()->status, 414);
}

}  // namespace
}  // namespace sluice::test
