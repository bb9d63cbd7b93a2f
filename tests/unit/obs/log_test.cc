#include "obs/log.h"

#include "base/clock.h"
#include "base/random.h"
#include "support/collecting_sink.h"
#include "support/manual_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <fcntl.h>
#include <string>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <vector>

namespace sluice::obs {
namespace {

using namespace std::chrono_literals;

// What must never be logged does not compile.
static_assert(!std::is_constructible_v<LogField, std::string_view, Secret>);
static_assert(!std::is_constructible_v<LogField, std::string_view, const Secret&>);
static_assert(!std::is_constructible_v<LogField, std::string_view, QueryText>);
static_assert(!std::is_constructible_v<LogField, std::string_view, const QueryText&>);
// A pointer would otherwise be logged as "true".
static_assert(!std::is_constructible_v<LogField, std::string_view, const Secret*>);
static_assert(!std::is_constructible_v<LogField, std::string_view, void*>);
static_assert(std::is_constructible_v<LogField, std::string_view, const char*>);
static_assert(std::is_constructible_v<LogField, std::string_view, bool>);

struct LogTest : testing::Test {
    test::ManualClock clock;
    test::CollectingSink sink;
    Log log{clock, sink, Level::kInfo};
};

TEST_F(LogTest, ALineIsOneJsonObjectWithTimeLevelEventAndTheFieldsInOrder) {
    clock.set_wall(WallTime{} + 1'709'210'096'007ms);  // 2024-02-29, a leap day
    log.warn("circuit_opened", {{"provider", "serper"},
                                {"open_for_ms", Millis{1500}},
                                {"failures", 3},
                                {"since_start", std::size_t{7}},
                                {"ratio", 0.5},
                                {"probing", false}});
    ASSERT_EQ(sink.lines().size(), 1U);
    EXPECT_EQ(sink.lines()[0],
              R"({"ts":"2024-02-29T12:34:56.007Z","level":"warn","event":"circuit_opened",)"
              R"("provider":"serper","open_for_ms":1500,"failures":3,"since_start":7,)"
              R"("ratio":0.5,"probing":false})");
    EXPECT_EQ(sink.count(Level::kWarn, "circuit_opened"), 1U);
}

TEST_F(LogTest, TextFromOutsideCannotBreakOutOfItsFieldOrItsLine) {
    log.info("config_loaded", {{"path", std::string("a\"b\\c\n\x01{\"x\":1}")}});
    ASSERT_EQ(sink.lines().size(), 1U);
    EXPECT_NE(sink.lines()[0].find(R"("path":"a\"b\\c\n\u0001{\"x\":1}")"), std::string::npos)
        << sink.lines()[0];
    EXPECT_EQ(sink.lines()[0].find('\n'), std::string::npos);
}

TEST_F(LogTest, ALongFieldIsCutWithoutSplittingACharacter) {
    // The 2,048th byte is in the middle of a three-byte character.
    log.info("reply_refused", {{"message", std::string(2047, 'a') + "€" + std::string(5000, 'b')}});
    ASSERT_EQ(sink.lines().size(), 1U);
    EXPECT_NE(sink.lines()[0].find(std::string(2047, 'a') + "...\"}"), std::string::npos);
}

TEST_F(LogTest, ARequestIdIsLoggedAsItsText) {
    SeededRandom random(7);
    const RequestId id = RequestId::make(random);
    const LogField field("request_id", id);
    EXPECT_EQ(std::get<std::string_view>(field.value), id.text());
}

TEST_F(LogTest, OnlyLinesOfTheLowestLevelAndAboveAreWritten) {
    log.debug("cache_read");
    EXPECT_TRUE(sink.lines().empty());
    EXPECT_FALSE(log.enabled(Level::kDebug));
    log.set_lowest(Level::kError);
    log.info("server_started");
    log.warn("store_slow");
    log.error("store_lost");
    ASSERT_EQ(sink.lines().size(), 1U);
    EXPECT_NE(sink.lines()[0].find(R"("level":"error","event":"store_lost"})"), std::string::npos);
    log.set_lowest(Level::kDebug);
    log.debug("cache_read");
    EXPECT_EQ(sink.lines().size(), 2U);
}

TEST(LogLimiterTest, AnErrorThatRepeatsIsCountedInsteadOfWrittenUntilTheIntervalPasses) {
    LogLimiter limiter(2, 1000ms);
    std::uint64_t suppressed = 99;
    Instant now{};
    EXPECT_TRUE(limiter.allow(now, suppressed));
    EXPECT_EQ(suppressed, 0U);
    EXPECT_TRUE(limiter.allow(now, suppressed));
    EXPECT_FALSE(limiter.allow(now, suppressed));
    EXPECT_FALSE(limiter.allow(now + 999ms, suppressed));
    EXPECT_TRUE(limiter.allow(now + 1000ms, suppressed));
    EXPECT_EQ(suppressed, 2U);
    EXPECT_TRUE(limiter.allow(now + 1000ms, suppressed));
    EXPECT_EQ(suppressed, 0U);
    EXPECT_FALSE(limiter.allow(now + 1999ms, suppressed));
}

// Puts a pipe where stderr is, for as long as it lives. The pipe takes 64 KiB before it blocks.
class StderrPipe {
 public:
    StderrPipe() : saved_(dup(STDERR_FILENO)) {
        std::array<int, 2> ends{};
        EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
        read_end_ = ends[0];
        dup2(ends[1], STDERR_FILENO);
        close(ends[1]);
    }
    ~StderrPipe() {
        restore();
        close(read_end_);
    }
    StderrPipe(const StderrPipe&) = delete;
    StderrPipe& operator=(const StderrPipe&) = delete;

    // Closes the pipe's writing end: read_all() then comes to an end.
    void restore() {
        if (saved_ >= 0) {
            dup2(saved_, STDERR_FILENO);
            close(saved_);
            saved_ = -1;
        }
    }

    std::string read_all() {
        std::string all;
        std::array<char, 4096> chunk{};
        ssize_t n = 0;
        while ((n = read(read_end_, chunk.data(), chunk.size())) > 0) {
            all.append(chunk.data(), static_cast<std::size_t>(n));
        }
        return all;
    }

 private:
    int saved_;
    int read_end_ = -1;
};

std::size_t count_lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(StderrSinkTest, FlushReturnsWhenEveryLineIsOut) {
    StderrPipe out;
    const auto sink = make_stderr_sink();
    sink->write(Level::kInfo, R"({"event":"first"})");
    sink->write(Level::kError, R"({"event":"second","text":"{} %v"})");
    sink->flush();
    out.restore();
    EXPECT_EQ(out.read_all(), "{\"event\":\"first\"}\n{\"event\":\"second\",\"text\":\"{} %v\"}\n");
    EXPECT_EQ(sink->dropped(), 0U);
}

TEST(StderrSinkTest, DestroyingTheSinkWritesWhatIsQueued) {
    StderrPipe out;
    auto sink = make_stderr_sink();
    for (int i = 0; i < 500; ++i) {
        sink->write(Level::kInfo, "{}");
    }
    sink.reset();
    out.restore();
    EXPECT_EQ(count_lines(out.read_all()), 500U);
}

TEST(StderrSinkTest, AStuckTerminalCostsOldLinesAndNeverAWait) {
    constexpr std::uint64_t kLines = 3000;
    StderrPipe out;
    auto sink = make_stderr_sink();
    // Nobody reads, so the background thread blocks after 64 KiB; all of these still return.
    for (std::uint64_t i = 0; i < kLines; ++i) {
        sink->write(Level::kInfo, "{\"n\":" + std::to_string(i) + "}" + std::string(500, ' '));
    }
    const std::uint64_t dropped = sink->dropped();
    EXPECT_GT(dropped, 1500U);
    std::string written;
    std::thread reader([&] { written = out.read_all(); });
    sink.reset();
    out.restore();
    reader.join();
    EXPECT_EQ(count_lines(written) + dropped, kLines);
    EXPECT_NE(written.find("{\"n\":2999}"), std::string::npos) << "the newest line is kept";
}

}  // namespace
}  // namespace sluice::obs
