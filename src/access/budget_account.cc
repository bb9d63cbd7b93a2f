#include "access/budget_account.h"

#include "base/result.h"

#include <algorithm>
#include <utility>

namespace sluice::access {

BudgetAccount::BudgetAccount(AccountName name, std::array<Spent, kPeriods> spent, UtcDay today)
    : name_(std::move(name)), day_(today), spent_(spent) {
    // What a store says before this process wrote to it vouches for what it says, and no more.
    vouched_ = spent[index_of(Period::kDay)];
}

Spent BudgetAccount::spent(Period period, UtcDay today) const {
    const bool is_over = (period == Period::kDay && today > day_) ||
                         (period == Period::kMonth && first_of_month(today) > first_of_month(day_));
    return is_over ? Spent() : spent_[index_of(period)];
}

Spent BudgetAccount::committed(Period period, UtcDay today) const {
    Spent all = spent(period, today);
    all += held_;
    return all;
}

std::optional<Shortage> BudgetAccount::shortage(const Limits& limits, std::int64_t micro_usd,
                                                UtcDay today) const {
    for (const Period period : kEachPeriod) {
        const std::int64_t most_calls = limits.calls[index_of(period)];
        const std::int64_t most_usd = limits.micro_usd[index_of(period)];
        if (most_calls == 0 && most_usd == 0) {
            continue;
        }
        const Spent gone = spent(period, today);
        if (most_calls > 0 && add_saturating(gone.calls, held_.calls + 1) > most_calls) {
            return Shortage{period, Measure::kCalls, most_calls};
        }
        const std::int64_t held = add_saturating(held_.micro_usd, micro_usd);
        if (most_usd > 0 && add_saturating(gone.micro_usd, held) > most_usd) {
            return Shortage{period, Measure::kMicroUsd, most_usd};
        }
    }
    return std::nullopt;
}

void BudgetAccount::hold(const Spent& cost, UtcDay today, Instant now) {
    begin_day(today);
    held_ += cost;
    last_ = cost;
    pace_.count_call(now);
}

void BudgetAccount::release(const Spent& cost) {
    SLUICE_ASSERT(held_.calls >= cost.calls && held_.units >= cost.units &&
                  held_.micro_usd >= cost.micro_usd);
    held_.calls -= cost.calls;
    held_.units -= cost.units;
    held_.micro_usd -= cost.micro_usd;
    // A store that was told of the call has to hear that it did not happen.
    changed_ = true;
}

void BudgetAccount::book(const Spent& held, const Spent& spent, UtcDay today) {
    begin_day(today);
    release(held);
    for (Spent& period : spent_) {
        period += spent;
    }
}

std::int64_t BudgetAccount::excess(UtcDay today) const {
    std::int64_t most = 0;
    for (const Period period : kEachPeriod) {
        const std::int64_t limit = limits_.micro_usd[index_of(period)];
        if (limit > 0) {
            most = std::max(most, spent(period, today).micro_usd - limit);
        }
    }
    return most;
}

bool BudgetAccount::is_vouched_for() const {
    Spent figure = spent_[index_of(Period::kDay)];
    figure += held_;
    return figure.calls <= vouched_.calls && figure.units <= vouched_.units &&
           figure.micro_usd <= vouched_.micro_usd;
}

// A clock that goes back changes nothing: what was spent on a day that is to come again counts for
// it already.
void BudgetAccount::begin_day(UtcDay today) {
    if (today <= day_) {
        return;
    }
    if (ended_.size() < kMaxEndedDays && (changed_ || has_block_ || held_.calls > 0)) {
        ended_.push_back({day_, spent_[index_of(Period::kDay)]});
        changed_ = true;
    }
    spent_[index_of(Period::kMonth)] = spent(Period::kMonth, today);
    spent_[index_of(Period::kDay)] = {};
    day_ = today;
    vouched_ = {};
}

// No block reaches past a limit, so that a figure in the store never does either.
std::int64_t BudgetAccount::block_calls() const {
    if (!needs_vouching()) {
        return 0;
    }
    std::int64_t calls = pace_.block_calls();
    for (std::size_t i = 0; i < kPeriods; ++i) {
        if (limits_.calls[i] > 0) {
            const std::int64_t room = limits_.calls[i] - spent_[i].calls - held_.calls;
            calls = std::min(calls, guard::BlockPace::most_of(limits_.calls[i], room));
        }
        if (limits_.micro_usd[i] > 0 && last_.micro_usd > 0) {
            const std::int64_t room = limits_.micro_usd[i] - spent_[i].micro_usd - held_.micro_usd;
            calls = std::min(
                calls, guard::BlockPace::most_of(limits_.micro_usd[i], room) / last_.micro_usd);
        }
    }
    return std::max<std::int64_t>(calls, 0);
}

void BudgetAccount::begin_write(Ahead ahead, std::vector<SpendRow>& rows) {
    pace_.begin_write();
    const std::int64_t block = ahead == Ahead::kBlock ? block_calls() : 0;
    Spent running = held_;
    running += {block, block * last_.units, block * last_.micro_usd};
    // Calls under way when a day ends are counted on the day that they end on, but in the total at
    // once.
    Spent in_all = spent_[index_of(Period::kTotal)];
    in_all += running;
    for (const EndedDay& ended : ended_) {
        rows.push_back({name_, ended.day, ended.spent, in_all});
    }
    Spent on_day = spent_[index_of(Period::kDay)];
    on_day += running;
    rows.push_back({name_, day_, on_day, in_all});

    written_day_ = day_;
    written_ = on_day;
    written_ended_ = ended_.size();
    vouched_ = {std::min(vouched_.calls, written_.calls), std::min(vouched_.units, written_.units),
                std::min(vouched_.micro_usd, written_.micro_usd)};
    changed_ = false;
    has_block_ = block > 0;
}

void BudgetAccount::end_write(bool written) {
    if (!written) {
        changed_ = true;
        return;
    }
    ended_.erase(ended_.begin(), ended_.begin() + static_cast<std::ptrdiff_t>(written_ended_));
    if (written_day_ == day_) {
        vouched_ = written_;
    }
}

}  // namespace sluice::access
