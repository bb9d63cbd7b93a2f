// Which server is used where there are several: as sentinels say, or as the list has them; and that
// replicas which lost sight of each other meet at one of them again.
#include "redis_fixture.h"
#include "support/redis_server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <list>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using testing::HasSubstr;

using Words = std::vector<std::string>;

// Answers each command as it is told to, on the test's loop.
class CommandServer {
 public:
    using Answer = std::function<std::string(const Words&)>;

    CommandServer(asio::io_context& loop, Answer answer)
        : loop_(loop),
          acceptor_(loop, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
          answer_(std::move(answer)) {
        asio::co_spawn(loop, accept(), [](const std::exception_ptr&) {});
    }
    std::string address() const {
        return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
    }
    std::size_t accepted() const { return peers_.size(); }

 private:
    using Peer = asio::basic_stream_socket<tcp, Executor>;

    Task<void> accept() {
        for (;;) {
            peers_.push_back(co_await acceptor_.async_accept(use_task));
            asio::co_spawn(loop_, serve(peers_.back()), [](const std::exception_ptr&) {});
        }
    }

    // A command is an array of texts, which is what a reply may be, too.
    Task<void> serve(Peer& peer) {
        io::RedisReplyReader reader;
        std::array<char, 4096> room{};
        for (;;) {
            const auto [ec, n] =
                co_await peer.async_read_some(asio::buffer(room), asio::as_tuple(use_task));
            if (ec) {
                co_return;
            }
            reader.feed({room.data(), n});
            std::string out;
            for (io::RedisReply command;
                 reader.next(command) == io::RedisReplyReader::State::kReply;) {
                Words words;
                for (const io::RedisReply& word : command.elements) {
                    words.push_back(word.text);
                }
                out += answer_(words);
            }
            co_await asio::async_write(peer, asio::buffer(out), asio::as_tuple(use_task));
        }
    }

    asio::io_context& loop_;
    asio::basic_socket_acceptor<tcp, Executor> acceptor_;
    std::list<Peer> peers_;
    Answer answer_;
};

// A sentinel that has one master, "main".
struct Sentinel {
    explicit Sentinel(asio::io_context& loop)
        : server(loop, [this](const Words& words) { return answer(words); }) {}

    std::string answer(const Words& words) {
        if (words[0] == "AUTH") {
            return password.empty() ? "-ERR AUTH called without any password configured\r\n"
                   : words.back() == password ? (may_ask = true, "+OK\r\n")
                                              : "-WRONGPASS no\r\n";
        }
        if (!password.empty() && !may_ask) {
            return "-NOAUTH Authentication required.\r\n";
        }
        if (words[0] == "PING") {
            return greeting;
        }
        if (!refusal.empty()) {
            return refusal;
        }
        if (words != Words{"SENTINEL", "get-master-addr-by-name", "main"} || master == 0) {
            return "*-1\r\n";
        }
        const std::string port = std::to_string(master);
        return "*2\r\n$9\r\n127.0.0.1\r\n$" + std::to_string(port.size()) + "\r\n" + port + "\r\n";
    }

    std::uint16_t master = 0;  // its port; 0: not known
    std::string password;
    std::string greeting = "+PONG\r\n";
    std::string refusal;  // of the question for the master
    bool may_ask = false;
    CommandServer server;
};

// A loop with clients, and with the servers that they talk to and that outlive them.
struct Place : RedisFixture {
    // The fixture's own client is not started.
    Place() : RedisFixture("redis://127.0.0.1:1") {}
    ~Place() {
        for (const auto& one : clients) {
            run(one->stop());
        }
    }

    Sentinel& add_sentinel() { return sentinels.emplace_back(loop); }
    CommandServer& add_server(CommandServer::Answer answer) {
        return servers.emplace_back(loop, std::move(answer));
    }
    io::RedisClient& use(const std::string& url) {
        io::RedisConfig config;
        config.endpoints = io::parse_redis_urls(url).value();
        clients.push_back(std::make_unique<io::RedisClient>(loop.get_executor(), config, nullptr,
                                                            clock, random, log, metrics));
        return *clients.back();
    }

