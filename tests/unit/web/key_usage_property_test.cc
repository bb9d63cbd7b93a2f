// Random calls with keys that have quotas, with periods that end, a store that fails and takes its
// time, and processes that are killed at any moment, beside a plain list of the calls.
#include "base/random.h"
#include "support/collecting_sink.h"
#include "support/fake_key_store.h"
#include "support/manual_clock.h"
#include "support/run_task.h"
#include "web/key_runtime_memory.h"
#include "web/keys.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;

constexpr int kStepsPerSeed = 3'000;

// One process over what another one left in its store.
class OneProcess {
 public:
    explicit OneProcess(const OneProcess* crashed)
        : store(crashed != nullptr ? test::FakeKeyStore(clock, crashed->store)
                                   : test::FakeKeyStore(clock)) {
        if (crashed != nullptr) {
            clock.set_wall(crashed->clock.wall_now());
            fill();
        }
        pool.keep_usage(&writer);
    }
    ~OneProcess() {
        if (!is_stopped) {
            static_cast<void>(run(writer.stop()));
        }
    }

    void fill() { pool.apply(run(store.load(0)).value()); }

    template <class T>
    T run(Task<T> task) {
        return test::run_task(io, clock, std::move(task));
    }
    void advance(Duration by) {
        clock.advance(by);
        test::run_ready(io);
    }

    boost::asio::io_context io{1};
    test::ManualClock clock;
    test::CollectingSink sink;
    obs::Log log{clock, sink, obs::Level::kDebug};
    obs::Metrics metrics;
    test::FakeKeyStore store;
    KeyPool pool{std::make_shared<MemoryKeyRuntime>(clock, RuntimeConfig{})};
    KeyUsageWriter writer{io.get_executor(), pool.runtime(), store, clock, log, metrics};
    bool is_stopped = false;
};

