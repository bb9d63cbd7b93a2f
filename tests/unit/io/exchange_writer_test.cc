// Recordings are readable by their owner only, whole or not there, bounded, and none is lost
// without being counted.
#include "io/exchange_writer.h"

#include "io/exchange_folder.h"
#include "io/exchange_metrics.h"
#include "io/recording_http_client.h"
#include "support/collecting_sink.h"
#include "support/fake_http_client.h"
#include "support/manual_clock.h"
#include "support/run_task.h"
#include "support/temp_dir.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace sluice::io {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class ExchangeWriterTest : public testing::Test {
 protected:
    ExchangeWriterTest() { config_.dir = dir_.file("recordings"); }

    Result<std::unique_ptr<ExchangeWriter>> open() {
        return ExchangeWriter::open(config_, clock_, log_, metrics_);
    }
    double counted(const std::string& outcome) {
        return metrics_.counter(kRecordedExchanges, {outcome}).value();
    }
    // Names in the folder in order, without the lock.
    std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(config_.dir)) {
            if (entry.path().filename() != ".lock") {
                names.push_back(entry.path().filename());
            }
        }
        std::sort(names.begin(), names.end());
        return names;
    }
    std::string text(const std::string& name) const {
        std::ostringstream text;
        text << std::ifstream(config_.dir + "/" + name).rdbuf();
        return text.str();
    }
    static int mode(const std::string& path) {
        struct stat is{};
        EXPECT_EQ(::stat(path.c_str(), &is), 0);
        return static_cast<int>(is.st_mode & 0777);
    }
    static EndedExchange exchange(std::string answer = "{}") {
        ClientRequest request;
        request.url = "https://api.example.com/search";
        request.upstream = "serper";
        request.base_bytes = 23;
        request.secret_headers.emplace_back("X-API-KEY", Secret("marker-key-0001"));
        ClientResponse response;
        response.status = 200;
        response.body = std::move(answer);
        return EndedExchange{std::move(request), std::move(response), 5ms, WallTime{}};
    }

    test::TempDir dir_;
    test::ManualClock clock_;
    test::CollectingSink sink_;
    obs::Log log_{clock_, sink_, obs::Level::kDebug};
    obs::Metrics metrics_;
    RecordConfig config_;
};

TEST_F(ExchangeWriterTest, EachExchangeIsAFileThatOnlyItsOwnerCanRead) {
    {
        auto writer = open();
        ASSERT_TRUE(writer.ok()) << writer.error().message;
        (*writer)->add(exchange());
        (*writer)->add(exchange(R"({"echo":"marker-key-0001"})"));
    }
    EXPECT_EQ(names(), (std::vector<std::string>{"000001-serper.json", "000002-serper.json"}));
    EXPECT_EQ(mode(config_.dir), 0700);
    for (const std::string& name : names()) {
        EXPECT_EQ(mode(config_.dir + "/" + name), 0600);
        EXPECT_EQ(text(name).find("marker-key"), std::string::npos);
        EXPECT_NE(text(name).find("\"target\": \"/search\""), std::string::npos) << text(name);
    }
    EXPECT_EQ(counted("written"), 2);
}

TEST_F(ExchangeWriterTest, ALaterStartGoesOnCountingAndClearsWhatACrashLeft) {
    ASSERT_TRUE(open().ok());
    std::ofstream(config_.dir + "/000041-exa.json") << "{}";
    std::ofstream(config_.dir + "/.draft") << "{ half";
    (*open())->add(exchange());
    EXPECT_EQ(names(), (std::vector<std::string>{"000041-exa.json", "000042-serper.json"}));
}

TEST_F(ExchangeWriterTest, AFullFolderIsToldOnceAndCounted) {
    config_.max_files = 2;
    {
        auto writer = open();
        for (int i = 0; i < 5; ++i) {
            (*writer)->add(exchange());
        }
    }
    EXPECT_EQ(names().size(), 2U);
    EXPECT_EQ(counted("full"), 3);
    EXPECT_EQ(sink_.count(obs::Level::kWarn, "recording_full"), 1U);
}

TEST_F(ExchangeWriterTest, ItsBytesAreBounded) {
    config_.max_bytes = 4096;
    {
        auto writer = open();
        (*writer)->add(exchange());
        (*writer)->add(exchange("\"" + std::string(4000, 'x') + "\""));
        (*writer)->add(exchange());
    }
    EXPECT_EQ(names().size(), 2U);
    EXPECT_EQ(counted("written"), 2);
    EXPECT_EQ(counted("full"), 1);
}

TEST_F(ExchangeWriterTest, AFolderThatOthersMayReadOrThatIsInUseIsRefused) {
    const auto first = open();
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(open().error().code, Code::kConflict);
    config_.dir = dir_.file("open");
    fs::create_directory(config_.dir);
    fs::permissions(config_.dir, fs::perms(0755));
    EXPECT_EQ(open().error().code, Code::kForbidden);
    config_.dir = dir_.file("a-file");
    std::ofstream(config_.dir) << "x";
    EXPECT_EQ(open().error().code, Code::kUnavailable);
}

TEST_F(ExchangeWriterTest, AFileThatCannotBeWrittenIsCountedAndTold) {
    {
        auto writer = open();
        fs::create_directory(config_.dir + "/.draft");
        (*writer)->add(exchange());
    }
    EXPECT_EQ(counted("failed"), 1);
    EXPECT_EQ(sink_.count(obs::Level::kError, "recording_failed"), 1U);
}

TEST_F(ExchangeWriterTest, ACancelledCallIsCountedAndNotWritten) {
    {
        auto writer = open();
        EndedExchange given_up = exchange();
        given_up.outcome = Error{Code::kCancelled, Blame::kCaller, "left", {}};
        (*writer)->add(std::move(given_up));
    }
    EXPECT_EQ(counted("cancelled"), 1);
    EXPECT_TRUE(names().empty());
}

TEST_F(ExchangeWriterTest, ManyAtOnceAreEachWrittenOrCounted) {
    constexpr int kMany = 2'000;
    {
        auto writer = open();
        for (int i = 0; i < kMany; ++i) {
            (*writer)->add(exchange(std::string(1024, 'x')));
        }
    }
    EXPECT_EQ(counted("written") + counted("dropped"), kMany);
    EXPECT_EQ(counted("written"), static_cast<double>(names().size()));
}

TEST_F(ExchangeWriterTest, TheClientPassesOnWhatItRecords) {
    boost::asio::io_context io{1};
    test::FakeHttpClient inner(clock_, [](const ClientRequest& request) {
        test::FakeAnswer answer;
        answer.delay = 7ms;
        answer.body = std::string(request.secret_headers.front().second.reveal());
        return answer;
    });
    {
        auto writer = open();
        RecordingHttpClient client(inner, **writer, clock_);
        ClientRequest request = exchange().request;
        request.deadline = clock_.now() + 1s;
        const auto answer = test::run_task(io, clock_, client.send(std::move(request)));
        ASSERT_TRUE(answer.ok());
        EXPECT_EQ(answer->body, "marker-key-0001") << "the caller gets what the upstream sent";
    }
    const std::string file = text("000001-serper.json");
    EXPECT_EQ(file.find("marker-key"), std::string::npos);
    EXPECT_NE(file.find("\"latency_ms\": 7"), std::string::npos) << file;
    EXPECT_NE(file.find("\"recorded_at\": \"2026-01-01T00:00:00.007Z\""), std::string::npos)
        << file;
}

}  // namespace
}  // namespace sluice::io
