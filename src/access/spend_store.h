// Where spending is written down. One interface, so that replicas can share a server database
// later and tests can take the store away.
#pragma once

#include "access/spending.h"
#include "base/result.h"
#include "base/task.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::access {

inline constexpr std::chrono::days kUsageKept{400};     // daily figures; totals stay
inline constexpr std::size_t kMaxUsageRows = 10'000;    // of one report
inline constexpr std::size_t kMaxAccounts = 100'000;    // of tokens, and of keys, read at a start
inline constexpr std::size_t kForgottenAtOnce = 1'000;  // rows; writes come in between

// Which books: "token" and "slc4f00a". A key's name the provider that it is for.
struct AccountName {
    Purse purse = Purse::kGateway;
    std::string id;
    std::string provider;

    bool operator==(const AccountName&) const = default;
};

// What one account has spent, as it is to stand in the store.
struct SpendRow {
    AccountName account;
    UtcDay day{};
    Spent on_day;
    Spent in_all;
};

struct Balance {
    AccountName account;
    std::array<Spent, kPeriods> spent;  // by index_of()
};

struct UsageQuery {
    enum class Group : std::uint8_t {
        kAccount,  // one row an account, largest first
        kDay,      // one row a day, oldest first
    };
    Purse purse = Purse::kProvider;
    Group group = Group::kAccount;
    std::optional<std::string> id = {};  // of one account only
    UtcDay since{};                      // both days included
    UtcDay until{};
};

struct UsageRow {
    AccountName account;          // id and provider are empty where a day has several
    std::optional<UtcDay> day{};  // with kDay
    Spent spent;
};

struct Usage {
    std::vector<UsageRow> rows;
    Spent sum;               // of all rows, those that were left out too
    bool truncated = false;  // there are more than kMaxUsageRows
};

// Called on any executor; each call resumes on its caller's. Errors are those of the database
// (io/sqlite.h) and of its queue (kOverloaded).
class SpendStore {
 public:
    virtual ~SpendStore() = default;

    // Names these books among those of other replicas: made with the store, and never changed.
    virtual Task<Result<std::string>> name() = 0;

    // Every account that ever spent something, of tokens and keys up to kMaxAccounts each, as of
    // `today`. Figures
    // of days to come, which a clock that went back leaves behind, count for `today`.
    virtual Task<Result<std::vector<Balance>>> load(UtcDay today) = 0;

    // Replaces the figures of these accounts, all rows or none. Of two rows of one account the
    // later one says what it spent in all.
    virtual Task<Status> write(std::vector<SpendRow> rows) = 0;

    virtual Task<Result<Usage>> usage(UsageQuery query) = 0;

    // Deletes figures of days before that one, at most kForgottenAtOnce. Returns how many those
    // were: with that many there may be more.
    virtual Task<Result<std::size_t>> forget_before(UtcDay day) = 0;
};

}  // namespace sluice::access
