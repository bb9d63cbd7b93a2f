// Budgets of two providers over a store in memory, on a manual clock.
#pragma once

#include "access/budget.h"
#include "access/spend_writer.h"
#include "support/collecting_sink.h"
#include "support/fake_spend_store.h"
#include "support/manual_clock.h"
#include "support/run_task.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sluice::access {

inline Limits calls_per(Period period, std::int64_t calls) {
    Limits limits;
    limits.calls[index_of(period)] = calls;
    return limits;
}

inline Limits usd_per(Period period, std::int64_t micro_usd) {
    Limits limits;
    limits.micro_usd[index_of(period)] = micro_usd;
    return limits;
}

class BudgetHarness {
 public:
    static constexpr std::size_t kSerper = 0;
    static constexpr std::size_t kExa = 1;
    static constexpr std::int64_t kPrice = 1'000;

    explicit BudgetHarness(BudgetConfig config = {}) : BudgetHarness(std::move(config), nullptr) {}
    // One that finds what `crashed` left in its store.
    BudgetHarness(BudgetConfig config, const BudgetHarness* crashed)
        : store(crashed != nullptr ? test::FakeSpendStore(clock, crashed->store)
                                   : test::FakeSpendStore(clock)) {
        if (crashed != nullptr) {
            clock.set_wall(crashed->clock.wall_now());
        }
        config.providers.resize(2);
        budgets = std::make_unique<Budgets>(io.get_executor(), std::move(config),
                                            std::vector<std::string>{"serper", "exa"}, store, clock,
                                            log, metrics);
        EXPECT_TRUE(run(budgets->load()).ok());
    }
    ~BudgetHarness() { stop(); }

    template <class T>
    T run(Task<T> task) {
        return test::run_task(io, clock, std::move(task));
    }
    void stop() {
        if (budgets) {
            test::run_task(io, clock, budgets->stop());
            budgets.reset();
        }
    }
    void advance(Duration by) {
        clock.advance(by);
        test::run_ready(io);
    }

    // A call by this payer: reserved and covered, or refused.
    using Ready = std::variant<Reservation, BudgetRefusal>;
    Ready reserve(const Payer& payer, std::size_t provider = kSerper,
                  std::string_view key_id = "k1", std::int64_t price = kPrice) {
        const Purchase purchase{payer, provider, key_id, {1, 1, price}};
        Ready ready = budgets->reserve(purchase);
        auto* reservation = std::get_if<Reservation>(&ready);
        if (reservation == nullptr || reservation->is_covered()) {
            return ready;
        }
        if (auto refusal = run(budgets->cover(*reservation, clock.now() + Millis(10'000)))) {
            return *std::move(refusal);
        }
        return ready;
    }
    // A whole call; whether it was made.
    bool spend(const Payer& payer = {}, std::size_t provider = kSerper,
               std::string_view key_id = "k1", std::int64_t price = kPrice) {
        Ready ready = reserve(payer, provider, key_id, price);
        auto* reservation = std::get_if<Reservation>(&ready);
        if (reservation == nullptr) {
            return false;
        }
        reservation->mark_sent();
        std::move(*reservation).settle(Spent{1, 1, price});
        return true;
    }
    // Why a call is not made.
    BudgetRefusal refused(const Payer& payer = {}, std::size_t provider = kSerper,
                          std::string_view key_id = "k1") {
        Ready ready = reserve(payer, provider, key_id);
        const auto* refusal = std::get_if<BudgetRefusal>(&ready);
        EXPECT_NE(refusal, nullptr) << "the call was not refused";
        return refusal == nullptr ? BudgetRefusal() : *refusal;
    }

    boost::asio::io_context io{1};
    test::ManualClock clock;
    test::CollectingSink sink;
    obs::Log log{clock, sink, obs::Level::kDebug};
    obs::Metrics metrics;
    test::FakeSpendStore store;
    std::unique_ptr<Budgets> budgets;
};

inline Payer token(std::string id) {
    Payer payer;
    payer.token_id = std::move(id);
    return payer;
}

}  // namespace sluice::access
