// What a client sees of the server while it behaves.
#include "server_fixture.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace sluice::test {
namespace {

using namespace std::chrono_literals;

// Protects: the smallest exchange, and everything that the server adds to an answer.
TEST(HttpServer, AnswersWithItsOwnFields) {
    RunningServer running;
    RawClient client = running.connect();
    ASSERT_TRUE(client.get("/"));
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "hello");
    EXPECT_TRUE(response->head.starts_with("HTTP/1.1 200 OK\r\n"));
    EXPECT_EQ(response->header("Content-Length"), "5");
    EXPECT_EQ(response->header("Content-Type"), "text/plain");
    EXPECT_EQ(response->header("X-Request-Id").value_or("").size(), 32U);
    EXPECT_EQ(response->header("Date").value_or("").size(), 29U);
    EXPECT_FALSE(response->header("Connection"));
    EXPECT_FALSE(response->header("Server"));
    EXPECT_FALSE(response->header("traceparent"));
}

// Protects: a connection serves many requests, each under an id of its own.
TEST(HttpServer, KeepsTheConnectionAndGivesEveryRequestAnId) {
    RunningServer running;
    RawClient client = running.connect();
    std::set<std::string> ids;
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(client.get("/", "X-Request-Id: mine\r\n"));
        const auto response = client.read_response();
        ASSERT_TRUE(response);
        ids.insert(response->header("X-Request-Id").value_or(""));
    }
    EXPECT_EQ(ids.size(), 100U);
    EXPECT_FALSE(ids.contains("mine"));
}

// Protects: a handler sees the request as it was sent.
TEST(HttpServer, HandsOverTheWholeRequest) {
    RunningServer running;
    RawClient client = running.connect();
    ASSERT_TRUE(
        client.send("POST /echo?a=%20b&c HTTP/1.1\r\nHost: here\r\nx-one:  two words \r\n"
                    "Empty:\r\nContent-Length: 4\r\n\r\nbody"));
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body,
              "POST /echo?a=%20b&c from 127.0.0.1\nHost=here\nx-one=two words\nEmpty=\n"
              "Content-Length=4\n\nbody");
}

// Protects: the forms of a request target that RFC 9112 has, and what of them is the path.
TEST(HttpServer, UnderstandsEveryFormOfTarget) {
    struct Case {
        std::string method;
        std::string target;
        std::string expected;
    };
    const std::vector<Case> cases = {
        {"GET", "/echo", "GET /echo?"},
        {"GET", "/echo?", "GET /echo?"},
        {"GET", "/echo??x", "GET /echo??x"},
        {"GET", "http://host/echo?q", "GET /echo?q"},
        {"GET", "HTTPS://host:1/echo", "GET /echo?"},
    };
    RunningServer running;
    RawClient client = running.connect();
    for (const Case& c : cases) {
        ASSERT_TRUE(client.send(c.method + " " + c.target + " HTTP/1.1\r\nHost: h\r\n\r\n"));
        const auto response = client.read_response();
        ASSERT_TRUE(response) << c.target;
        EXPECT_TRUE(response->body.starts_with(c.expected + " from")) << response->body;
    }
    ASSERT_TRUE(client.send("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"));
    EXPECT_EQ(client.read_response()->status, 404);
    ASSERT_TRUE(client.send("GET http://host?q HTTP/1.1\r\nHost: h\r\n\r\n"));
    EXPECT_EQ(client.read_response()->body, "hello");
}

// Protects: HEAD has the fields of GET, Content-Length included, and no body.
TEST(HttpServer, AnswersHeadWithoutABody) {
    RunningServer running;
    running.handler.set_body("lead", std::string(5000, 'b'));
    RawClient client = running.connect();
    ASSERT_TRUE(client.send("HEAD /body HTTP/1.1\r\nHost: h\r\n\r\n"));
    const auto head = client.read_head();
    ASSERT_TRUE(head);
    EXPECT_EQ(head->header("Content-Length"), "5004");
    ASSERT_TRUE(client.get("/"));
    EXPECT_EQ(client.read_response()->body, "hello");
}

// Protects: statuses that can't have a body do not announce one.
TEST(HttpServer, SendsNoLengthWithStatusesThatHaveNoBody) {
    RunningServer running;
    RawClient client = running.connect();
    for (const std::string status : {"204", "304"}) {
        ASSERT_TRUE(client.get("/status/" + status));
        const auto response = client.read_response();
        ASSERT_TRUE(response);
        EXPECT_EQ(std::to_string(response->status), status);
        EXPECT_FALSE(response->header("Content-Length"));
    }
    ASSERT_TRUE(client.get("/status/299"));
    EXPECT_TRUE(client.read_response()->head.starts_with("HTTP/1.1 299 \r\n"));
}

