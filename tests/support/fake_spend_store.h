// A SpendStore in memory that a test slows down, breaks, or looks into as a crash would leave it.
#pragma once

#include "access/spend_store.h"
#include "base/clock.h"

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace sluice::test {

// Belongs to one executor.
class FakeSpendStore final : public access::SpendStore {
 public:
    explicit FakeSpendStore(Clock& clock) : clock_(clock) {}
    // One that holds what `other` holds at this moment, as after a crash, and works.
    FakeSpendStore(Clock& clock, const FakeSpendStore& other)
        : clock_(clock), totals_(other.totals_), providers_(other.providers_), days_(other.days_) {}

    Task<Result<std::string>> name() override;
    Task<Result<std::vector<access::Balance>>> load(UtcDay today) override;
    Task<Status> write(std::vector<access::SpendRow> rows) override;
    Task<Result<access::Usage>> usage(access::UsageQuery query) override;
    Task<Result<std::size_t>> forget_before(UtcDay day) override;

    // What it says now of one account: in all, and on one day.
    access::Spent total(access::Purse purse, const std::string& id = {}) const;
    access::Spent on_day(access::Purse purse, const std::string& id, UtcDay day) const;

    std::string books = "b00c5";
    bool away = false;      // every call fails
    Duration write_time{};  // before a write is done
    std::size_t writes = 0;
    std::size_t most_rows = 0;  // of one write
    std::vector<UtcDay> forgotten;

 private:
    using Name = std::pair<access::Purse, std::string>;

    Clock& clock_;
    std::map<Name, access::Spent> totals_;
    std::map<Name, std::string> providers_;
    std::map<std::pair<Name, UtcDay>, access::Spent> days_;
};

}  // namespace sluice::test
