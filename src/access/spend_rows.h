// What the stores of spending have in common, whichever database they are in: how books become
// rows.
#pragma once

#include "access/spend_store.h"
#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::access {

// Days are stored as their number from 1970-01-01 on.
std::int64_t to_stored(UtcDay day);
UtcDay day_from_stored(std::int64_t days);

// kUnavailable when there is no such purse.
Result<AccountName> read_account(std::string_view purse, std::string_view id,
                                 std::string_view provider);

// Sums up what is read at a start.
class BalanceSheet {
 public:
    explicit BalanceSheet(UtcDay today) : today_(today) {}

    // First every account with what it spent in all, then its days of this month. Days of an
    // account that was left out are passed over.
    void add_total(AccountName account, const Spent& spent);
    void add_day(const AccountName& account, UtcDay day, const Spent& spent);
    std::vector<Balance> take() && { return std::move(balances_); }

 private:
    const UtcDay today_;
    std::vector<Balance> balances_;
    std::map<std::pair<Purse, std::string>, std::size_t> index_;
};

}  // namespace sluice::access
