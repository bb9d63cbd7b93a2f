#include "access/spend_rows.h"

#include <optional>

namespace sluice::access {

namespace {

std::optional<Purse> parse_purse(std::string_view word) {
    for (const Purse purse : {Purse::kGateway, Purse::kProvider, Purse::kToken, Purse::kKey}) {
        if (to_string(purse) == word) {
            return purse;
        }
    }
    return std::nullopt;
}

}  // namespace

std::int64_t to_stored(UtcDay day) {
    return day.time_since_epoch().count();
}

UtcDay day_from_stored(std::int64_t days) {
    return UtcDay(std::chrono::days(days));
}

Result<AccountName> read_account(std::string_view purse, std::string_view id,
                                 std::string_view provider) {
    const auto known = parse_purse(purse);
    if (!known) {
        return Error{Code::kUnavailable, Blame::kGateway,
                     "a row of the usage database is not as this program writes it", std::nullopt};
    }
    AccountName name;
    name.purse = *known;
    name.id = id;
    name.provider = provider;
    return name;
}

void BalanceSheet::add_total(AccountName account, const Spent& spent) {
    index_.emplace(std::pair(account.purse, account.id), balances_.size());
    Balance balance;
    balance.account = std::move(account);
    balance.spent[index_of(Period::kTotal)] = spent;
    balances_.push_back(std::move(balance));
}

void BalanceSheet::add_day(const AccountName& account, UtcDay day, const Spent& spent) {
    const auto found = index_.find(std::pair(account.purse, account.id));
    if (found == index_.end()) {
        return;  // past kMaxAccounts
    }
    Balance& balance = balances_[found->second];
    balance.spent[index_of(Period::kMonth)] += spent;
    if (day >= today_) {
        balance.spent[index_of(Period::kDay)] += spent;
    }
}

}  // namespace sluice::access
