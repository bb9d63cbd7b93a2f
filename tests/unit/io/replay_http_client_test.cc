// A replay answers as the recordings say, in their order and time, and names what it has no
// recording of without saying what was searched for.
#include "io/replay_http_client.h"

#include "io/exchange_metrics.h"
#include "support/manual_clock.h"
#include "support/run_task.h"
#include "support/temp_dir.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::io {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 2> kUpstreams = {"serper", "brave"};

ClientRequest request(std::string_view query) {
    ClientRequest made;
    made.method = Method::kPost;
    made.url = "http://127.0.0.1:9/serper/search";
    made.upstream = "serper";
    made.base_bytes = std::string_view("http://127.0.0.1:9/serper").size();
    made.secret_headers.emplace_back("X-API-KEY", Secret("another-key-0001"));
    made.body = R"({"q":")" + std::string(query) + R"("})";
    return made;
}

class ReplayTest : public testing::Test {
 protected:
    void put(const std::string& name, std::string_view text) {
        std::ofstream(dir_.file(name)) << text;
    }
    void put_answer(const std::string& name, std::string_view query, int status,
                    Millis latency = 0ms) {
        put(name,
            R"({"sluice_recording":1,"provider":"serper","request":{"method":"POST","target":"/search","body":{"q":")" +
                std::string(query) + R"("}},"response":{"status":)" + std::to_string(status) +
                R"(,"headers":["X-Name: v"],"body_text":"of )" + std::string(query) +
                R"("},"latency_ms":)" + std::to_string(latency.count()) + "}");
    }
    ReplayHttpClient& client(double speed = 0) {
        auto loaded = Recordings::load(dir_.path().string(), kUpstreams);
        SLUICE_ASSERT(loaded.ok());
        return client_.emplace(*std::move(loaded), speed, clock_, metrics_);
    }
    Result<ClientResponse> send(HttpClient& to, ClientRequest what, Duration within = 10s) {
        what.deadline = clock_.now() + within;
        return test::run_task(io_, clock_, to.send(std::move(what)));
    }
    double counted(const std::string& outcome) {
        return metrics_.counter(kReplayedExchanges, {outcome}).value();
    }

    boost::asio::io_context io_{1};
    test::TempDir dir_;
    test::ManualClock clock_;
    obs::Metrics metrics_;
    std::optional<ReplayHttpClient> client_;
};

// A date to wait for is as far away as it was; seconds, and what has no date of its own, stay.
TEST_F(ReplayTest, ADateToWaitForIsAsFarAwayAsItWas) {
    const std::vector<std::pair<std::string, std::string>> rows = {
        {R"("Date: Mon, 01 Dec 2025 10:00:00 GMT","Retry-After: Mon, 01 Dec 2025 10:01:30 GMT")",
         "90"},
        {R"("Date: Mon, 01 Dec 2025 10:00:00 GMT","Retry-After: 7")", "7"},
        {R"("Retry-After: Mon, 01 Dec 2025 10:01:30 GMT")", "Mon, 01 Dec 2025 10:01:30 GMT"},
    };
    for (const auto& [headers, expected] : rows) {
        put("one.json",
            R"({"sluice_recording":1,"provider":"serper","request":{"method":"POST","target":"/search","body":{"q":"a"}},"response":{"status":429,"headers":[)" +
                headers + R"(],"body_text":""},"latency_ms":0})");
        const auto answer = send(client(), request("a"));
        ASSERT_TRUE(answer.ok());
        EXPECT_EQ(answer->header("retry-after"), expected);
    }
}

TEST_F(ReplayTest, ARequestIsAnsweredByTheRecordingOfTheSameWhateverItsKeyAndBaseUrl) {
    put_answer("1.json", "kiln", 201);
    put_answer("2.json", "glaze", 202);
    const auto answer = send(client(), request("glaze"));
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->status, 202);
    EXPECT_EQ(answer->body, "of glaze");
    EXPECT_EQ(answer->header("x-name"), "v");
    EXPECT_EQ(counted("answered"), 1);
}

TEST_F(ReplayTest, SeveralRecordingsOfARequestPlayInOrderAndTheLastOneRepeats) {
    put_answer("000002-serper.json", "kiln", 502);
    put_answer("000001-serper.json", "kiln", 501);
    put_answer("000010-serper.json", "kiln", 200);
    ReplayHttpClient& replay = client();
    for (const int status : {501, 502, 200, 200, 200}) {
        EXPECT_EQ(send(replay, request("kiln"))->status, status);
    }
}

