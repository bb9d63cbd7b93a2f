// Budgets: money and calls are reserved before a call to a provider is made, and settled after it
// with what it really cost. Nothing is spent past a budget, however many ask at once, unless a
// provider charges more than was reserved: by what it charges beyond that, for the calls that are
// under way when the budget ends. What the store says is never less than what was spent, even if
// this process is killed: figures in the store run ahead by a block (access/budget_account.h).
#pragma once

#include "access/budget_account.h"
#include "access/budget_books.h"
#include "access/budget_config.h"
#include "access/spend_store.h"
#include "access/spending.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "obs/log.h"
#include "obs/metrics.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sluice::access {

class SharedBudgets;

// Why a call may not be made.
struct BudgetRefusal {
    std::optional<Refused> budget;  // nothing: the store is lost (budgets.on_store_loss) or slow
    std::optional<WallTime> resets_at;  // nothing: not by itself
    // For people, names the setting: "budgets.providers.exa.usd_day has no room for this call until
    // 2026-12-01T00:00:00Z".
    std::string detail;
};

// What is kept for one call. Dropped before mark_sent() it is given back; dropped after that it
// counts as spent, since a provider may charge for an answer that nobody waited for. Belongs to the
// control loop; may outlive its Budgets.
class Reservation {
 public:
    Reservation(Reservation&& other) noexcept;
    Reservation& operator=(Reservation&&) = delete;
    ~Reservation();

    // Whether the call may be sent; otherwise Budgets::cover() is to be awaited first. Where
    // replicas share what is limited, that is so before every call.
    bool is_covered() const { return covered_; }
    // The request is about to leave; it is covered.
    void mark_sent() {
        SLUICE_ASSERT(covered_);
        sent_ = true;
    }
    // The call is over. With what the provider charges for it; with nothing when it charges
    // nothing.
    void settle(const std::optional<Spent>& charged) &&;

 private:
    friend class Budgets;
    struct Ledger;
    explicit Reservation(std::shared_ptr<Ledger> ledger);

    std::shared_ptr<Ledger> ledger_;  // null: settled, or moved from
    std::array<BudgetAccount*, kPurseKinds> accounts_{};
    std::size_t provider_ = 0;
    Spent cost_;
    std::uint64_t write_ = 0;  // with this write the store vouches for it
    bool covered_ = true;
    bool is_shared_ = false;  // all replicas together have to have room for it
    bool sent_ = false;
};

class Budgets {
 public:
    // References outlive it; `control` is the executor of the control loop. `providers` are the
    // names that Purchase::provider counts, and config.providers belong to them.
    // `shared` may be null: nothing is shared with replicas.
    Budgets(Executor control, BudgetConfig config, std::vector<std::string> providers,
            SpendStore& store, Clock& clock, const obs::Log& log, obs::Metrics& metrics,
            SharedBudgets* shared = nullptr);
    ~Budgets();
    Budgets(const Budgets&) = delete;
    Budgets& operator=(const Budgets&) = delete;

    // Control loop, before everything else: reads what was spent until now.
    Task<Status> load();

    // Control loop. Reserves in every purse or in none.
    std::variant<Reservation, BudgetRefusal> reserve(const Purchase& purchase);

    // Control loop. Waits until all replicas together have room for a reservation that is not
    // covered, which may take until `deadline` where Redis was emptied, and the store vouches for
    // it, which takes guard::kMaxWriteWait at most. Nothing when the call may be sent; a refusal
    // when a purse has no room with what other replicas spend, when that is not known and
    // redis.required, when `deadline` comes first, and when the store is lost and
    // budgets.on_store_loss says so. A cancelled wait ends with nothing, too, and the
    // reservation is still not covered: who may be cancelled looks before waiting for anything
    // else.
    Task<std::optional<BudgetRefusal>> cover(Reservation& reservation, Instant deadline);

    // Control loop. What reserve() would say, without reserving; a lost store and what other
    // replicas spend are left out.
    std::optional<BudgetRefusal> would_refuse(const Purchase& purchase) const;

    // Control loop.
    struct Standing {
        std::array<Spent, kPeriods> spent;  // by index_of(), without calls under way
        Limits limits;
    };
    Standing gateway() const;
    Standing provider(std::size_t provider) const;

    // Any executor; the caller resumes on its own. Exact: what is spent is written before it is
    // read. Calls under way are counted at what they are expected to cost.
    Task<Result<Usage>> usage(UsageQuery query);

    // Control loop. Whether a call that something limits may be made while what it uses up can't be
    // written down: budgets.on_store_loss.
    OnStoreLoss on_store_loss() const;

    // Control loop. Whether no call is made by anybody until what it uses up can be written down
    // again: the gateway's budget limits all of them.
    bool is_shut() const;

    // Control loop: limits that hold from the next call on.
    void reconfigure(BudgetConfig config);

    // Control loop, at shutdown, when no call is under way: writes exact figures and ends.
    Task<void> stop();

 private:
    std::shared_ptr<Reservation::Ledger> ledger_;
};

}  // namespace sluice::access
