// Random calls by random payers, ending in every way, with days that pass, stores that fail and
// processes that are killed, beside a plain count of what was spent.
#include "base/random.h"
#include "unit/access/budget_harness.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::access {
namespace {

using namespace std::chrono_literals;

constexpr int kStepsPerSeed = 6'000;
constexpr std::int64_t kDayCalls = 120;
constexpr std::int64_t kMonthUsd = 400'000;
constexpr std::int64_t kTokenCalls = 60;
constexpr std::int64_t kUnits = 1;  // of each call

class Sequence {
 public:
    explicit Sequence(std::uint64_t seed) : random_(seed) {
        config_.providers.resize(2);
        config_.providers[0] = calls_per(Period::kDay, kDayCalls);
        config_.providers[0].micro_usd[index_of(Period::kMonth)] = kMonthUsd;
        config_.token_default = calls_per(Period::kDay, kTokenCalls);
        harness_ = std::make_unique<BudgetHarness>(config_);
    }

    void step() {
        switch (random_.below(12)) {
            case 0:
            case 1:
            case 2:
            case 3:
            case 4:
                begin();
                break;
            case 5:
            case 6:
            case 7:
                end_one();
                break;
            case 8:
                harness_->advance(Millis(random_.below(1'500)));
                break;
            case 9:
                if (random_.below(20) == 0) {
                    harness_->clock.set_wall(harness_->clock.wall_now() +
                                             std::chrono::hours(1 + random_.below(60)));
                }
                break;
            case 10:
                if (random_.below(10) == 0) {
                    harness_->store.away = !harness_->store.away;
                }
                break;
            case 11:
                if (random_.below(30) == 0) {
                    crash();
                }
                break;
        }
        check();
    }

 private:
    struct Call {
        Reservation reservation;
        std::int64_t price;
        std::string token;
        std::size_t provider;
    };

    UtcDay today() const { return utc_day(harness_->clock.wall_now()); }

    void begin() {
        const std::string id = "t" + std::to_string(random_.below(3));
        const std::size_t provider = random_.below(2);
        const auto price = static_cast<std::int64_t>(random_.below(4'000));
        auto ready = harness_->reserve(token(id), provider, "k1", price);
        if (auto* reservation = std::get_if<Reservation>(&ready)) {
            reservation->mark_sent();
            auto call = std::make_unique<Call>(Call{std::move(*reservation), price, id, provider});
            open_.push_back(std::move(call));
        }
    }

    void end_one() {
        if (open_.empty()) {
            return;
        }
        const std::size_t i = random_.below(open_.size());
        const std::unique_ptr<Call> ended = std::move(open_[i]);
        Call& call = *ended;
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
        switch (random_.below(3)) {
            case 0:
                std::move(call.reservation).settle(std::nullopt);
                return;
            case 1: {
                // Never more than expected: a provider that charges more can't be held back.
                const auto charged = static_cast<std::int64_t>(
                    random_.below(static_cast<std::uint64_t>(call.price) + 1));
                std::move(call.reservation).settle(Spent{1, kUnits, charged});
                spent(call, charged);
                return;
            }
            default:
                spent(call, call.price);  // dropped after it was sent
        }
    }

    void spent(const Call& call, std::int64_t micro_usd) {
        if (call.provider == 0) {
            calls_on_[today()] += 1;
            usd_in_[first_of_month(today())] += micro_usd;
            serper_ += Spent{1, kUnits, micro_usd};
        }
        token_calls_on_[std::pair(call.token, today())] += 1;
    }

    // The process dies with calls under way; the provider answers all of them.
    void crash() {
        for (const auto& call : open_) {
            spent(*call, call->price);
        }
        auto after = std::make_unique<BudgetHarness>(config_, harness_.get());
        open_.clear();
        harness_ = std::move(after);
        const Spent known = harness_->budgets->provider(0).spent[index_of(Period::kTotal)];
        EXPECT_GE(known.calls, serper_.calls);
        EXPECT_GE(known.units, serper_.units);
        EXPECT_GE(known.micro_usd, serper_.micro_usd);
    }

    void check() {
        EXPECT_LE(calls_on_[today()], kDayCalls);
        EXPECT_LE(usd_in_[first_of_month(today())], kMonthUsd);
        for (const auto& [who, calls] : token_calls_on_) {
            EXPECT_LE(calls, kTokenCalls) << who.first;
        }
        for (const Period period : kEachPeriod) {
            const Spent figure = harness_->budgets->provider(0).spent[index_of(period)];
            EXPECT_GE(figure.calls, 0);
            EXPECT_GE(figure.micro_usd, 0);
        }
        // What the store says already is never less than what was spent.
        const Spent stored = harness_->store.total(Purse::kProvider, "serper");
        EXPECT_GE(stored.calls, serper_.calls);
        EXPECT_GE(stored.units, serper_.units);
        EXPECT_GE(stored.micro_usd, serper_.micro_usd);
    }

    SeededRandom random_;
    BudgetConfig config_;
    std::unique_ptr<BudgetHarness> harness_;
    std::vector<std::unique_ptr<Call>> open_;
    std::map<UtcDay, std::int64_t> calls_on_;
    std::map<UtcDay, std::int64_t> usd_in_;
    std::map<std::pair<std::string, UtcDay>, std::int64_t> token_calls_on_;
    Spent serper_;
};

// Whatever happens, no budget is overrun, no figure is negative, and the store never says less than
// what was spent.
TEST(BudgetsProperty, NothingIsOverrunOrForgotten) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Sequence sequence(seed);
        for (int i = 0; i < kStepsPerSeed; ++i) {
            sequence.step();
            if (::testing::Test::HasFailure()) {
                FAIL() << "seed " << seed << ", step " << i;
            }
        }
    }
}

}  // namespace
}  // namespace sluice::access
