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
#include "obs/metrics.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
    SharedBudgets(io::RedisClient& redis, Clock& clock, Random& random, const obs::Log& log,
                  obs::Metrics& metrics);

    // Before everything else. `books` names what this replica writes its spending down in
    // (SpendStore::name()).
    void open(std::string books) { books_ = std::move(books); }

    struct Answer {
        enum class End : std::uint8_t {
            kRoom,     // the call may be made
            kNoRoom,   // `refused` is the first purse that has none
            kTooLate,  // the deadline came first
            kCancelled,
            kUnknown,  // Redis can't say
        };
        End end = End::kUnknown;
        std::optional<Refused> refused = {};
    };
    // Of a call of that cost that is held in these accounts. Until `deadline`. A Redis that is
    // there and refuses (since it is full) leaves each replica its share of what was left when it
    // last said so, unless it is required: the answer is one of the first two then.
    Task<Answer> claim(std::vector<const BudgetAccount*> accounts, Spent cost, Instant deadline);

    // What the account spent or holds is another figure than before.
    void changed(const BudgetAccount& account);

    bool is_required() const { return redis_.config().required; }

    // Tells what changed, and an emptied Redis everything, for ever; ends by cancellation.
    Task<void> run();

 private:
    class Aside;
    enum class Told : std::uint8_t { kDone, kFull, kStale, kYoung, kFailed, kCancelled };
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

    // What was left of a figure's limit when Redis last said so.
    struct Share {
        UtcDay day{};
        Spent own;
        Spent others;
        std::int64_t replicas = 1;
    };
    // Of an account, in this epoch.
    struct Kept {
        UtcDay day{};
        std::uint64_t said = 0;  // the number of what Redis has
    };
    using Shares = std::array<std::optional<Share>, kPeriods>;

    std::vector<Figure> figures_of(std::span<const BudgetAccount* const> accounts) const;
    Task<Reply> tell(std::vector<Figure> figures, bool asks, Instant deadline);
    Spent own_figure(const Figure& figure) const;
    static Refused refused_by(const Figure& full, Measure measure);
    Reply read(const io::RedisReply& answer);
    void note_done(const std::vector<Figure>& figures, const std::vector<Spent>& own,
                   std::uint64_t said, const io::RedisReply& answer);
    Answer answer_by_shares(const std::vector<Figure>& figures) const;
    std::optional<Measure> excess_of_share(const Figure& figure) const;
    std::uint64_t kept_of(const Figure& figure) const;
    void note_not_shared(std::string_view reason);
    void note_shared();
    Task<std::string> run_of_redis();
    bool knows_epoch() const { return !epoch_.empty() && connection_ == redis_.connections(); }
    Task<void> tell_changed();
    Task<bool> join();

    io::RedisClient& redis_;
    Clock& clock_;
    Random& random_;
    const obs::Log& log_;
    obs::Gauge not_shared_;
    obs::LogLimiter not_shared_lines_;
    obs::LogLimiter lost_lines_;
    std::string books_;
    const std::string process_;
    std::uint64_t said_ = 0;  // numbers what is told
    std::string epoch_;       // of what is in Redis; empty: not known
    std::string last_epoch_;
    std::uint64_t connection_ = 0;  // over which it was joined
    std::string why_lost_;
    std::string failure_;  // of the last command that failed
    bool is_shared_ = true;
    bool is_said_ = false;                                   // that it is not
    std::unordered_map<const BudgetAccount*, Spent> aside_;  // held, and not asked for yet
    std::unordered_set<const BudgetAccount*> known_;         // that have spent something
    std::unordered_set<const BudgetAccount*> changed_;       // of those, not told since
    std::unordered_map<const BudgetAccount*, Kept> kept_;
    std::unordered_map<const BudgetAccount*, Shares> shares_;
};

}  // namespace sluice::access
