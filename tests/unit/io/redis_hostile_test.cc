// The client with something that listens and is no Redis.
#include "redis_fixture.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::ip::tcp;

// Answers each piece that it is sent with the next of `says`, and then says nothing more.
class FakeRedis {
 public:
    FakeRedis(asio::io_context& loop, std::vector<std::string> says)
        : acceptor_(loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
          says_(std::move(says)) {
        asio::co_spawn(loop, serve(), [](const std::exception_ptr&) {});
    }
    void stop() { acceptor_.close(); }
    std::string url() const {
        return "redis://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
    }

 private:
    using Peer = asio::basic_stream_socket<tcp, Executor>;

    Task<void> serve() {
        for (;;) {
            Peer peer = co_await acceptor_.async_accept(use_task);
            for (const std::string& text : says_) {
                std::array<char, 4096> room{};
                const auto [ec, n] =
                    co_await peer.async_read_some(asio::buffer(room), asio::as_tuple(use_task));
                if (ec) {
                    break;
                }
                co_await asio::async_write(peer, asio::buffer(text), asio::as_tuple(use_task));
            }
            open_.push_back(std::move(peer));
        }
    }

    asio::basic_socket_acceptor<tcp, Executor> acceptor_;
    std::vector<std::string> says_;
    std::vector<Peer> open_;
};

struct Hostile {
    std::string_view what;
    std::vector<std::string> says;
    std::string_view reason;
};

TEST(RedisHostile, WhatIsNoRedisIsLeftWithAReason) {
    const std::vector<Hostile> rows{
        {"a web server", {"HTTP/1.1 400 Bad Request\r\n\r\n"}, "garbled"},
        {"a reply of another kind", {":1\r\n+PONG\r\n"}, "garbled"},
        {"an array without end", {"*1000000\r\n"}, "reply_too_large"},
        {"an array of a negative size", {"*-7\r\n"}, "garbled"},
        {"nested too deep",
         {"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"},
         "garbled"},
        {"it still loads its data", {"+OK\r\n-LOADING Redis is loading\r\n"}, "not_serving"},
    };
    for (const Hostile& row : rows) {
        SCOPED_TRACE(row.what);
        RedisFixture place("redis://127.0.0.1:1");
        FakeRedis fake(place.loop, row.says);
        io::RedisClient client(place.loop.get_executor(), redis_config(fake.url()), nullptr,
                               place.clock, place.random, place.log, place.metrics);
        EXPECT_FALSE(place.run(client.start()).ok());
        EXPECT_EQ(client.view().reason, row.reason);
        place.run(client.stop());
        fake.stop();
    }
}

TEST(RedisHostile, AnAnswerThatNobodyAskedForEndsTheConnection) {
    RedisFixture place("redis://127.0.0.1:1");
    FakeRedis fake(place.loop, {"+OK\r\n+PONG\r\n-ERR unknown command\r\n", "+PONG\r\n+MORE\r\n"});
    io::RedisClient client(place.loop.get_executor(), redis_config(fake.url()), nullptr,
                           place.clock, place.random, place.log, place.metrics);
    ASSERT_TRUE(place.run(client.start()).ok());
    EXPECT_TRUE(place.until(
        [&] { return place.metrics.counter(io::kRedisFaults, {"garbled"}).value() >= 1; }));
    place.run(client.stop());
    fake.stop();
}

TEST(RedisHostile, ASilentServerIsGivenUpAfterTheTimeout) {
    RedisFixture place("redis://127.0.0.1:1");
    FakeRedis fake(place.loop, {});
    io::RedisClient client(place.loop.get_executor(), redis_config(fake.url(), 100ms), nullptr,
                           place.clock, place.random, place.log, place.metrics);
    EXPECT_FALSE(place.run(client.start()).ok());
    EXPECT_EQ(client.view().reason, "timed_out");
    place.run(client.stop());
    fake.stop();
}

}  // namespace
}  // namespace sluice::test
