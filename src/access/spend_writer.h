// Writes accounts to the store: those that a call waits for at once, the others once in a while.
// Belongs to the control loop.
#pragma once

#include "access/budget_account.h"
#include "access/spend_store.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "guard/write_waiters.h"
#include "obs/log.h"
#include "obs/metrics.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::access {

// How often figures that changed are written.
inline constexpr Millis kSpendWriteInterval{1'000};
// How long a report waits for exact figures.
inline constexpr Millis kMaxReportWait{5'000};
// How often reports may take the accounts' blocks away; those that come sooner wait and share.
inline constexpr Millis kExactInterval{1'000};
// Accounts in one write: so many that somebody waits for, and as many others.
inline constexpr std::size_t kMaxAccountsPerWrite = 512;

class SpendWriter {
 public:
    // References outlive it, and so do the accounts that it is given.
    SpendWriter(Executor control, SpendStore& store, Clock& clock, const obs::Log& log,
                obs::Metrics& metrics);
    ~SpendWriter();
    SpendWriter(const SpendWriter&) = delete;
    SpendWriter& operator=(const SpendWriter&) = delete;

    // The account changed: it is written within kSpendWriteInterval.
    void changed(BudgetAccount& account);
    // The store has to vouch for more of the account: it is written at once, after those that were
    // asked for before it, unless the store is lost. Returns which write does it, for wait_for().
    std::uint64_t urgent(BudgetAccount& account);

    // Whether the last write failed or takes too long. It is tried again all the time.
    bool is_lost() const { return is_lost_; }

    // Until that write is done, at most guard::kMaxWriteWait and not past `deadline`.
    Task<guard::WriteEnd> wait_for(std::uint64_t write, Instant deadline);

    // Until the store has exact figures of every account, at most kMaxReportWait: kUnavailable. For
    // a report: the next call of each account that is limited needs a write again after it.
    Task<Status> wait_for_exact();

    // Deletes what is older than kUsageKept; once a day.
    Task<void> forget_old_days();

    // At shutdown: writes exact figures and ends. Changes after that are not written.
    Task<void> stop();

 private:
    // An account that needs no write but to take its block away, and when it may be idle.
    struct Resting {
        BudgetAccount* account;
        Instant until;
    };

    void ensure_writer();
    void wake();
    void list(BudgetAccount& account);
    void rest(BudgetAccount& account);
    void list_idle(Instant now);
    bool wants_exact() const { return is_closing_ || !waiting_for_exact_.empty(); }
    Task<void> write_until_done();
    std::vector<BudgetAccount*> choose(Instant now, bool due);
    Task<Status> write(std::vector<BudgetAccount*> accounts, Instant now);
    void lose(std::string_view reason);
    void find();

    const Executor control_;
    SpendStore& store_;
    Clock& clock_;
    const obs::Log& log_;
    obs::Gauge lost_;
    obs::Counter failures_;
    obs::LogLimiter failure_lines_;
    TaskScope tasks_;

    // A write looks at no more accounts than it takes, or has taken out of a list.
    std::deque<BudgetAccount*> urgent_;  // that somebody waits for and no write has begun with
    std::deque<BudgetAccount*> listed_;  // changed, or lately written; those come last
    std::deque<Resting> resting_;        // by when they came here
    guard::WriteWaiters waiting_;        // in wait_for()
    guard::WriteWaiters waiting_for_exact_;
    std::shared_ptr<Alarm> alarm_;  // while the writer waits
    std::optional<UtcDay> forgotten_on_;
    std::optional<Instant> exact_at_;  // when figures were last made exact for a report
    std::uint64_t writes_ = 0;         // begun
    std::uint64_t ended_ = 0;          // the last that ended
    std::uint64_t succeeded_ = 0;      // the last that ended well
    bool has_writer_ = false;
    bool is_lost_ = false;
    bool is_closing_ = false;
};

}  // namespace sluice::access
