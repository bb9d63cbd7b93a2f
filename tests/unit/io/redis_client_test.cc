// The client with a real Redis: what it does while that works, hangs, dies and comes back.
#include "redis_fixture.h"
#include "support/redis_server.h"
#include "support/temp_dir.h"

#include <boost/asio/cancellation_type.hpp>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace sluice::test {
namespace {

using namespace std::chrono_literals;

TEST(RedisClient, SetsAndGetsBytesAsTheyAre) {
    const RedisServer server;
    RedisFixture redis(server.url());
    ASSERT_TRUE(redis.start().ok());
    const std::string bytes("a\r\n\0b\xff", 6);
    ASSERT_TRUE(redis.command({"SET", "key", bytes}).ok());
    const auto got = redis.command({"GET", "key"});
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(got->text, bytes);
    EXPECT_TRUE(redis.command({"GET", "other"})->is_nil());
    EXPECT_EQ(redis.command({"INCR", "n"})->integer, 1);
    const auto list = redis.command({"MGET", "n", "other"});
    ASSERT_EQ(list->elements.size(), 2U);
    EXPECT_EQ(list->elements[0].text, "1");
    EXPECT_TRUE(list->elements[1].is_nil());
}

TEST(RedisClient, ManyCommandsShareOneConnectionAndEachGetsItsOwnReply) {
    const RedisServer server;
    RedisFixture redis(server.url());
    ASSERT_TRUE(redis.start().ok());
    constexpr int kCommands = 500;
    std::vector<std::shared_ptr<RedisFixture::Call>> calls;
    for (int i = 0; i < kCommands; ++i) {
        calls.push_back(redis.begin({"ECHO", "echo " + std::to_string(i)}));
    }
    for (std::size_t i = 0; i < calls.size(); ++i) {
        ASSERT_TRUE(redis.until([&] { return calls[i]->ended; }));
        EXPECT_EQ((*calls[i]->reply)->text, "echo " + std::to_string(i));
    }
    const auto clients = redis.command({"INFO", "stats"});
    EXPECT_NE(clients->text.find("total_connections_received:2"), std::string::npos)
        << "the connection that waits for the server's start, and one of the client";
}

TEST(RedisClient, AScriptIsSentAgainWhenTheServerHasForgottenIt) {
    RedisServer server;
    RedisFixture redis(server.url());
    ASSERT_TRUE(redis.start().ok());
    const io::RedisScript script("return {KEYS[1], ARGV[1]}");
    const auto run = [&] {
        return redis.run(redis.client->run(script, {"k"}, {"a"}, redis.clock.now() + kPatience));
    };
    for (int round = 0; round < 2; ++round) {
        const auto reply = run();
        ASSERT_TRUE(reply.ok()) << reply.error().message;
        ASSERT_EQ(reply->elements.size(), 2U);
        EXPECT_EQ(reply->elements[1].text, "a");
        ASSERT_TRUE(redis.command({"SCRIPT", "FLUSH"}).ok());
    }
}

TEST(RedisClient, ARefusedCommandSaysWhatRedisCallsItAndNothingOfTheCommand) {
    const RedisServer server;
    RedisFixture redis(server.url());
    ASSERT_TRUE(redis.start().ok());
    ASSERT_TRUE(redis.command({"SET", "text", "x"}).ok());
    const auto wrong_type = redis.command({"LPUSH", "text", "y"});
    ASSERT_FALSE(wrong_type.ok());
    EXPECT_EQ(wrong_type.error().code, Code::kUnavailable);
    EXPECT_NE(wrong_type.error().message.find("WRONGTYPE"), std::string::npos);
    const auto unknown = redis.command({"NOSUCH", "hidden-argument"});
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().message.find("hidden"), std::string::npos);
    EXPECT_FALSE(redis.sink.contains("hidden"));
    EXPECT_TRUE(redis.client->is_up()) << "the connection is as good as before";
    EXPECT_EQ(redis.commands("refused"), 2);
}

TEST(RedisClient, LogsInAsAUserAndChoosesTheDatabase) {
    const RedisServer server(
        {"--user", "alice", "on", ">s3cr:et", "~*", "+@all", "--user", "default", "off"});
    RedisFixture redis("redis://alice:s3cr%3Aet@127.0.0.1:" + std::to_string(server.port()) + "/3");
    ASSERT_TRUE(redis.start().ok());
    EXPECT_EQ(redis.command({"ACL", "WHOAMI"})->text, "alice");
    EXPECT_NE(redis.command({"CLIENT", "INFO"})->text.find(" db=3 "), std::string::npos);
}