// Protects: who closes the connection, and that the client is told.
TEST(HttpServer, ClosesWhenEitherSideAsks) {
    struct Case {
        std::string request;
        bool stays_open;
        std::string connection;  // field of the answer, empty: none
    };
    const std::vector<Case> cases = {
        {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", true, ""},
        {"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", false, "close"},
        {"GET / HTTP/1.1\r\nHost: h\r\nConnection: te, Close\r\n\r\n", false, "close"},
        {"GET / HTTP/1.0\r\n\r\n", false, "close"},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true, "keep-alive"},
        {"GET /close HTTP/1.1\r\nHost: h\r\n\r\n", false, "close"},
    };
    RunningServer running;
    for (const Case& c : cases) {
        RawClient client = running.connect();
        ASSERT_TRUE(client.send(c.request));
        const auto response = client.read_response();
        ASSERT_TRUE(response) << c.request;
        EXPECT_EQ(response->header("Connection").value_or(""), c.connection) << c.request;
        if (c.stays_open) {
            ASSERT_TRUE(client.get("/")) << c.request;
            EXPECT_TRUE(client.read_response()) << c.request;
        } else {
            EXPECT_TRUE(client.is_closed()) << c.request;
        }
    }
}

// Protects: answers to pipelined requests come in the order of the requests, whether a handler
// answers at once or later.
TEST(HttpServer, KeepsTheOrderOfPipelinedRequests) {
    RunningServer running;
    RawClient client = running.connect();
    std::string requests;
    std::vector<std::string> expected;
    for (int i = 0; i < 200; ++i) {
        const bool later = i % 3 == 1;
        requests +=
            later ? "GET /later HTTP/1.1\r\nHost: h\r\n\r\n" : "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
        expected.push_back(later ? "later" : "hello");
    }
    ASSERT_TRUE(client.send(requests));
    for (const std::string& text : expected) {
        const auto response = client.read_response();
        ASSERT_TRUE(response);
        EXPECT_EQ(response->body, text);
    }
}

// Protects: a client that never stops sending requests gets all its answers, and leaves room for
// others on the same thread.
TEST(HttpServer, ServesOthersBesideAnEndlessPipeline) {
    constexpr int kRequests = 20'000;
    RunningServer running;
    RawClient client = running.connect();
    std::thread sending([&client] {
        std::string hundred;
        for (int i = 0; i < 100; ++i) {
            hundred += "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
        }
        for (int i = 0; i < kRequests / 100; ++i) {
            client.send(hundred);
        }
    });
    int answers = 0;
    while (answers < kRequests && client.read_response()) {
        answers += 1;
        if (answers % 1000 == 0) {
            RawClient other = running.connect();
            ASSERT_TRUE(other.get("/later"));
            EXPECT_TRUE(other.read_response());
        }
    }
    sending.join();
    EXPECT_EQ(answers, kRequests);
}

// Protects: what was answered before a slow request is not held back by it.
TEST(HttpServer, WritesEarlierAnswersBeforeWaitingForASlowOne) {
    RunningServer running;
    RawClient client = running.connect();
    ASSERT_TRUE(
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /wait?x HTTP/1.1\r\nHost: h\r\n\r\n"
                    "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n"));
    EXPECT_EQ(client.read_response()->body, "hello");
    ASSERT_TRUE(running.handler.wait_for_started(1));
    running.handler.release();
    EXPECT_EQ(client.read_response()->body, "released x");
    EXPECT_TRUE(client.read_response()->body.starts_with("GET /echo?"));
}

