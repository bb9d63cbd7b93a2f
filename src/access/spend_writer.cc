#include "access/spend_writer.h"

#include "access/metrics.h"
#include "base/exception.h"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace sluice::access {

namespace {

constexpr Millis kFailureLogInterval{60'000};
constexpr std::uint64_t kEveryWrite = guard::WriteWaiters::kEveryWrite;

Error cannot_write() {
    return Error{Code::kUnavailable, Blame::kGateway,
                 "what was spent can't be written down now; the log says why", kMaxReportWait};
}

}  // namespace

SpendWriter::SpendWriter(Executor control, SpendStore& store, Clock& clock, const obs::Log& log,
                         obs::Metrics& metrics)
    : control_(std::move(control)),
      store_(store),
      clock_(clock),
      log_(log),
      lost_(metrics.gauge(kBudgetStoreLost)),
      failures_(metrics.counter(kBudgetStoreFailures)),
      failure_lines_(1, kFailureLogInterval),
      tasks_(control_, [this](const std::exception_ptr& error) {
          has_writer_ = false;
          log_.error("spend_writer_failed", {{"exception", exception_type(error)}});
      }) {}

SpendWriter::~SpendWriter() = default;

void SpendWriter::changed(BudgetAccount& account) {
    list(account);
    ensure_writer();
}

void SpendWriter::list(BudgetAccount& account) {
    if (!std::exchange(account.is_listed, true)) {
        listed_.push_back(&account);
    }
}

void SpendWriter::rest(BudgetAccount& account) {
    if (!std::exchange(account.is_resting, true)) {
        resting_.push_back({&account, account.idle_at()});
    }
}

// Who was used meanwhile is listed too early, and comes back.
void SpendWriter::list_idle(Instant now) {
    while (!resting_.empty() && resting_.front().until <= now) {
        BudgetAccount& account = *resting_.front().account;
        resting_.pop_front();
        account.is_resting = false;
        list(account);
    }
}

std::uint64_t SpendWriter::urgent(BudgetAccount& account) {
    if (account.urgent_write <= writes_) {
        // Each write takes kMaxAccountsPerWrite of them.
        account.urgent_write = writes_ + 1 + urgent_.size() / kMaxAccountsPerWrite;
        urgent_.push_back(&account);
    }
    changed(account);
    // A lost store is tried in the writer's own time: nobody waits for it.
    if (!is_lost_) {
        wake();
    }
    return account.urgent_write;
}

void SpendWriter::ensure_writer() {
    if (!has_writer_ && !is_closing_) {
        has_writer_ = tasks_.spawn(write_until_done());
    }
}

void SpendWriter::wake() {
    if (alarm_) {
        alarm_->ring();
    }
}

Task<guard::WriteEnd> SpendWriter::wait_for(std::uint64_t write, Instant deadline) {
    if (write <= ended_) {
        co_return write <= succeeded_ ? guard::WriteEnd::kWritten : guard::WriteEnd::kLost;
    }
    const Instant enough = clock_.now() + guard::kMaxWriteWait;
    const guard::WriteEnd end = co_await waiting_.wait(clock_, write, enough, deadline);
    // Once for all who wait for the same write.
    if (end == guard::WriteEnd::kLost && write > ended_ && !is_lost_) {
        lose("a write takes too long");
    }
    co_return end;
}

Task<Status> SpendWriter::wait_for_exact() {
    if (exact_at_ && clock_.now() < *exact_at_ + kExactInterval) {
        co_await clock_.sleep_until(*exact_at_ + kExactInterval);
    }
    list_idle(Instant::max());
    if (listed_.empty() || is_closing_) {
        co_return Status();
    }
    if (is_lost_ && writes_ > ended_) {
        co_return cannot_write();  // it hangs, and has for as long as anybody waits for a write
    }
    // Each write takes the accounts that waited longest, so by then all that are listed have had
    // theirs.
    const std::uint64_t write = writes_ + 1 + listed_.size() / kMaxAccountsPerWrite;
    wake();
    const Instant enough = clock_.now() + kMaxReportWait;
    const auto end = co_await waiting_for_exact_.wait(clock_, write, enough, Instant::max());
    if (end != guard::WriteEnd::kWritten) {
        co_return cannot_write();
    }
    co_return Status();
}

Task<void> SpendWriter::write_until_done() {
    // Not in the middle of what changes the accounts.
    co_await boost::asio::post(use_task);
    Instant next = clock_.now() + kSpendWriteInterval;
    while (!urgent_.empty() || !listed_.empty() || !resting_.empty()) {
        const bool at_once = wants_exact() || (!urgent_.empty() && !is_lost_);
        if (!at_once) {
            alarm_ = std::make_shared<Alarm>(control_);
            co_await clock_.wait(alarm_, next);
            alarm_.reset();
        }
        const Instant now = clock_.now();
        std::vector<BudgetAccount*> accounts = choose(now, now >= next || wants_exact());
        if (now >= next) {
            next = now + kSpendWriteInterval;
        }
        if (accounts.empty()) {
            waiting_for_exact_.tell(kEveryWrite, true);
            continue;
        }
        const std::uint64_t number = ++writes_;
        const Status written = co_await write(std::move(accounts), now);
        ended_ = number;
        succeeded_ = written.ok() ? number : succeeded_;
        waiting_.tell(number, written.ok());
        if (written.ok()) {
            if (waiting_for_exact_.tell(number, true) > 0) {
                exact_at_ = clock_.now();
            }
            find();
            co_await forget_old_days();
            continue;
        }
        lose(written.error().message);
        waiting_for_exact_.tell(kEveryWrite, false);
        if (is_closing_) {
            break;  // the store keeps what it was told last, which is not less than what was spent
        }
    }
    waiting_for_exact_.tell(kEveryWrite, true);
    has_writer_ = false;
}

// The accounts of the next write: those that somebody waits for and, when the others are due, those
// that changed or have kept a block for too long. Who needs no more attention leaves the lists.
std::vector<BudgetAccount*> SpendWriter::choose(Instant now, bool due) {
    std::vector<BudgetAccount*> chosen;
    while (!urgent_.empty() && chosen.size() < kMaxAccountsPerWrite) {
        chosen.push_back(urgent_.front());
        urgent_.pop_front();
    }
    const std::uint64_t number = writes_ + 1;
    const std::size_t enough = chosen.size() + kMaxAccountsPerWrite;
    if (due) {
        list_idle(is_closing_ ? Instant::max() : now);
    }
    while (due && !listed_.empty() && chosen.size() < enough) {
        BudgetAccount& account = *listed_.front();
        listed_.pop_front();
        account.is_listed = false;
        const bool takes_block = wants_exact() || account.is_idle(now);
        if (account.urgent_write == number) {
            continue;
        }
        if (account.is_changed() || (account.has_block() && takes_block)) {
            chosen.push_back(&account);
        } else if (account.has_block()) {
            rest(account);
        }
    }
    // Last, so that those that did not fit come first the next time.
    for (BudgetAccount* account : chosen) {
        list(*account);
    }
    return chosen;
}

Task<Status> SpendWriter::write(std::vector<BudgetAccount*> accounts, Instant now) {
    std::vector<SpendRow> rows;
    rows.reserve(accounts.size());
    for (BudgetAccount* account : accounts) {
        const bool exact = wants_exact() || account->is_idle(now);
        account->begin_write(exact ? Ahead::kExact : Ahead::kBlock, rows);
    }
    Status status = co_await store_.write(std::move(rows));
    for (BudgetAccount* account : accounts) {
        account->end_write(status.ok());
    }
    co_return status;
}

Task<void> SpendWriter::forget_old_days() {
    const UtcDay today = utc_day(clock_.wall_now());
    if (forgotten_on_ == today) {
        co_return;
    }
    forgotten_on_ = today;
    const auto forgotten = co_await store_.forget_before(today - kUsageKept);
    if (!forgotten.ok()) {
        log_.warn("usage_not_pruned", {{"reason", forgotten.error().message}});
    } else if (*forgotten == kForgottenAtOnce) {
        forgotten_on_.reset();  // the rest after the next write
    }
}

void SpendWriter::lose(std::string_view reason) {
    failures_.add();
    is_lost_ = true;
    lost_.set(1);
    std::uint64_t suppressed = 0;
    if (failure_lines_.allow(clock_.now(), suppressed)) {
        log_.warn("budget_store_lost", {{"reason", reason}, {"suppressed", suppressed}});
    }
}

void SpendWriter::find() {
    if (!is_lost_) {
        return;
    }
    is_lost_ = false;
    lost_.set(0);
    log_.info("budget_store_back");
}

Task<void> SpendWriter::stop() {
    ensure_writer();  // whatever it finds to write it writes before it ends
    is_closing_ = true;
    wake();
    tasks_.close();
    co_await tasks_.join();
}

}  // namespace sluice::access
