// What the network was paid, by whom and on which day, against what may be spent: no budget is ever
// overrun, whatever is under way at once, and the store never says less than what was spent.
#pragma once

#include "access/budget_config.h"
#include "access/spending.h"
#include "base/calendar.h"
#include "sim/payers.h"
#include "sim/violations.h"
#include "support/fake_spend_store.h"
#include "web/provider.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::sim {

// One call, as far as money goes.
struct Payment {
    web::ProviderIndex provider = 0;
    std::string key_id;
    const Payer* payer = nullptr;  // null: one of several, nobody knows which
    std::int64_t micro_usd = 0;    // what it costs if it is paid for
    // The limits that it started under; nothing when it may have been reserved under those before.
    std::optional<std::uint64_t> limits = {};
};

class PurseBooks {
 public:
    PurseBooks(const test::FakeSpendStore& store, const Clock& clock, Violations& violations)
        : store_(store), clock_(clock), violations_(violations) {}

    // Limits that hold from now on. What was spent under others may be more than they allow.
    void set(access::BudgetConfig config);

    // How long a call may wait between its reservation and its start.
    void allow_wait(Millis wait) { wait_ = wait; }

    void start_call(Payment& payment);
    // A provider answered, or nobody waited for its answer; otherwise it costs nothing.
    void end_call(const Payment& payment, bool is_paid);

    // In all.
    const access::Spent& paid() const { return paid_; }

 private:
    using Name = std::pair<access::Purse, std::string>;
    struct Purse {
        Name name;
        access::Limits limits;
    };
    // Under the present limits.
    struct Spending {
        UtcDay day{};
        std::array<access::Spent, access::kPeriods> in;  // by index_of()
    };
    struct Whole {
        access::Spent paid;
        access::Spent under_way;
    };

    std::vector<Purse> purses_of(const Payment& payment) const;
    void check_store(const Purse& purse);
    void spend(const Purse& purse, const access::Spent& amount);

    const test::FakeSpendStore& store_;
    const Clock& clock_;
    Violations& violations_;
    access::BudgetConfig config_;
    std::uint64_t limits_ = 0;  // counts them
    Instant set_at_{};
    Millis wait_{};
    std::map<Name, Spending> spending_;
    std::map<Name, Whole> wholes_;
    access::Spent paid_;
};

}  // namespace sluice::sim
