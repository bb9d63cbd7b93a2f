#include "support/fake_spend_store.h"

#include <algorithm>
#include <utility>

namespace sluice::test {

using access::Balance;
using access::Period;
using access::Spent;
using access::Usage;
using access::UsageRow;

namespace {

Error gone() {
    return {Code::kUnavailable, Blame::kGateway, "the disk is gone", {}};
}

}  // namespace

Task<Result<std::string>> FakeSpendStore::name() {
    co_return books;
}

Task<Result<std::vector<Balance>>> FakeSpendStore::load(UtcDay today) {
    if (away) {
        co_return gone();
    }
    std::vector<Balance> balances;
    for (const auto& [name, total] : totals_) {
        Balance balance;
        balance.account.purse = name.first;
        balance.account.id = name.second;
        balance.account.provider = providers_.at(name);
        balance.spent[index_of(Period::kTotal)] = total;
        for (const auto& [key, spent] : days_) {
            if (key.first == name && key.second >= first_of_month(today)) {
                balance.spent[index_of(Period::kMonth)] += spent;
            }
            if (key.first == name && key.second >= today) {
                balance.spent[index_of(Period::kDay)] += spent;
            }
        }
        balances.push_back(std::move(balance));
    }
    co_return balances;
}

Task<Status> FakeSpendStore::write(std::vector<access::SpendRow> rows) {
    if (write_time > Duration::zero()) {
        co_await clock_.sleep_until(clock_.now() + write_time);
    }
    if (away) {
        co_return gone();
    }
    writes += 1;
    most_rows = std::max(most_rows, rows.size());
    for (const access::SpendRow& row : rows) {
        const Name name(row.account.purse, row.account.id);
        totals_[name] = row.in_all;
        providers_[name] = row.account.provider;
        days_[std::pair(name, row.day)] = row.on_day;
    }
    co_return Status();
}

Task<Result<Usage>> FakeSpendStore::usage(access::UsageQuery query) {
    if (away) {
        co_return gone();
    }
    const bool by_day = query.group == access::UsageQuery::Group::kDay;
    std::map<std::pair<UtcDay, std::string>, UsageRow> rows;
    Usage usage;
    for (const auto& [key, spent] : days_) {
        const auto& [name, day] = key;
        if (name.first != query.purse || (query.id && *query.id != name.second) ||
            day < query.since || day > query.until) {
            continue;
        }
        UsageRow& row = rows[std::pair(by_day ? day : UtcDay(), by_day ? "" : name.second)];
        row.account.purse = query.purse;
        if (by_day) {
            row.day = day;
        } else {
            row.account.id = name.second;
            row.account.provider = providers_.at(name);
        }
        row.spent += spent;
        usage.sum += spent;
    }
    for (auto& [key, row] : rows) {
        usage.rows.push_back(std::move(row));
    }
    co_return usage;
}

Task<Result<std::size_t>> FakeSpendStore::forget_before(UtcDay day) {
    if (away) {
        co_return gone();
    }
    forgotten.push_back(day);
    co_return std::erase_if(days_, [day](const auto& entry) { return entry.first.second < day; });
}

Spent FakeSpendStore::total(access::Purse purse, const std::string& id) const {
    const auto found = totals_.find(Name(purse, id));
    return found == totals_.end() ? Spent() : found->second;
}

Spent FakeSpendStore::on_day(access::Purse purse, const std::string& id, UtcDay day) const {
    const auto found = days_.find(std::pair(Name(purse, id), day));
    return found == days_.end() ? Spent() : found->second;
}

}  // namespace sluice::test