// Protects: requests that arrive while a slow one is answered are read ahead without disturbing it.
TEST(HttpServer, ReadsAheadWhileARequestIsUnderWay) {
    RunningServer running;
    RawClient client = running.connect();
    ASSERT_TRUE(client.get("/wait?first"));
    ASSERT_TRUE(running.handler.wait_for_started(1));
    // More than the buffer has room for.
    const std::string body(20'000, 'z');
    ASSERT_TRUE(
        client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 20000\r\n\r\n" + body));
    running.handler.release();
    EXPECT_EQ(client.read_response()->body, "released first");
    EXPECT_TRUE(client.read_response()->body.ends_with("\n\n" + body));
}

// Protects: bodies of every size and way of arriving reach the handler whole, and the next request
// begins where they end.
TEST(HttpServer, ReadsBodiesOfEverySize) {
    RunningServer running;
    RawClient client = running.connect();
    for (const std::size_t size :
         {0UL, 1UL, 4000UL, 16'000UL, 20'400UL, 20'480UL, 70'000UL, 300'000UL, 1'048'576UL}) {
        std::string body(size, 'b');
        for (std::size_t i = 0; i < size; ++i) {
            body[i] = static_cast<char>('a' + i % 23);
        }
        ASSERT_TRUE(
            client.send("PUT /echo HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(size) +
                        "\r\n\r\n" + body + "GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
        const auto response = client.read_response();
        ASSERT_TRUE(response) << size;
        EXPECT_TRUE(response->body.ends_with("\n\n" + body)) << size;
        EXPECT_EQ(client.read_response()->body, "hello") << size;
    }
}

// Protects: chunked bodies are unpacked, and the next request begins where they end.
TEST(HttpServer, UnpacksChunkedBodies) {
    struct Case {
        std::string wire;
        std::string body;
    };
    const std::string big(50'000, 'c');
    const std::vector<Case> cases = {
        {"0\r\n\r\n", ""},
        {"4\r\nbody\r\n0\r\n\r\n", "body"},
        {"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", "abc"},
        {"A\r\n0123456789\r\na\r\n0123456789\r\n000\r\n\r\n", "01234567890123456789"},
        {"3;name=value\r\nabc\r\n0;last\r\n\r\n", "abc"},
        {"3 ; q=\"a b\"\r\nabc\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n", "abc"},
        {"C350\r\n" + big + "\r\n0\r\n\r\n", big},
    };
    RunningServer running;
    RawClient client = running.connect();
    for (const Case& c : cases) {
        ASSERT_TRUE(
            client.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" +
                        c.wire + "GET / HTTP/1.1\r\nHost: h\r\n\r\n"));
        const auto response = client.read_response();
        ASSERT_TRUE(response) << c.wire;
        EXPECT_TRUE(response->body.ends_with("\n\n" + c.body)) << c.wire;
        EXPECT_EQ(client.read_response()->body, "hello") << c.wire;
    }
}

// Protects: a request may come in any pieces, also one byte at a time.
TEST(HttpServer, PutsRequestsTogetherFromSingleBytes) {
    RunningServer running;
    RawClient client = running.connect();
    for (const char c : std::string("\r\nPOST /echo?q HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                                    "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")) {
        ASSERT_TRUE(client.send(std::string_view(&c, 1)));
    }
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_TRUE(response->body.starts_with("POST /echo?q from"));
    EXPECT_TRUE(response->body.ends_with("\n\nabc"));
}

// Protects: a head that fills the buffer to its end leaves room for the chunks behind it.
TEST(HttpServer, ReadsChunksBehindTheLargestHead) {
    RunningServer running;
    RawClient client = running.connect();
    // Whatever the first request leaves in the buffer, the second one starts behind it.
    for (const std::size_t first : {0UL, 3000UL, 4090UL}) {
        const std::string start =
            "GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(first, 'x') + "\r\n\r\n";
        std::string head = "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nY: ";
        head += std::string(16 * 1024 - head.size() - 4, 'y') + "\r\n\r\n";
        ASSERT_TRUE(client.send(start + head));
        EXPECT_EQ(client.read_response()->body, "hello");
        ASSERT_TRUE(client.send("5\r\nabcde\r\n0\r\n\r\n"));
        const auto response = client.read_response();
        ASSERT_TRUE(response);
        EXPECT_EQ(response->status, 200);
        EXPECT_TRUE(response->body.ends_with("\n\nabcde"));
        EXPECT_TRUE(response->body.find("\nY=yyyy") != std::string::npos);
    }
}

// Protects: a client that asks before sending a body is told to go on, once, and only then.
TEST(HttpServer, SaysContinueWhenTheBodyIsStillToCome) {
    RunningServer running;
    RawClient client = running.connect();
    const std::string head =
        "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 4\r\n\r\n";
    ASSERT_TRUE(client.send(head));
    char interim[25] = {};
    std::size_t got = 0;
    while (got < sizeof interim) {
        const ssize_t n = ::recv(client.descriptor(), interim + got, sizeof interim - got, 0);
        ASSERT_GT(n, 0);
        got += static_cast<std::size_t>(n);
    }
    EXPECT_EQ(std::string_view(interim, sizeof interim), "HTTP/1.1 100 Continue\r\n\r\n");
    ASSERT_TRUE(client.send("bo"));
    ASSERT_TRUE(client.send("dy"));
    EXPECT_TRUE(client.read_response()->body.ends_with("\n\nbody"));
    // Who has begun to send does not wait.
    ASSERT_TRUE(client.send(head + "bo"));
    RawClient other = running.connect();
    other.get("/later");
    ASSERT_TRUE(other.read_response());
    ASSERT_TRUE(client.send("dy"));
    EXPECT_TRUE(client.read_response()->body.ends_with("\n\nbody"));
    ASSERT_TRUE(client.send(head + "body"));
    EXPECT_TRUE(client.read_response()->body.ends_with("\n\nbody"));
    EXPECT_EQ(client.interim_responses(), 0U);
}

// Protects: a request continues its caller's trace; the answer says so only to who asked.
TEST(HttpServer, ContinuesTheCallersTrace) {
    RunningServer running;
    RawClient client = running.connect();
    ASSERT_TRUE(client.get(
        "/", "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n"));
    const std::string traceparent = client.read_response()->header("traceparent").value_or("");
    EXPECT_TRUE(traceparent.starts_with("00-0af7651916cd43dd8448eb211c80319c-")) << traceparent;
    EXPECT_EQ(traceparent.find("b7ad6b7169203331"), std::string::npos);
    EXPECT_TRUE(traceparent.ends_with("-01"));
}

// Protects: a bug in a handler costs its own request and nothing else, and shows nothing inside.
TEST(HttpServer, SurvivesExceptionsOfHandlers) {
    RunningServer running;
    RawClient client = running.connect();
    for (const std::string path : {"/throw", "/throw-later"}) {
        ASSERT_TRUE(client.get(path));
        const auto response = client.read_response();
        ASSERT_TRUE(response) << path;
        EXPECT_EQ(response->status, 500);
        EXPECT_TRUE(response->body.starts_with("internal: internal error"));
    }
    ASSERT_TRUE(client.get("/"));
    EXPECT_EQ(client.read_response()->body, "hello");
    EXPECT_EQ(running.sink.count(obs::Level::kError, "request_failed"), 2U);
    EXPECT_FALSE(running.sink.contains("secret"));
}

// Protects: the log line of a request names its path and never its query.
TEST(HttpServer, LogsRequestsWithoutTheirQuery) {
    RunningServer running;
    RawClient client = running.connect();
    ASSERT_TRUE(client.get("/echo?q=somebodys+question"));
    ASSERT_TRUE(client.read_response());
    running.server->drain();
    EXPECT_EQ(running.sink.count(obs::Level::kDebug, "request_served"), 1U);
    EXPECT_TRUE(running.sink.contains("/echo"));
    EXPECT_FALSE(running.sink.contains("question"));
}

// Protects: what operators see of requests.
TEST(HttpServer, CountsWhatItServed) {
    RunningServer running;
    RawClient client = running.connect();
    for (const std::string path : {"/", "/", "/missing", "/later", "/throw"}) {
        ASSERT_TRUE(client.get(path));
        ASSERT_TRUE(client.read_response());
    }
    ASSERT_TRUE(client.send("nonsense\r\n\r\n"));
    ASSERT_TRUE(client.read_response());
    client.close();
    running.server->drain();
    const std::string text = running.metrics.expose();
    const auto has = [&text](std::string_view line) {
        return text.find(line) != std::string::npos;
    };
    EXPECT_TRUE(has("sluice_http_requests_total{method=\"GET\",status_class=\"2xx\"} 3"));
    EXPECT_TRUE(has("sluice_http_requests_total{method=\"GET\",status_class=\"4xx\"} 1"));
    EXPECT_TRUE(has("sluice_http_requests_total{method=\"GET\",status_class=\"5xx\"} 1"));
    EXPECT_TRUE(has("sluice_http_refused_total{reason=\"invalid_request\"} 1"));
    EXPECT_TRUE(has("sluice_http_request_seconds_count 5"));
    EXPECT_TRUE(has("sluice_http_failed_total 1"));
    EXPECT_TRUE(has("sluice_http_accepted_total 1"));
    EXPECT_TRUE(has("sluice_http_connections 0"));
}

// Protects: several threads serve one address.
TEST(HttpServer, ServesFromSeveralThreads) {
    io::HttpServerConfig config;
    config.threads = 4;
    RunningServer running(config);
    std::vector<std::thread> clients;
    std::atomic<int> right = 0;
    for (int i = 0; i < 8; ++i) {
        clients.emplace_back([&] {
            RawClient client = running.connect();
            for (int k = 0; k < 50; ++k) {
                client.get(k % 5 == 0 ? "/later" : "/");
                const auto response = client.read_response();
                right += response && response->status == 200 ? 1 : 0;
            }
        });
    }
    for (std::thread& client : clients) {
        client.join();
    }
    EXPECT_EQ(right.load(), 400);
}

}  // namespace
}  // namespace sluice::test
