// What a lease costs as the pool grows. The line to look at is the last one: a lease among 16,000
// keys may cost at most 1.5 times one among 16.
//
//     cmake --preset release && ninja -C build/release keys_bench
//     build/release/bench/keys/keys_bench
#include "base/clock.h"
#include "base/random.h"
#include "web/key_runtime_memory.h"
#include "web/keys.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace sluice;

constexpr std::int64_t kFew = 16;
constexpr std::int64_t kMany = 16'000;
constexpr double kMostRatio = 1.5;
// Calls under way at any moment, as the fast lane has them.
constexpr std::size_t kUnderWay = 12;

web::KeySet make_keys(std::int64_t count, bool weighted) {
    web::KeySet set;
    for (std::int64_t i = 0; i < count; ++i) {
        web::StoredKey key;
        key.record.id = "key" + std::to_string(i);
        key.record.provider = web::all_providers().front()->spec().name;
        key.record.weight = weighted ? 1 + static_cast<std::uint32_t>(i % 7) : 1;
        key.secret = Secret("secret-" + std::to_string(i));
        set.keys.push_back(std::move(key));
    }
    return set;
}

web::KeyLease lease(web::KeyPool& pool) {
    web::LeaseStart start = pool.lease(0, {});
    return std::get<web::KeyLease>(std::get<web::LeaseResult>(std::move(start)));
}

// One call with every key, ended in random order: from then on the turns run across the memory.
void shuffle(web::KeyPool& pool) {
    SeededRandom random(1);
    std::vector<std::unique_ptr<web::KeyLease>> leases;
    for (std::size_t i = 0; i < pool.size(); ++i) {
        leases.push_back(std::make_unique<web::KeyLease>(lease(pool)));
    }
    for (std::size_t i = leases.size(); i > 0; --i) {
        std::swap(leases[i - 1], leases[random.below(i)]);
        leases.pop_back();
    }
}

// A call that begins while others are under way and end in their order.
void lease_and_settle(benchmark::State& state, web::Rotation rotation) {
    const SystemClock clock;
    web::KeyPool pool(
        std::make_shared<web::MemoryKeyRuntime>(clock, web::RuntimeConfig{rotation, 100}));
    pool.apply(make_keys(state.range(0), rotation == web::Rotation::kWeighted));
    shuffle(pool);
    std::deque<web::KeyLease> under_way;
    for (auto _ : state) {
        under_way.push_back(lease(pool));
        if (under_way.size() > kUnderWay) {
            std::move(under_way.front()).settle(web::Outcome::kSuccess);
            under_way.pop_front();
        }
    }
}

// Taking over the change of one key: what an operator's change costs the control loop.
void apply_a_change(benchmark::State& state) {
    const SystemClock clock;
    web::KeyPool pool(std::make_shared<web::MemoryKeyRuntime>(clock, web::RuntimeConfig{}));
    web::KeySet set = make_keys(state.range(0), false);
    pool.apply(set);
    set.keys.resize(1);
    for (auto _ : state) {
        set.keys.front().record.weight = 3 - set.keys.front().record.weight;
        pool.apply(set);
    }
}

BENCHMARK_CAPTURE(lease_and_settle, least_used, web::Rotation::kLeastUsed)->Arg(kFew)->Arg(kMany);
BENCHMARK_CAPTURE(lease_and_settle, round_robin, web::Rotation::kRoundRobin)->Arg(kFew)->Arg(kMany);
BENCHMARK_CAPTURE(lease_and_settle, weighted, web::Rotation::kWeighted)->Arg(kFew)->Arg(kMany);
BENCHMARK(apply_a_change)->Arg(kFew)->Arg(kMany);

// Keeps the fastest run of each line, and compares the two sizes of each rotation at the end.
class RatioReporter final : public benchmark::ConsoleReporter {
 public:
    void ReportRuns(const std::vector<Run>& runs) override {
        ConsoleReporter::ReportRuns(runs);
        for (const Run& run : runs) {
            if (run.run_type == Run::RT_Iteration) {
                const double nanoseconds =
                    run.cpu_accumulated_time / static_cast<double>(run.iterations) * 1e9;
                const auto [found, first] = fastest_.try_emplace(run.benchmark_name(), nanoseconds);
                found->second = std::min(found->second, nanoseconds);
            }
        }
    }

    bool within_bound() const {
        bool all = true;
        for (const std::string rotation : {"least_used", "round_robin", "weighted"}) {
            const auto few = fastest_.find("lease_and_settle/" + rotation + "/16");
            const auto many = fastest_.find("lease_and_settle/" + rotation + "/16000");
            if (few == fastest_.end() || many == fastest_.end()) {
                continue;
            }
            const double ratio = many->second / few->second;
            std::printf("%-12s 16 keys %6.1f ns, 16,000 keys %6.1f ns: %.2f times (at most %.1f)\n",
                        rotation.c_str(), few->second, many->second, ratio, kMostRatio);
            all = all && ratio <= kMostRatio;
        }
        return all;
    }

 private:
    std::map<std::string, double> fastest_;
};

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    RatioReporter reporter;
    benchmark::RunSpecifiedBenchmarks(&reporter);
    return reporter.within_bound() ? 0 : 1;
}
