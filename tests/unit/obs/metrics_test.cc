#include "obs/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace sluice::obs {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const MetricSpec kAttempts{MetricType::kCounter,
                           "sluice_web_attempts_total",
                           "Calls to providers.",
                           {"provider", "outcome"}};
const MetricSpec kQueued{MetricType::kGauge, "sluice_web_lane_queued", "Requests that wait.", {}};
const MetricSpec kSeconds{MetricType::kHistogram,
                          "sluice_http_request_seconds",
                          "Time to the answer.",
                          {"door"},
                          {0.1, 1.0}};

TEST(MetricsTest, EveryTypeIsExposedInTheTextFormatWithHelpAndLabels) {
    Metrics metrics;
    metrics.counter(kAttempts, {"serper", "ok"}).add();
    metrics.counter(kAttempts, {"serper", "ok"}).add(2);
    metrics.gauge(kQueued).set(4);
    metrics.gauge(kQueued).add(-1);
    metrics.histogram(kSeconds, {"rest"}).observe(0.5);
    const std::string text = metrics.expose();
    EXPECT_THAT(text, HasSubstr("# HELP sluice_web_attempts_total Calls to providers.\n"
                                "# TYPE sluice_web_attempts_total counter\n"));
    EXPECT_THAT(text,
                HasSubstr("sluice_web_attempts_total{outcome=\"ok\",provider=\"serper\"} 3\n"));
    EXPECT_THAT(text, HasSubstr("sluice_web_lane_queued 3\n"));
    EXPECT_THAT(text,
                HasSubstr("sluice_http_request_seconds_bucket{door=\"rest\",le=\"0.1\"} 0\n"));
    EXPECT_THAT(text, HasSubstr("sluice_http_request_seconds_bucket{door=\"rest\",le=\"1\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("sluice_http_request_seconds_sum{door=\"rest\"} 0.5\n"));
}

TEST(MetricsTest, HandlesOfTheSameLabelsAreTheSameMetric) {
    Metrics metrics;
    const Counter first = metrics.counter(kAttempts, {"exa", "ok"});
    const Counter again = metrics.counter(kAttempts, {"exa", "ok"});
    const Counter other = metrics.counter(kAttempts, {"exa", "timeout"});
    first.add();
    again.add();
    EXPECT_EQ(first.value(), 2);
    EXPECT_EQ(other.value(), 0);
}

TEST(MetricsTest, AHandleThatWasNeverResolvedDoesNothing) {
    Counter().add();
    Gauge().set(1);
    Gauge().add(1);
    Histogram().observe(1);
    EXPECT_EQ(Counter().value(), 0);
    EXPECT_EQ(Gauge().value(), 0);
}

TEST(MetricsTest, LabelValuesAreEscaped) {
    Metrics metrics;
    metrics.counter(kAttempts, {"a\"b\\c\nd", "ok"}).add();
    EXPECT_THAT(metrics.expose(), HasSubstr(R"(provider="a\"b\\c\nd"} 1)"));
}

TEST(MetricsTest, PastAThousandLabelSetsEveryFurtherOneIsCountedTogether) {
    Metrics metrics;
    const Counter early = metrics.counter(kAttempts, {"p0", "ok"});
    for (int i = 1; i < 1000; ++i) {
        metrics.counter(kAttempts, {"p" + std::to_string(i), "ok"});
    }
    metrics.counter(kAttempts, {"p1000", "ok"}).add();
    metrics.counter(kAttempts, {"p1001", "ok"}).add();
    metrics.counter(kAttempts, {"p0", "ok"}).add();
    EXPECT_EQ(early.value(), 1) << "a set from before the limit keeps its own series";
    const std::string text = metrics.expose();
    EXPECT_THAT(text, HasSubstr("{outcome=\"_other\",provider=\"_other\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("provider=\"p999\"} 0\n"));
    EXPECT_THAT(text, Not(HasSubstr("p1000")));
}

TEST(MetricsTest, ASampledMetricShowsWhatItsOwnerCountedAtEachScrape) {
    const MetricSpec lines{MetricType::kCounter, "sluice_log_lines_total", "Lines.", {}};
    Metrics metrics;
    double counted = 3;
    double waiting = 9;
    metrics.sampled(lines, {}, [&] { return counted; });
    metrics.sampled(kQueued, {}, [&] { return waiting; });
    EXPECT_THAT(metrics.expose(), HasSubstr("sluice_log_lines_total 3\n"));
    EXPECT_THAT(metrics.expose(), HasSubstr("sluice_log_lines_total 3\n"));
    counted = 5;
    waiting = 2;
    const std::string text = metrics.expose();
    EXPECT_THAT(text, HasSubstr("sluice_log_lines_total 5\n"));
    EXPECT_THAT(text, HasSubstr("sluice_web_lane_queued 2\n"));
}

TEST(MetricsTest, ThreadsResolveCountAndExposeAtOnce) {
    constexpr int kThreads = 4;
    constexpr int kRounds = 500;
    Metrics metrics;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&metrics, t] {
            for (int i = 0; i < kRounds; ++i) {
                metrics.counter(kAttempts, {"p" + std::to_string(i % 7), "ok"}).add();
                metrics.histogram(kSeconds, {"rest"}).observe(t);
                if (i % 100 == 0) {
                    EXPECT_FALSE(metrics.expose().empty());
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    double total = 0;
    for (int i = 0; i < 7; ++i) {
        total += metrics.counter(kAttempts, {"p" + std::to_string(i), "ok"}).value();
    }
    EXPECT_EQ(total, kThreads * kRounds);
}

TEST(MetricsDeathTest, AMistakeInADeclarationOrItsUseStopsTheProgram) {
    Metrics metrics;
    EXPECT_DEATH(metrics.counter(kAttempts, {"serper"}), "values.size");
    EXPECT_DEATH(metrics.gauge(kAttempts, {"serper", "ok"}), "kGauge");
    const MetricSpec renamed{MetricType::kCounter, kQueued.name, "Same name, other type.", {}};
    metrics.gauge(kQueued);
    EXPECT_DEATH(metrics.counter(renamed), "type");
    const MetricSpec no_buckets{MetricType::kHistogram, "sluice_x_seconds", "No buckets.", {}};
    EXPECT_DEATH(metrics.histogram(no_buckets), "buckets");
}

TEST(DescribeMetricsTest, TheTableIsSortedByNameAndKeepsPipesInsideCells) {
    const MetricSpec piped{MetricType::kGauge, "sluice_a_bytes", "One | two.", {}};
    const std::string page = describe_metrics({&kAttempts, &piped});
    EXPECT_THAT(page, StartsWith("# Metrics\n"));
    EXPECT_THAT(page, EndsWith("\n\n| metric | type | labels | meaning |\n"
                               "|---|---|---|---|\n"
                               "| `sluice_a_bytes` | gauge |  | One \\| two. |\n"
                               "| `sluice_web_attempts_total` | counter | `provider`, `outcome` | "
                               "Calls to providers. |\n"));
}

}  // namespace
}  // namespace sluice::obs