TEST(RedisClient, AWrongPasswordIsAReasonAndIsNeverShown) {
    const RedisServer server({"--requirepass", "right"});
    RedisFixture redis("redis://:wrong-password@127.0.0.1:" + std::to_string(server.port()));
    const Status started = redis.start();
    ASSERT_FALSE(started.ok());
    EXPECT_NE(started.error().message.find("login_refused"), std::string::npos);
    EXPECT_EQ(redis.client->view().reason, "login_refused");
    EXPECT_EQ(redis.sink.count(obs::Level::kWarn, "redis_unavailable"), 1U);
    ASSERT_TRUE(redis.until(
        [&] { return redis.metrics.counter(io::kRedisFaults, {"login_refused"}).value() >= 3; }));
    EXPECT_EQ(redis.sink.count(obs::Level::kWarn, "redis_unavailable"), 1U)
        << "once a change, not once an attempt";
    EXPECT_FALSE(redis.sink.contains("wrong-password"));
    EXPECT_EQ(started.error().message.find("wrong-password"), std::string::npos);
}

TEST(RedisClient, AMissingPasswordAndAMissingDatabaseAreToldApart) {
    const RedisServer server({"--requirepass", "right"});
    RedisFixture without(server.url());
    EXPECT_FALSE(without.start().ok());
    EXPECT_EQ(without.client->view().reason, "login_refused");
    RedisFixture beyond("redis://:right@127.0.0.1:" + std::to_string(server.port()) + "/99");
    EXPECT_FALSE(beyond.start().ok());
    EXPECT_EQ(beyond.client->view().reason, "database_refused");
}

TEST(RedisClient, AServerThatIsKilledCostsNothingUntilItIsBack) {
    RedisServer server;
    RedisFixture redis(server.url(), 20s);
    ASSERT_TRUE(redis.start().ok());
    server.kill();
    ASSERT_TRUE(redis.until([&] { return !redis.client->is_up(); }));
    const Instant asked = redis.clock.now();
    for (int i = 0; i < 100; ++i) {
        const auto reply = redis.command({"PING"});
        ASSERT_FALSE(reply.ok());
        EXPECT_EQ(reply.error().code, Code::kUnavailable);
        EXPECT_EQ(reply.error().blame, Blame::kGateway);
    }
    EXPECT_LT(redis.clock.now() - asked, 20s) << "not one timeout";
    EXPECT_EQ(redis.sink.count(obs::Level::kWarn, "redis_unavailable"), 1U);
    server.start();
    ASSERT_TRUE(redis.until([&] { return redis.client->is_up(); }));
    EXPECT_TRUE(redis.command({"PING"}).ok());
    EXPECT_EQ(redis.sink.count(obs::Level::kInfo, "redis_available"), 2U);
}

TEST(RedisClient, AServerThatHangsCostsOneTimeoutAndComesBack) {
    RedisServer server;
    RedisFixture redis(server.url(), 2s);
    ASSERT_TRUE(redis.start().ok());
    server.freeze();
    const auto first = redis.command({"PING"});
    ASSERT_FALSE(first.ok());
    const Instant asked = redis.clock.now();
    for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(redis.command({"PING"}).error().code, Code::kUnavailable);
    }
    EXPECT_LT(redis.clock.now() - asked, 2s) << "not another timeout";
    EXPECT_EQ(redis.metrics.gauge(io::kRedisUp).value(), 0);
    server.resume();
    ASSERT_TRUE(redis.until([&] { return redis.client->is_up(); }));
    EXPECT_TRUE(redis.command({"PING"}).ok());
}

TEST(RedisClient, AHangIsNoticedAlthoughNobodyAsks) {
    RedisServer server;
    RedisFixture redis(server.url());
    ASSERT_TRUE(redis.start().ok());
    server.freeze();
    EXPECT_TRUE(redis.until([&] { return !redis.client->is_up(); }));
    EXPECT_EQ(redis.client->view().reason, "timed_out");
    server.resume();
}

TEST(RedisClient, ASlowServerIsWaitedForAndACallersOwnDeadlineHurtsNobodyElse) {
    RedisServer server;
    RedisFixture redis(server.url());
    ASSERT_TRUE(redis.start().ok());
    EXPECT_TRUE(redis.command({"DEBUG", "SLEEP", "0.1"}).ok());
    const auto impatient = redis.command({"DEBUG", "SLEEP", "0.2"}, 50ms);
    ASSERT_FALSE(impatient.ok());
    EXPECT_EQ(impatient.error().code, Code::kTimeout);
    const auto next = redis.command({"ECHO", "mine"});
    ASSERT_TRUE(next.ok()) << next.error().message;
    EXPECT_EQ(next->text, "mine") << "the late reply is not taken for another's";
}

