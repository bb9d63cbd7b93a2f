// The books of one purse: what it spent, what is held for calls under way, and how much of that
// the store vouches for. A state machine without clock or I/O: access/budget.cc spends through it
// and access/spend_writer.cc writes it down.
//
// A figure in the store runs ahead of what was spent by a block (guard/write_ahead.h).
#pragma once

#include "access/spend_store.h"
#include "access/spending.h"
#include "base/clock.h"
#include "guard/write_ahead.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::access {

// Days that are over and wait to be written, of one account, while the store is away. Further ones
// keep what the store said last; the totals are right all the same.
inline constexpr std::size_t kMaxEndedDays = 8;

enum class Measure : std::uint8_t { kCalls, kMicroUsd };

// Which limit has no room for a call.
struct Shortage {
    Period period = Period::kDay;
    Measure measure = Measure::kCalls;
    std::int64_t limit = 0;
};

using guard::Ahead;

class BudgetAccount {
 public:
    explicit BudgetAccount(AccountName name, std::array<Spent, kPeriods> spent, UtcDay today);

    const AccountName& name() const { return name_; }
    const Limits& limits() const { return limits_; }
    void set_limits(const Limits& limits) { limits_ = limits; }

    // What was spent in that period, as of `today`; without what is held.
    Spent spent(Period period, UtcDay today) const;
    // The same with what is held.
    Spent committed(Period period, UtcDay today) const;

    // The first limit that one more call of `micro_usd` would pass; nothing when there is room.
    std::optional<Shortage> shortage(const Limits& limits, std::int64_t micro_usd,
                                     UtcDay today) const;

    // A call of that cost is about to be made. A new day begins with it.
    void hold(const Spent& cost, UtcDay today, Instant now);
    // It was not made, or cost nothing.
    void release(const Spent& cost);
    // It was made and cost `spent`, on the day that it ended.
    void book(const Spent& held, const Spent& spent, UtcDay today);

    // By how many millionths of a dollar the limit that is passed furthest is passed; 0: none is.
    // A provider that charges more than was reserved for its call gets there.
    std::int64_t excess(UtcDay today) const;

    // Whether the store has to know of spending before it happens: where something is limited, and
    // of every provider, whose figures are what an operator compares with a bill.
    bool needs_vouching() const { return name_.purse == Purse::kProvider || limits_.any(); }
    bool is_vouched_for() const;

    // Whether the store is to be told something.
    bool is_changed() const { return changed_; }
    bool has_block() const { return has_block_; }
    bool is_idle(Instant now) const { return pace_.is_idle(now); }
    Instant idle_at() const { return pace_.idle_at(); }

    // A write begins: appends the account's rows. From here on the store vouches for no more than
    // what it says before and after, whichever is less. Ended by end_write(); one at a time.
    void begin_write(Ahead ahead, std::vector<SpendRow>& rows);
    void end_write(bool written);

    // SpendWriter's: in which of its lists it is, and the number of the write that a call of it
    // waits for, or waited for.
    bool is_listed = false;
    bool is_resting = false;
    std::uint64_t urgent_write = 0;

 private:
    struct EndedDay {
        UtcDay day;
        Spent spent;
    };

    void begin_day(UtcDay today);
    std::int64_t block_calls() const;

    const AccountName name_;
    Limits limits_;
    UtcDay day_;
    std::array<Spent, kPeriods> spent_;  // as of day_
    Spent held_;
    Spent vouched_;  // for day_
    std::vector<EndedDay> ended_;
    // Of the write under way.
    UtcDay written_day_{};
    Spent written_;
    std::size_t written_ended_ = 0;

    Spent last_;  // what the last call was expected to cost
    guard::BlockPace pace_;
    bool changed_ = false;
    bool has_block_ = false;
};

}  // namespace sluice::access
