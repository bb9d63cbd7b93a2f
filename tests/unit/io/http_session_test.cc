// How connections of one thread share its time: sessions on a loop that the test turns, over
// sockets that keep writes apart, on a clock that handlers move.
#include "io/http_session.h"

#include "support/collecting_sink.h"
#include "support/manual_clock.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sluice::test {
namespace {

using namespace std::chrono_literals;

// Answers with the query, after as long as the test said.
class SlowHandler final : public io::HttpHandler {
 public:
    explicit SlowHandler(ManualClock& clock) : clock_(clock) {}

    io::HttpReply handle(const io::HttpRequest& request) override {
        clock_.advance(takes);
        if (request.path == "/later") {
            return later(std::string(request.query));
        }
        return text(std::string(request.query));
    }
    io::HttpResponse refuse(const Error& /*error*/, const RequestId& /*id*/) override {
        return text("refused");
    }

    Duration takes{};

 private:
    static io::HttpResponse text(std::string what) {
        io::HttpResponse response;
        response.headers = "Content-Type: text/plain\r\n";
        response.lead = "<" + std::move(what) + ">";
        return response;
    }
    static Task<io::HttpResponse> later(std::string what) { co_return text(std::move(what)); }

    ManualClock& clock_;
};

// A client whose socket hands over what it is sent write by write.
class Client {
 public:
    explicit Client(int fd) : fd_(fd) {}
    ~Client() {
        if (fd_ >= 0) {
            ::close(fd_);
        }
    }
    Client(Client&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Client& operator=(Client&&) = delete;

    // One request for each of [from, to).
    void ask(std::string_view path, int from, int to) {
        std::string requests;
        for (int i = from; i < to; ++i) {
            requests.append("GET ").append(path).append("?").append(std::to_string(i));
            requests.append(" HTTP/1.1\r\nHost: h\r\n\r\n");
        }
        ASSERT_EQ(::send(fd_, requests.data(), requests.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(requests.size()));
    }
    // What has come since the last call: the answers' texts, and the writes they came in.
    std::string answers() {
        std::string all;
        std::array<char, 64 * 1024> room;
        for (;;) {
            const ssize_t bytes = ::recv(fd_, room.data(), room.size(), MSG_DONTWAIT);
            if (bytes <= 0) {
                closed = bytes == 0 || errno != EAGAIN;
                break;
            }
            writes += 1;
            all.append(room.data(), static_cast<std::size_t>(bytes));
        }
        says_close = all.find("Connection: close") != std::string::npos;
        std::string texts;
        for (std::size_t at = 0; (at = all.find('<', at)) != std::string::npos; ++at) {
            texts += all.substr(at, all.find('>', at) + 1 - at);
        }
        return texts;
    }

    int writes = 0;
    bool closed = false;
    bool says_close = false;

 private:
    int fd_;
};

std::string numbers(int from, int to) {
    std::string out;
    for (int i = from; i < to; ++i) {
        out += "<" + std::to_string(i) + ">";
    }
    return out;
}

class HttpSessionTurns : public ::testing::Test {
 protected:
    std::pair<Client, std::shared_ptr<io::HttpSession>> connect() {
        std::array<int, 2> ends{};
        EXPECT_EQ(
            ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()),
            0);
        io::Socket socket(loop_, boost::asio::generic::stream_protocol(AF_UNIX, 0), ends[1]);
        socket.non_blocking(true);
        auto session = std::make_shared<io::HttpSession>(core_, std::move(socket), nullptr,
                                                         io::Peer{.address = {}});
        return {Client(ends[0]), std::move(session)};
    }
    // All that can be done now, at most `most` handlers of the loop. Says how many there were.
    int turn(int most = 10'000) {
        loop_.restart();
        int done = 0;
        while (done < most && loop_.poll_one() > 0) {
            done += 1;
        }
        return done;
    }

    boost::asio::io_context loop_{1};
    ManualClock clock_;
    CollectingSink sink_;
    obs::Log log_{clock_, sink_, obs::Level::kInfo};
    obs::Metrics metrics_;
    SlowHandler handler_{clock_};
    io::ServerShared shared_{
        .handler = handler_, .clock = clock_, .log = log_, .accept_errors = {1, 1s}};
    io::ServerCore core_{shared_, loop_, io::HttpServerConfig{}, 1, metrics_};
};

// Protects: a client that pipelines requests which take long has one of them answered, and then
// those who came later have their turn.
TEST_F(HttpSessionTurns, EndOnceTheirTimeIsGone) {
    auto [many, first] = connect();
    auto [one, second] = connect();
    handler_.takes = 1ms;
    many.ask("/", 0, 10);
    one.ask("/", 0, 1);
    first->start();
    second->start();
    EXPECT_EQ(one.answers(), "<0>");
    EXPECT_EQ(many.answers(), "<0>");
    // Every turn answers one, and the loop is free between them.
    EXPECT_EQ(turn(1), 1);
    EXPECT_EQ(many.answers(), "<1>");
    turn();
    EXPECT_EQ(many.answers(), numbers(2, 10));
    EXPECT_EQ(many.writes, 10);
    EXPECT_FALSE(many.closed);
}

// Protects: just within its time a turn goes on, and its answers leave in as few writes as ever.
TEST_F(HttpSessionTurns, KeepCheapAnswersTogether) {
    auto [client, session] = connect();
    client.ask("/", 0, 90);
    session->start();
    EXPECT_EQ(client.answers(), numbers(0, 90));
    EXPECT_EQ(client.writes, 3);  // of ResponseBatch::kMaxAnswers each

    handler_.takes = 333us;
    client.writes = 0;
    client.ask("/", 0, 12);
    turn(1);
    EXPECT_EQ(client.answers(), numbers(0, 4));
    EXPECT_EQ(client.writes, 1);
    turn();
    EXPECT_EQ(client.answers(), numbers(4, 12));
    EXPECT_EQ(client.writes, 3);
}

// Protects: answers that take time keep their place behind a turn that ended early.
TEST_F(HttpSessionTurns, KeepTheOrderOfTasks) {
    auto [client, session] = connect();
    handler_.takes = 2ms;
    for (int i = 0; i < 12; i += 3) {
        client.ask("/", i, i + 1);
        client.ask("/later", i + 1, i + 2);
        client.ask("/", i + 2, i + 3);
    }
    session->start();
    turn();
    EXPECT_EQ(client.answers(), numbers(0, 12));
}

// Protects: who waits for its turn for longer than a timeout is not the one who is late.
TEST_F(HttpSessionTurns, AreNotTakenForIdleness) {
    auto [client, session] = connect();
    handler_.takes = 1ms;
    client.ask("/", 0, 5);
    session->start();
    clock_.advance(1h);
    session->sweep(clock_.now());
    turn();
    EXPECT_EQ(client.answers(), numbers(0, 5));
    EXPECT_FALSE(client.closed);
    // Once all is answered it is idle, and may be for as long as the settings say.
    clock_.advance(core_.config.idle_timeout);
    session->sweep(clock_.now());
    turn();
    EXPECT_EQ(client.answers(), "");
    EXPECT_FALSE(client.closed);
    clock_.advance(1ms);
    session->sweep(clock_.now());
    turn();
    EXPECT_EQ(client.answers(), "");
    EXPECT_TRUE(client.closed);
}

// Protects: a connection that awaits its turn when the server stops closes with its next answer;
// one that is cut answers nothing more.
TEST_F(HttpSessionTurns, EndWithTheServer) {
    auto [client, session] = connect();
    auto [other, cut] = connect();
    handler_.takes = 1ms;
    client.ask("/", 0, 5);
    other.ask("/", 0, 5);
    session->start();
    cut->start();
    core_.draining = true;
    session->drain();
    cut->cut();
    turn();
    EXPECT_EQ(client.answers(), "<0><1>");
    EXPECT_TRUE(client.says_close);
    EXPECT_EQ(other.answers(), "<0>");
    EXPECT_FALSE(other.says_close);
    EXPECT_TRUE(other.closed);
}

}  // namespace
}  // namespace sluice::test