TEST(RedisClient, ACallerThatLeavesHurtsNobodyElse) {
    RedisServer server;
    RedisFixture redis(server.url());
    ASSERT_TRUE(redis.start().ok());
    const auto call = redis.begin({"DEBUG", "SLEEP", "0.1"});
    call->leave.emit(boost::asio::cancellation_type::terminal);
    ASSERT_TRUE(redis.until([&] { return call->ended; }));
    EXPECT_EQ(redis.commands("cancelled"), 1);
    EXPECT_EQ(redis.command({"ECHO", "mine"})->text, "mine");
}

TEST(RedisClient, AReplyBeyondTheBoundEndsTheConnectionAndNotTheProcess) {
    RedisServer server;
    RedisFixture redis(server.url(), 20s);
    ASSERT_TRUE(redis.start().ok());
    const std::string size = std::to_string(io::RedisReplyReader::kMaxReplyBytes + 1'000'000);
    ASSERT_TRUE(redis.command({"SETRANGE", "big", size, "x"}).ok());
    EXPECT_FALSE(redis.command({"GET", "big"}).ok());
    EXPECT_EQ(redis.metrics.counter(io::kRedisFaults, {"reply_too_large"}).value(), 1);
    ASSERT_TRUE(redis.until([&] { return redis.client->is_up(); }));
    EXPECT_TRUE(redis.command({"PING"}).ok());
}

TEST(RedisClient, ALargeValueGoesOutInPieces) {
    const RedisServer server;
    RedisFixture redis(server.url(), 20s);
    ASSERT_TRUE(redis.start().ok());
    const std::string value(7'000'000, 'v');
    ASSERT_TRUE(redis.command({"SET", "large", value}).ok());
    EXPECT_EQ(redis.command({"GET", "large"})->text, value);
}

TEST(RedisClient, TheNextAddressServesWhenOneDoesNot) {
    RedisServer first;
    const RedisServer second;
    RedisFixture redis(first.url() + "," + second.url());
    ASSERT_TRUE(redis.start().ok());
    first.kill();
    ASSERT_TRUE(redis.until([&] {
        return redis.client->is_up() &&
               redis.client->view().server == "127.0.0.1:" + std::to_string(second.port());
    }));
    EXPECT_TRUE(redis.command({"SET", "k", "v"}).ok());
}

TEST(RedisClient, AReplicaThatTakesNoWritesIsLeftForTheNextAddress) {
    const RedisServer primary;
    RedisServer replica({"--replicaof", "127.0.0.1", std::to_string(primary.port())});
    RedisFixture redis(replica.url() + "," + primary.url());
    // Writing to a replica fails once, and the connection is given up for it.
    const Status started = redis.start();
    ASSERT_TRUE(started.ok()) << started.error().message;
    EXPECT_TRUE(redis.until(
        [&] { return redis.client->is_up() && redis.command({"SET", "k", "v"}).ok(); }));
}

TEST(RedisClient, StopsWithCommandsUnderWay) {
    RedisServer server;
    RedisFixture redis(server.url(), 20s);
    ASSERT_TRUE(redis.start().ok());
    server.freeze();
    const auto call = redis.begin({"PING"});
    redis.run(redis.client->stop());
    ASSERT_TRUE(redis.until([&] { return call->ended; }));
    EXPECT_EQ(call->reply->error().code, Code::kUnavailable);
}

TEST(RedisClient, SpeaksTlsToAServerThatItTrusts) {
    const TempDir folder;
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        "-subj /CN=redis.example -addext subjectAltName=IP:127.0.0.1 -keyout " +
        folder.file("key.pem") + " -out " + folder.file("cert.pem") + " 2>/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
    const std::uint16_t port = free_port();
    const RedisServer server({"--tls-port", std::to_string(port), "--tls-cert-file",
                              folder.file("cert.pem"), "--tls-key-file", folder.file("key.pem"),
                              "--tls-auth-clients", "no"});
    const std::string url = "rediss://127.0.0.1:" + std::to_string(port);
    RedisFixture trusting(url, 20s, io::TlsContext::load_client(folder.file("cert.pem")).value());
    const Status started = trusting.start();
    ASSERT_TRUE(started.ok()) << started.error().message;
    const std::string value(300'000, 'v');
    ASSERT_TRUE(trusting.command({"SET", "large", value}).ok());
    EXPECT_EQ(trusting.command({"GET", "large"})->text, value);

    RedisFixture wary(url, 20s, io::TlsContext::load_client("").value());
    EXPECT_FALSE(wary.start().ok());
    EXPECT_EQ(wary.client->view().reason, "tls_failed");
    // The certificate is for an address, and is asked for a name.
    RedisFixture elsewhere("rediss://localhost:" + std::to_string(port), 20s,
                           io::TlsContext::load_client(folder.file("cert.pem")).value());
    EXPECT_FALSE(elsewhere.start().ok());
    EXPECT_EQ(elsewhere.client->view().reason, "tls_failed");
}

}  // namespace
}  // namespace sluice::test