    std::list<Sentinel> sentinels;
    std::list<CommandServer> servers;
    std::vector<std::unique_ptr<io::RedisClient>> clients;
};

std::string at(std::uint16_t port) {
    return "127.0.0.1:" + std::to_string(port);
}

TEST(RedisChoice, TheFirstSentinelThatAnswersSaysWhereTheMasterIs) {
    const RedisServer server;
    Place place;
    Sentinel& sentinel = place.add_sentinel();
    sentinel.master = server.port();
    auto& redis =
        place.use("redis+sentinel://127.0.0.1:1," + sentinel.server.address() + "/main/3");
    const Status started = place.run(redis.start());
    ASSERT_TRUE(started.ok()) << started.error().message;
    EXPECT_EQ(redis.view().server, at(server.port()));
    const auto info = place.run(redis.command({"CLIENT", "INFO"}, Instant::max()));
    EXPECT_THAT(info->text, HasSubstr("db=3"));
}

TEST(RedisChoice, AMasterThatSentinelsHaveReplacedIsLeftAlthoughItStillAnswers) {
    const RedisServer before;
    const RedisServer after;
    Place place;
    Sentinel& sentinel = place.add_sentinel();
    sentinel.master = before.port();
    auto& redis = place.use("redis+sentinel://" + sentinel.server.address() + "/main");
    ASSERT_TRUE(place.run(redis.start()).ok());
    sentinel.master = after.port();
    EXPECT_TRUE(
        place.until([&] { return redis.is_up() && redis.view().server == at(after.port()); }));
    EXPECT_EQ(place.metrics.counter(io::kRedisFaults, {"moved"}).value(), 1);
}

// During a failover a sentinel may name a server that is no master yet: the one that works is not
// left for it, and nobody is sent there.
TEST(RedisChoice, AServerThatIsNoMasterIsNotUsedWhateverASentinelSays) {
    const RedisServer primary;
    RedisServer replica({"--replicaof", "127.0.0.1", std::to_string(primary.port())});
    Place place;
    Sentinel& sentinel = place.add_sentinel();
    sentinel.master = replica.port();
    auto& redis = place.use("redis+sentinel://" + sentinel.server.address() + "/main");
    EXPECT_FALSE(place.run(redis.start()).ok());
    EXPECT_EQ(redis.view().reason, "not_serving");
    sentinel.master = primary.port();
    ASSERT_TRUE(place.until([&] { return redis.is_up(); }));
    const std::size_t asked = sentinel.server.accepted();
    sentinel.master = replica.port();
    ASSERT_TRUE(place.until([&] { return sentinel.server.accepted() >= asked + 2; }));
    EXPECT_TRUE(redis.is_up());
    EXPECT_EQ(redis.connections(), 1u);
}

TEST(RedisChoice, WhatASentinelLacksIsAReason) {
    Place place;
    Sentinel& sentinel = place.add_sentinel();
    auto& unknown = place.use("redis+sentinel://" + sentinel.server.address() + "/main");
    EXPECT_FALSE(place.run(unknown.start()).ok());
    EXPECT_EQ(unknown.view().reason, "master_unknown");
    sentinel.password = "sesame";
    auto& closed = place.use("redis+sentinel://:wrong@" + sentinel.server.address() + "/main");
    EXPECT_FALSE(place.run(closed.start()).ok());
    EXPECT_EQ(closed.view().reason, "login_refused");
    // It lets who has no right to ask in, but says nothing of a master; so does a plain server.
    sentinel.password.clear();
    for (const char* refusal :
         {"-NOPERM this user has no permissions to run the 'sentinel' command\r\n",
          "-ERR unknown command 'SENTINEL'\r\n"}) {
        sentinel.refusal = refusal;
        auto& refused = place.use("redis+sentinel://" + sentinel.server.address() + "/main");
        EXPECT_FALSE(place.run(refused.start()).ok());
        EXPECT_EQ(refused.view().reason, "sentinel_refused") << refusal;
    }
    sentinel.refusal = "-NOAUTH Authentication required.\r\n";
    auto& stranger = place.use("redis+sentinel://" + sentinel.server.address() + "/main");
    EXPECT_FALSE(place.run(stranger.start()).ok());
    EXPECT_EQ(stranger.view().reason, "login_refused");
    sentinel.greeting = "-NOPERM this user has no permissions to run the 'ping' command\r\n";
    auto& mute = place.use("redis+sentinel://" + sentinel.server.address() + "/main");
    EXPECT_FALSE(place.run(mute.start()).ok());
    EXPECT_EQ(mute.view().reason, "sentinel_refused");
}

// One login for both, whichever of them wants it.
TEST(RedisChoice, TheLoginIsForTheMasterAndForSentinelsThatWantOne) {
    const RedisServer server({"--requirepass", "sesame"});
    Place place;
    Sentinel& open = place.add_sentinel();
    open.master = server.port();
    Sentinel& closed = place.add_sentinel();
    closed.master = server.port();
    closed.password = "sesame";
    for (Sentinel* sentinel : {&open, &closed}) {
        auto& redis = place.use("redis+sentinel://:sesame@" + sentinel->server.address() + "/main");
        const Status started = place.run(redis.start());
        EXPECT_TRUE(started.ok()) << started.error().message;
    }
}

// Two masters in one list: whoever lost sight of the first one for a moment comes back to it, so
// that all replicas share one again, and it is told.
TEST(RedisChoice, OfTwoMastersInAListTheFirstIsUsedByAllAgain) {
    RedisServer first;
    const RedisServer second;
    Place place;
    const std::string list = first.url() + "," + second.url();
    auto& redis = place.use(list);
    first.kill();
    ASSERT_TRUE(place.run(redis.start()).ok());
    EXPECT_EQ(redis.view().server, at(second.port()));
    EXPECT_FALSE(place.sink.contains("redis_two_masters"));
    first.start();
    EXPECT_TRUE(
        place.until([&] { return redis.is_up() && redis.view().server == at(first.port()); }));
    EXPECT_TRUE(place.sink.contains("redis_two_masters"));
}

TEST(RedisChoice, AReplicaThatStandsFirstIsLookedAtAndLeftAlone) {
    const RedisServer second;
    Place place;
    CommandServer& first = place.add_server([](const Words& words) {
        return words[0] == "ROLE" ? std::string("*1\r\n$5\r\nslave\r\n") : std::string("+OK\r\n");
    });
    auto& redis = place.use("redis://" + first.address() + "," + second.url());
    ASSERT_TRUE(place.run(redis.start()).ok());
    EXPECT_EQ(redis.view().server, at(second.port()));
    ASSERT_TRUE(place.until([&] { return first.accepted() >= 3; }));
    EXPECT_EQ(redis.connections(), 1u);
    EXPECT_EQ(redis.view().server, at(second.port()));
}

TEST(RedisChoice, StopsWhileItLooksForAnother) {
    const RedisServer server;
    bool silent = false;
    Place place;
    Sentinel& sentinel = place.add_sentinel();
    sentinel.master = server.port();
    CommandServer& first = place.add_server(
        [&](const Words& words) { return silent ? std::string() : sentinel.answer(words); });
    auto& redis = place.use("redis+sentinel://" + first.address() + "/main");
    ASSERT_TRUE(place.run(redis.start()).ok());
    silent = true;
    const std::size_t asked = first.accepted();
    ASSERT_TRUE(place.until([&] { return first.accepted() > asked; }));
    // ~Place stops it.
}

}  // namespace
}  // namespace sluice::test
