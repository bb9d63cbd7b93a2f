// What the network was paid, by whom and on which day, against what may be spent: no budget is ever
// overrun, whatever is under way at once.
#pragma once

#include "access/budget_config.h"
#include "access/spending.h"
#include "base/calendar.h"
#include "sim/violations.h"
#include "web/provider.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace sluice::sim {

class PurseBooks {
 public:
    PurseBooks(const Clock& clock, Violations& violations)
        : clock_(clock), violations_(violations) {}

    // Limits that hold from now on. What was spent under others may be more than they allow.
    void set(access::BudgetConfig config);

    // How long a call may wait between its reservation and its start.
    void allow_wait(Millis wait) { wait_ = wait; }

    // Which limits a call is under that starts now; nothing when it may have been reserved under
    // those before.
    std::optional<std::uint64_t> start_call() const;
    // A provider answered, or nobody waited for its answer: a call with that key is paid for.
    void paid(web::ProviderIndex provider, const std::string& key_id,
              std::optional<std::uint64_t> limits_at_start);

    std::size_t calls() const { return calls_; }

 private:
    using Name = std::pair<access::Purse, std::string>;
    struct Spending {
        UtcDay day{};
        std::int64_t today = 0;
        std::int64_t this_month = 0;
        std::int64_t in_all = 0;
    };
    void spend(access::Purse purse, const std::string& id, const access::Limits& limits);

    const Clock& clock_;
    Violations& violations_;
    access::BudgetConfig config_;
    std::uint64_t limits_ = 0;  // counts them
    Instant set_at_{};
    Millis wait_{};
    std::map<Name, Spending> spending_;  // under the present limits
    std::size_t calls_ = 0;
};

}  // namespace sluice::sim