class Sequence {
 public:
    explicit Sequence(std::uint64_t seed) : random_(seed) {
        process_ = std::make_unique<OneProcess>(nullptr);
        add("day", KeyQuota{40, KeyQuota::Per::kDay, {}});
        add("busy", KeyQuota{5'000, KeyQuota::Per::kDay, {}});
        add("total", KeyQuota{3'000, KeyQuota::Per::kTotal, {}});
        add("window", KeyQuota{6, KeyQuota::Per::kWindow, 20s});
        add("long", KeyQuota{900, KeyQuota::Per::kWindow, 10min});
        process_->fill();
    }

    void step() {
        switch (random_.below(16)) {
            case 0:
            case 1:
            case 2:
            case 3:
            case 4:
            case 5:
            case 6:
                begin();
                break;
            case 7:
            case 8:
            case 9:
                end_one();
                break;
            case 10:
                process_->advance(Millis(random_.below(1'500)));
                break;
            case 11:
                if (random_.below(40) == 0) {
                    process_->advance(std::chrono::hours(1 + random_.below(30)));
                }
                break;
            case 12:
                if (random_.below(10) == 0) {
                    process_->store.away = !process_->store.away;
                }
                process_->store.write_time = Millis(random_.below(3) == 0 ? random_.below(300) : 0);
                break;
            case 13:
            case 14:
                static_cast<void>(process_->run(process_->writer.save()));
                break;
            default:
                if (random_.below(20) == 0) {
                    crash();
                } else if (random_.below(40) == 0) {
                    stop();
                }
        }
        check();
    }

    std::size_t made() const { return made_; }

 private:
    void add(const std::string& label, KeyQuota quota) {
        NewKey key;
        key.provider = "serper";
        key.secret = Secret("secret-" + label);
        key.label = label;
        key.quota = quota;
        const Result<KeyRecord> record = process_->run(process_->store.add(std::move(key)));
        quotas_[record.value().id] = quota;
    }

    // As web/sending.cc does it: a call that can't be covered is not made.
    void begin() {
        LeaseStart start = process_->pool.lease(*find_provider_index("serper"), {});
        auto& result = std::get<LeaseResult>(start);
        if (std::holds_alternative<NoKey>(result)) {
            return;
        }
        auto lease = std::make_unique<KeyLease>(std::get<KeyLease>(std::move(result)));
        if (random_.below(4) == 0) {
            process_->advance(Millis(random_.below(3'000)));
        }
        use(std::move(lease));
    }

    void use(std::unique_ptr<KeyLease> lease) {
        while (!lease->is_covered()) {
            if (!lease->count()) {
                return;
            }
            const Instant until = process_->clock.now() + Millis(random_.below(500));
            const bool needs = !lease->is_covered();
            if (needs &&
                process_->run(process_->pool.cover(*lease, until)) != guard::WriteEnd::kWritten) {
                return;
            }
        }
        const std::string id = lease->key().id;
        const std::optional<KeyUsage> row = process_->store.usage_of(id);
        ASSERT_TRUE(row) << "a call that the store knows nothing of";
        ASSERT_FALSE(is_over(id, row->period_start)) << "a call of a period that is over";
        lease->use();
        calls_[std::pair(id, row->period_start)] += 1;
        made_ += 1;
        open_.push_back(std::move(lease));
    }

    void end_one() {
        if (open_.empty()) {
            return;
        }
        std::swap(open_[random_.below(open_.size())], open_.back());
        std::unique_ptr<KeyLease> lease = std::move(open_.back());
        open_.pop_back();
        if (random_.below(4) == 0) {
            use(std::move(lease));  // the same call again
        } else {
            std::move(*lease).settle(Outcome::kSuccess);
        }
    }

    void crash() {
        auto after = std::make_unique<OneProcess>(process_.get());
        open_.clear();
        process_ = std::move(after);
    }

    // An orderly end: the store has the very figures.
    void stop() {
        process_->store.away = false;
        while (!open_.empty()) {
            std::move(*open_.back()).settle(Outcome::kSuccess);
            open_.pop_back();
        }
        EXPECT_TRUE(process_->run(process_->writer.stop()).ok());
        for (const KeyReport& report : process_->run(process_->pool.report())) {
            const auto row = process_->store.usage_of(report.record.id);
            const bool counts = row && !is_over(report.record.id, row->period_start);
            EXPECT_EQ(counts ? row->used : 0, report.health.used) << report.record.label;
        }
        process_->is_stopped = true;
        process_ = std::make_unique<OneProcess>(process_.get());
    }

    // Whether the period that began then is over.
    bool is_over(const std::string& id, WallTime begun) const {
        const KeyQuota& quota = quotas_.at(id);
        const WallTime now = process_->clock.wall_now();
        switch (quota.per) {
            case KeyQuota::Per::kTotal:
                return false;
            case KeyQuota::Per::kWindow:
                return now >= begun + quota.window;
            default:
                return now >= *quota_reset(quota.per, begun);
        }
    }

    // What the store says at this moment is of the present period, and not less than its calls.
    void check() {
        for (const auto& [key, calls] : calls_) {
            const auto& [id, begun] = key;
            EXPECT_LE(calls, quotas_.at(id).limit);
            if (is_over(id, begun)) {
                continue;
            }
            const std::optional<KeyUsage> row = process_->store.usage_of(id);
            ASSERT_TRUE(row);
            ASSERT_EQ(row->period_start, begun) << "a period is forgotten before it is over";
            EXPECT_GE(row->used, calls) << "of " << quotas_.at(id).limit;
        }
    }

    SeededRandom random_;
    std::unique_ptr<OneProcess> process_;
    std::map<std::string, KeyQuota> quotas_;
    std::map<std::pair<std::string, WallTime>, std::int64_t> calls_;  // by key and begin of period
    std::vector<std::unique_ptr<KeyLease>> open_;
    std::size_t made_ = 0;
};

// Whatever happens, and whenever the process dies, the store knows of every call that was made.
TEST(KeyUsageProperty, NothingIsForgotten) {
    std::size_t made = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Sequence sequence(seed);
        for (int i = 0; i < kStepsPerSeed; ++i) {
            sequence.step();
            if (::testing::Test::HasFailure()) {
                FAIL() << "seed " << seed << ", step " << i;
            }
        }
        made += sequence.made();
    }
    EXPECT_GT(made, 5'000U);
}

}  // namespace
}  // namespace sluice::web
