// What replicas may spend together: before a call is made, Redis is asked whether all of them leave
// room for it in every purse that has a limit. Each replica tells there what it has spent itself,
// as one figure that replaces the one before, so that telling it twice, late or again to an emptied
// Redis does no harm. The figure is told before the money is spent: a replica that dies has spent
// no more than it told.
#pragma once

#include "access/budget_account.h"
#include "access/budget_books.h"
#include "access/spending.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/task.h"
#include "io/redis.h"
#include "obs/log.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sluice::access {

// Belongs to the control loop.
class SharedBudgets {
 public:
    // How long figures that nobody waits for stay untold.
    static constexpr Millis kTellEvery{1'000};

    // References outlive it, and so do the accounts that it is given.
    SharedBudgets(io::RedisClient& redis, Clock& clock, Random& random, const obs::Log& log);

    // Before everything else. `books` names what this replica writes its spending down in
    // (SpendStore::name()).
    void open(std::string books) { books_ = std::move(books); }

    struct Answer {
        enum class End : std::uint8_t {
            kRoom,     // the call may be made
            kNoRoom,   // `refused` is the first purse that has none
            kTooLate,  // the deadline came first
            kUnknown,  // Redis can't say
        };
        End end = End::kUnknown;
        std::optional<Refused> refused = {};
    };
    // Of a call of that cost that is held in these accounts. Until `deadline`.
    Task<Answer> claim(std::vector<const BudgetAccount*> accounts, Spent cost, Instant deadline);

    // What the account spent or holds is another figure than before.
    void changed(const BudgetAccount& account);

    bool is_required() const { return redis_.config().required; }

    // Tells what changed, and an emptied Redis everything, for ever; ends by cancellation.
    Task<void> run();

 private:
    class Aside;
    enum class Told : std::uint8_t { kDone, kFull, kStale, kYoung, kFailed };
    struct Reply {
        Told told = Told::kFailed;
        std::size_t place = 0;  // kFull: of the figure that is too much
        Measure measure = Measure::kCalls;
        Millis wait{};  // kYoung
    };
    struct Figure {
        const BudgetAccount* account = nullptr;
        Period period = Period::kDay;
        UtcDay day{};
    };

    std::vector<Figure> figures_of(std::span<const BudgetAccount* const> accounts) const;
    Task<Reply> tell(std::vector<Figure> figures, bool asks, Instant deadline);
    Spent own_figure(const Figure& figure) const;
    static Refused refused_by(const Figure& full, Measure measure);
    static Reply read(const io::RedisReply& answer);
    Task<void> tell_changed();
    Task<bool> join();

    io::RedisClient& redis_;
    Clock& clock_;
    Random& random_;
    const obs::Log& log_;
    std::string books_;
    const std::string process_;
    std::uint64_t said_ = 0;  // numbers what is told
    std::string epoch_;       // of what is in Redis; empty: not known
    std::string last_epoch_;
    std::unordered_map<const BudgetAccount*, Spent> aside_;  // held, and not asked for yet
    std::unordered_set<const BudgetAccount*> known_;         // that have spent something
    std::unordered_set<const BudgetAccount*> changed_;       // of those, not told since
};

}  // namespace sluice::access
