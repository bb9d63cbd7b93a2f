// Clients that leave, half and wholly; a server that leaves; Unix sockets; addresses in use.
#include "server_fixture.h"
#include "support/temp_dir.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <vector>

namespace sluice::test {
namespace {

using namespace std::chrono_literals;

// Protects: work for a client that has gone is cancelled, whichever way it went.
TEST(HttpServerLeavingClients, CancelTheirRequests) {
    RunningServer running;
    int cancelled = 0;
    {
        RawClient client = running.connect();
        ASSERT_TRUE(client.get("/wait"));
        ASSERT_TRUE(running.handler.wait_for_started(1));
        client.reset();
        EXPECT_TRUE(running.handler.wait_for_cancelled(++cancelled)) << "a reset";
    }
    {
        RawClient client = running.connect();
        ASSERT_TRUE(client.get("/wait"));
        ASSERT_TRUE(running.handler.wait_for_started(2));
        client.close();
        EXPECT_TRUE(running.handler.wait_for_cancelled(++cancelled)) << "a full close";
    }
    {
        RawClient client = running.connect();
        ASSERT_TRUE(client.get("/wait"));
        ASSERT_TRUE(client.get("/echo"));
        ASSERT_TRUE(running.handler.wait_for_started(3));
        client.close();
        EXPECT_TRUE(running.handler.wait_for_cancelled(++cancelled)) << "with a request unanswered";
    }
    {
        RawClient client = running.connect();
        ASSERT_TRUE(client.get("/wait"));
        ASSERT_TRUE(running.handler.wait_for_started(4));
        ASSERT_TRUE(client.send(std::string(100'000, 'x')));
        client.reset();
        EXPECT_TRUE(running.handler.wait_for_cancelled(++cancelled)) << "with a full buffer";
    }
    running.server->drain();
    EXPECT_NE(running.metrics.expose().find("sluice_http_cancelled_total 4"), std::string::npos);
    EXPECT_NE(running.metrics.expose().find("sluice_http_connections 0"), std::string::npos);
}

// Protects: a client that only closes its sending side gets its answer.
TEST(HttpServerLeavingClients, GetTheirAnswerWhenTheyStillRead) {
    for (const std::string version : {"1.1", "1.0"}) {
        RunningServer running;
        RawClient client = running.connect();
        ASSERT_TRUE(client.send("GET /wait?half HTTP/" + version + "\r\nHost: h\r\n\r\n"));
        ASSERT_TRUE(running.handler.wait_for_started(1));
        client.finish_sending();
        // The server has taken notice when a client that came later has been answered.
        RawClient other = running.connect();
        other.get("/later");
        ASSERT_TRUE(other.read_response());
        running.handler.release();
        const auto response = client.read_response();
        ASSERT_TRUE(response) << version;
        EXPECT_EQ(response->body, "released half");
        EXPECT_EQ(response->header("Connection"), "close");
        EXPECT_EQ(client.interim_responses(), version == "1.1" ? 1U : 0U);
        EXPECT_TRUE(client.is_closed());
    }
}

// Protects: requests that were sent together with the end of the sending side are all answered.
TEST(HttpServerLeavingClients, AreAnsweredWhatTheySentBefore) {
    RunningServer running;
    RawClient client = running.connect();
    ASSERT_TRUE(
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /later HTTP/1.1\r\nHost: h\r\n\r\n"));
    client.finish_sending();
    EXPECT_EQ(client.read_response()->body, "hello");
    EXPECT_EQ(client.read_response()->body, "later");
    EXPECT_TRUE(client.is_closed());
}

// Protects: nothing is left of clients that leave at any point of a request.
TEST(HttpServerLeavingClients, LeaveNothingBehind) {
    RunningServer running;
    const std::string request =
        "GET / HTTP/1.1\r\nHost: h\r\n\r\nPOST /wait HTTP/1.1\r\nHost: h\r\nContent-Length: "
        "3\r\n\r\nabc";
    for (std::size_t n = 0; n <= request.size(); ++n) {
        RawClient client = running.connect();
        ASSERT_TRUE(client.send(request.substr(0, n)));
        if (n % 2 == 0) {
            client.reset();
        }
    }
    running.handler.release();
    running.server->drain();
    EXPECT_NE(running.metrics.expose().find("sluice_http_connections 0"), std::string::npos);
}

// Protects: work on another thread is cancelled there, and a cancellation that meets the end of the
// work on its way does no harm.
TEST(HttpServerLeavingClients, CancelWorkOnOtherThreads) {
    boost::asio::io_context elsewhere(1);
    auto work = boost::asio::make_work_guard(elsewhere);
    std::thread thread([&elsewhere] { elsewhere.run(); });
    {
        io::HttpServerConfig config;
        config.threads = 2;
        RunningServer running(config);
        running.handler.set_elsewhere(elsewhere.get_executor());
        RawClient patient = running.connect();
        ASSERT_TRUE(patient.get("/elsewhere?patient"));
        std::vector<RawClient> leaving;
        for (int i = 0; i < 20; ++i) {
            leaving.push_back(running.connect());
            ASSERT_TRUE(leaving.back().get("/elsewhere"));
        }
        ASSERT_TRUE(running.handler.wait_for_started(21));
        for (int i = 0; i < 10; ++i) {
            leaving[static_cast<std::size_t>(i)].reset();
        }
        EXPECT_TRUE(running.handler.wait_for_cancelled(10));
        // The others leave while they are being answered.
        std::thread releasing([&running] { running.handler.release(); });
        for (std::size_t i = 10; i < 20; ++i) {
            leaving[i].reset();
        }
        releasing.join();
        EXPECT_EQ(patient.read_response()->body, "released patient");
    }
    work.reset();
    thread.join();
}

// Protects: a drain closes idle connections at once, and lets a request under way finish.
TEST(HttpServerDrain, ClosesIdleConnectionsAndFinishesRequests) {
    RunningServer running;
    RawClient idle = running.connect();
    ASSERT_TRUE(idle.get("/"));
    ASSERT_TRUE(idle.read_response());
    RawClient busy = running.connect();
    ASSERT_TRUE(busy.get("/wait?last"));
    ASSERT_TRUE(running.handler.wait_for_started(1));

    std::thread draining([&running] { running.server->drain(); });
    EXPECT_TRUE(idle.is_closed());
    running.handler.release();
    const auto response = busy.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, "released last");
    EXPECT_EQ(response->header("Connection"), "close");
    busy.close();
    draining.join();
}

// Protects: what does not finish within the drain timeout is cut, and its work is cancelled.
TEST(HttpServerDrain, CutsWhatTakesTooLong) {
    io::HttpServerConfig config;
    config.drain_timeout = 20ms;
    RunningServer running(config);
    RawClient busy = running.connect();
    ASSERT_TRUE(busy.get("/wait"));
    RawClient slow = running.connect();
    ASSERT_TRUE(slow.send("GET /"));
    ASSERT_TRUE(running.handler.wait_for_started(1));
    running.server->drain();
    EXPECT_TRUE(running.handler.wait_for_cancelled(1));
    EXPECT_TRUE(busy.is_closed());
    EXPECT_TRUE(slow.is_closed());
}

// Protects: a loop that somebody else runs can be one of the server's threads, with work of its own
// before, during and after.
TEST(HttpServerDrain, LeavesASharedLoopRunning) {
    boost::asio::io_context loop(1);
    auto work = boost::asio::make_work_guard(loop);
    std::thread thread([&loop] { loop.run(); });
    RunningServer outer;
    for (int round = 0; round < 20; ++round) {
        io::HttpServerConfig config;
        config.listen = {"127.0.0.1:0"};
        config.threads = round % 2 + 1;
        io::HttpServer server(config, outer.handler, outer.clock, outer.random, outer.log,
                              outer.metrics);
        server.share_loop(loop);
        ASSERT_TRUE(server.start().ok());
        std::vector<RawClient> clients;
        for (int i = 0; i < 4; ++i) {
            clients.emplace_back(server.addresses().front());
            ASSERT_TRUE(clients.back().get(i % 2 == 0 ? "/" : "/later"));
            EXPECT_TRUE(clients.back().read_response());
        }
        server.drain();
        for (RawClient& client : clients) {
            EXPECT_TRUE(client.is_closed());
        }
    }
    EXPECT_FALSE(loop.stopped());
    work.reset();
    thread.join();
}

// Protects: nobody is accepted any more once the server drains.
TEST(HttpServerDrain, FreesTheAddress) {
    RunningServer running;
    io::HttpServerConfig config;
    config.listen = {running.address};
    config.threads = 1;
    io::HttpServer second(config, running.handler, running.clock, running.random, running.log,
                          running.metrics);
    const Status taken = second.start();
    ASSERT_FALSE(taken.ok());
    EXPECT_EQ(taken.error().code, Code::kUnavailable);
    EXPECT_NE(taken.error().message.find(running.address), std::string::npos);
    running.server->drain();
    EXPECT_TRUE(second.start().ok());
    RawClient client(running.address);
    ASSERT_TRUE(client.get("/"));
    EXPECT_TRUE(client.read_response());
}

// Protects: clients keep coming and going while a server is stopped: nothing hangs or leaks.
TEST(HttpServerDrain, CopesWithClientsUnderWay) {
    for (int round = 0; round < 5; ++round) {
        io::HttpServerConfig config;
        config.threads = 2;
        config.drain_timeout = 100ms;
        RunningServer running(config);
        std::atomic<bool> stop = false;
        std::atomic<int> answered = 0;
        std::vector<std::thread> clients;
        for (int i = 0; i < 4; ++i) {
            clients.emplace_back(
                [&stop, &answered, i](RawClient client) {
                    while (!stop) {
                        if (!client.get(i % 2 == 0 ? "/" : "/later") || !client.read_response()) {
                            return;
                        }
                        answered += 1;
                    }
                },
                running.connect());
        }
        while (answered < 50) {
            std::this_thread::yield();
        }
        running.server->drain();
        stop = true;
        for (std::thread& client : clients) {
            client.join();
        }
    }
}

// Protects: a Unix socket serves its owner only, and says so to handlers.
TEST(HttpServerUnixSocket, ServesItsOwner) {
    const TempDir directory;
    const std::string path = directory.file("s");
    {
        RunningServer running({}, path);
        struct stat info{};
        ASSERT_EQ(::stat(path.c_str(), &info), 0);
        EXPECT_EQ(info.st_mode & 0777, 0600U);
        RawClient client(path);
        ASSERT_TRUE(client.get("/echo"));
        EXPECT_TRUE(client.read_response()->body.starts_with("GET /echo? from unix"));
        ASSERT_TRUE(client.get("/wait"));
        ASSERT_TRUE(running.handler.wait_for_started(1));
        client.close();
        EXPECT_TRUE(running.handler.wait_for_cancelled(1));
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

// Protects: whoever may open the Unix socket gets in while other connections take every place.
TEST(HttpServerUnixSocket, HasPlacesOfItsOwn) {
    TempDir dir;
    const std::string path = dir.file("sluice.sock");
    io::HttpServerConfig config;
    config.max_connections = 1;
    RunningServer running(config, path);
    RawClient flood = running.connect();
    ASSERT_TRUE(flood.get("/"));
    ASSERT_TRUE(flood.read_response());
    EXPECT_TRUE(running.connect().is_closed());
    std::vector<RawClient> operators;
    for (std::size_t i = 0; i < io::HttpServerConfig::kMaxUnixConnections; ++i) {
        operators.emplace_back(path);
        ASSERT_TRUE(operators.back().get("/"));
        ASSERT_TRUE(operators.back().read_response()) << i;
    }
    EXPECT_TRUE(RawClient(path).is_closed());
    // Nor do they take places from others.
    ASSERT_TRUE(flood.get("/"));
    EXPECT_TRUE(flood.read_response());
}

// Protects: what a crash leaves behind is replaced; what is in use or is no socket is not.
TEST(HttpServerUnixSocket, ReplacesOnlyStaleSockets) {
    const TempDir directory;
    const std::string path = directory.file("s");
    RunningServer running({}, path);
    io::HttpServerConfig config;
    config.listen = {};
    config.threads = 2;
    const auto try_to_serve = [&](const std::string& where) {
        io::HttpServer second(config, running.handler, running.clock, running.random, running.log,
                              running.metrics);
        second.add_unix_socket(where);
        return second.start();
    };
    EXPECT_EQ(try_to_serve(path).error().code, Code::kUnavailable);
    RawClient client(path);
    ASSERT_TRUE(client.get("/"));
    EXPECT_TRUE(client.read_response());

    const std::string stale = directory.file("stale");
    std::filesystem::rename(path, stale);
    client.close();
    running.server->drain();
    ASSERT_TRUE(std::filesystem::exists(stale));
    EXPECT_TRUE(try_to_serve(stale).ok());

    const std::string file = directory.file("file");
    std::ofstream(file) << "keep me";
    EXPECT_EQ(try_to_serve(file).error().code, Code::kUnavailable);
    EXPECT_TRUE(std::filesystem::exists(file));
    EXPECT_EQ(try_to_serve(directory.file(std::string(200, 'x'))).error().code,
              Code::kInvalidRequest);
}

// Protects: a start that fails between binding and serving leaves no socket behind, and one that
// could not bind leaves another's alone.
TEST(HttpServerUnixSocket, GoesWithoutHavingServed) {
    const TempDir directory;
    const std::string path = directory.file("s");
    RunningServer running({}, directory.file("other"));
    io::HttpServerConfig config;
    config.listen = {};
    {
        io::HttpServer server(config, running.handler, running.clock, running.random, running.log,
                              running.metrics);
        server.add_unix_socket(path);
        server.add_unix_socket(directory.file("other"));
        EXPECT_FALSE(server.bind().ok());
    }
    EXPECT_TRUE(std::filesystem::exists(directory.file("other")));
    {
        io::HttpServer server(config, running.handler, running.clock, running.random, running.log,
                              running.metrics);
        server.add_unix_socket(path);
        ASSERT_TRUE(server.bind().ok());
        EXPECT_TRUE(std::filesystem::exists(path));
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

// Protects: addresses that can't be served are named before anything is served.
TEST(HttpServerStart, NamesAddressesThatAreUnusable) {
    RunningServer running;
    for (const std::string address :
         {"", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
          "::1:80", "[::1]", "[localhost]:80", "127.0.0.1:-1"}) {
        io::HttpServerConfig config;
        config.listen = {address};
        io::HttpServer server(config, running.handler, running.clock, running.random, running.log,
                              running.metrics);
        const Status status = server.start();
        ASSERT_FALSE(status.ok()) << address;
        EXPECT_EQ(status.error().code, Code::kInvalidRequest) << address;
    }
}

// Protects: several addresses are served at once, reported in order with their real ports.
TEST(HttpServerStart, ServesEveryAddress) {
    RunningServer running;
    io::HttpServerConfig config;
    config.listen = {"127.0.0.1:0", "127.0.0.2:0", "localhost:0"};
    config.threads = 2;
    io::HttpServer server(config, running.handler, running.clock, running.random, running.log,
                          running.metrics);
    ASSERT_TRUE(server.start().ok());
    const std::vector<std::string> addresses = server.addresses();
    ASSERT_EQ(addresses.size(), 3U);
    EXPECT_TRUE(addresses[1].starts_with("127.0.0.2:"));
    for (const std::string& address : {addresses[0], addresses[1]}) {
        RawClient client(address);
        ASSERT_TRUE(client.get("/"));
        EXPECT_TRUE(client.read_response()) << address;
    }
}

}  // namespace
}  // namespace sluice::test