TEST_F(ReplayTest, WhatNobodyRecordedIsOurFaultAndNamedWithoutTheQuery) {
    put_answer("1.json", "kiln", 200);
    const auto answer = send(client(), request("secret words"));
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, Code::kUnavailable);
    EXPECT_EQ(answer.error().blame, Blame::kGateway);
    EXPECT_EQ(answer.error().message,
              "no recording answers this request: POST serper /search (1 recordings of serper ask "
              "something else)");
    EXPECT_EQ(counted("unmatched"), 1);
}

TEST_F(ReplayTest, ARecordedErrorIsPlayedAsOne) {
    put("1.json",
        R"({"sluice_recording":1,"provider":"serper","request":{"method":"POST","target":"/search","body":{"q":"kiln"}},)"
        R"("error":{"code":"upstream_timeout","blame":"provider","message":"no answer"}})");
    const auto answer = send(client(), request("kiln"));
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, Code::kTimeout);
    EXPECT_EQ(answer.error().message, "no answer");
}

TEST_F(ReplayTest, RecordedTimeIsPlayedAtTheSpeedThatWasAskedFor) {
    put_answer("1.json", "kiln", 200, 800ms);
    for (const auto& [speed, expected] :
         {std::pair{0.0, 0ms}, std::pair{1.0, 800ms}, std::pair{10.0, 80ms}}) {
        const Instant started = clock_.now();
        const auto answer = send(client(speed), request("kiln"));
        ASSERT_TRUE(answer.ok());
        EXPECT_EQ(clock_.now() - started, expected);
        EXPECT_EQ(answer->elapsed, expected);
    }
}

TEST_F(ReplayTest, TheDeadlineHoldsAndAnAnswerMayBeTooLarge) {
    put_answer("1.json", "kiln", 200, 800ms);
    const Instant started = clock_.now();
    EXPECT_EQ(send(client(1), request("kiln"), 500ms).error().code, Code::kTimeout);
    EXPECT_EQ(clock_.now() - started, 500ms);
    EXPECT_EQ(send(client(1), request("kiln"), 0ms).error().blame, Blame::kGateway);
    ClientRequest small = request("kiln");
    small.max_response_bytes = 3;
    EXPECT_EQ(send(client(), std::move(small)).error().code, Code::kPayloadTooLarge);
}

TEST_F(ReplayTest, ACancelledCallEnds) {
    put_answer("1.json", "kiln", 200, 800ms);
    ReplayHttpClient& replay = client(1);
    ClientRequest call = request("kiln");
    call.deadline = clock_.now() + 10s;
    boost::asio::cancellation_signal signal;
    std::optional<Result<ClientResponse>> answer;
    boost::asio::co_spawn(
        io_, store_result(replay.send(std::move(call)), answer),
        boost::asio::bind_cancellation_slot(signal.slot(), [](std::exception_ptr) {}));
    test::run_ready(io_);
    EXPECT_FALSE(answer.has_value());
    signal.emit(boost::asio::cancellation_type::terminal);
    test::run_ready(io_);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->error().code, Code::kCancelled);
}

TEST_F(ReplayTest, BadRecordingsAreAllToldWithFileAndField) {
    put_answer("good.json", "kiln", 200);
    put("a.json", R"({"sluice_recording":1,"provider":"bravo"})");
    put("b.json", "{");
    const auto loaded = Recordings::load(dir_.path().string(), kUpstreams);
    ASSERT_FALSE(loaded.ok());
    const std::string& told = loaded.error().message;
    EXPECT_NE(told.find("2 of 3 recordings can't be used"), std::string::npos) << told;
    EXPECT_NE(told.find("a.json: provider: no such provider; did you mean brave?"),
              std::string::npos)
        << told;
    EXPECT_NE(told.find("b.json: JSON: "), std::string::npos) << told;
    EXPECT_EQ(told.find("good.json"), std::string::npos) << told;
}

TEST_F(ReplayTest, AFolderWithoutRecordingsIsRefused) {
    put("README.md", "not a recording");
    EXPECT_FALSE(Recordings::load(dir_.path().string(), kUpstreams).ok());
    EXPECT_FALSE(Recordings::load(dir_.file("absent"), kUpstreams).ok());
}

}  // namespace
}  // namespace sluice::io
