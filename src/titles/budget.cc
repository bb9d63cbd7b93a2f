#include "titles/budget.h"

#include "base/hash.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

namespace sluice::titles {

namespace {

using io::SqliteConnection;
using io::SqliteTransaction;

// Buckets are hashes in hexadecimal, windows begin at seconds since 1970.
constexpr std::array kSchema = {
    io::SqliteMigration{R"sql(
        CREATE TABLE search_window (
            bucket TEXT NOT NULL,
            window_start INTEGER NOT NULL,
            window_end INTEGER NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (bucket, window_start)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX search_window_end ON search_window (window_end);
    )sql"},
};

// So many at a time, so that whoever comes by does not wait for what a flood left; more than one
// search can add.
constexpr std::int64_t kSweptAtOnce = 1'000;
constexpr std::string_view kSweep =
    "DELETE FROM search_window WHERE (bucket, window_start) IN"
    " (SELECT bucket, window_start FROM search_window WHERE window_end < ?1 LIMIT 1000)";

constexpr std::array kWindows = {BudgetWindow::kMinute, BudgetWindow::kHour};

struct Place {
    std::string bucket;
    std::int64_t start_s = 0;
    std::int64_t end_s = 0;
    std::int64_t limit = 0;
};
using Places = std::array<Place, kBudgetWindows>;

std::int64_t floor_div(std::int64_t value, std::int64_t by) {
    const std::int64_t quotient = value / by;
    return value % by < 0 ? quotient - 1 : quotient;
}

std::int64_t seconds_since_epoch(WallTime now) {
    return std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
}

std::chrono::seconds until(std::int64_t end_s, WallTime now) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(std::chrono::seconds(end_s) -
                                                              now.time_since_epoch());
    return std::max(left, std::chrono::seconds(1));
}

// The count with this search in it; nothing when there is no room.
Result<std::optional<std::int64_t>> count_one(SqliteConnection& db, const Place& place) {
    TRY(auto rows, db.query("INSERT INTO search_window (bucket, window_start, window_end, count)"
                            " VALUES (?1, ?2, ?3, 1) ON CONFLICT (bucket, window_start) DO UPDATE"
                            " SET count = count + 1 WHERE count < ?4 RETURNING count",
                            {place.bucket, place.start_s, place.end_s, place.limit}));
    TRY(const bool has_room, rows.next());
    return has_room ? std::optional(rows.integer(0)) : std::nullopt;
}

Result<BudgetVerdict> spend_in_transaction(SqliteConnection& db, const Places& places,
                                           WallTime now) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kImmediate));
    BudgetVerdict verdict;
    for (const BudgetWindow window : kWindows) {
        const auto i = static_cast<std::size_t>(window);
        const Place& place = places[i];
        TRY(const auto count, count_one(db, place));
        verdict.windows[i] =
            WindowState{place.limit, count.value_or(place.limit), until(place.end_s, now)};
        if (!count) {
            verdict.refused = window;
            for (std::size_t earlier = 0; earlier < i; ++earlier) {
                verdict.windows[earlier]->count -= 1;  // as the rollback leaves it
            }
            return verdict;  // the transaction rolls back
        }
    }
    TRY_STATUS(transaction.commit());
    return verdict;
}

Error failed_a_moment_ago() {
    return Error{Code::kUnavailable, Blame::kGateway,
                 "searches could not be counted a moment ago, so this one does not wait for that",
                 SearchBudget::kPauseAfterFailure};
}

}  // namespace

// Keeps searches from waiting one after another for a file that somebody else holds: each would
// wait for as long as SQLite does. Thread-safe.
class SearchBudget::Pause {
 public:
    // Whether a search may try the file. One that may while it is broken is the only one until
    // ended().
    bool begin(Instant now, bool& is_probe) {
        const std::lock_guard lock(mutex_);
        if (!is_broken_) {
            return true;
        }
        if (now < until_ || is_probed_) {
            return false;
        }
        is_probed_ = is_probe = true;
        return true;
    }

    // For who has waited for their turn meanwhile.
    bool is_broken() const {
        const std::lock_guard lock(mutex_);
        return is_broken_;
    }

    void tried(bool went_well, Instant now) {
        const std::lock_guard lock(mutex_);
        is_broken_ = !went_well;
        until_ = now + kPauseAfterFailure;
    }

    void ended() {
        const std::lock_guard lock(mutex_);
        is_probed_ = false;
    }

 private:
    mutable std::mutex mutex_;
    bool is_broken_ = false;
    bool is_probed_ = false;
    Instant until_{};
};

std::string_view to_string(BudgetWindow window) {
    return window == BudgetWindow::kMinute ? "minute" : "hour";
}

std::chrono::seconds length_of(BudgetWindow window) {
    return window == BudgetWindow::kMinute ? std::chrono::seconds(60) : std::chrono::seconds(3'600);
}

std::string budget_bucket(BudgetKind kind, BudgetWindow window, std::string_view client) {
    std::string text = kind == BudgetKind::kPage ? "search-ip-" : "api-ip-";
    text += window == BudgetWindow::kMinute ? "min:" : "hour:";
    return to_hex(sha256(text.append(client)));
}

io::SqliteSchema budget_schema() {
    return kSchema;
}

SearchBudget::SearchBudget(io::SqliteStore& file, const Clock& clock)
    : file_(file), clock_(clock), pause_(std::make_shared<Pause>()) {}

Task<Result<BudgetVerdict>> SearchBudget::spend(BudgetKind kind, std::string client,
                                                BudgetLimits limits) {
    bool is_probe = false;
    if (!pause_->begin(clock_.now(), is_probe)) {
        co_return failed_a_moment_ago();
    }
    // However this search ends, also before its job begins, another one may try then.
    const auto end = [](Pause* pause) { pause->ended(); };
    const std::unique_ptr<Pause, decltype(end)> probe(is_probe ? pause_.get() : nullptr, end);
    const WallTime now = clock_.wall_now();
    const std::int64_t now_s = seconds_since_epoch(now);
    Places places;
    for (const BudgetWindow window : kWindows) {
        const auto i = static_cast<std::size_t>(window);
        const std::int64_t length = length_of(window).count();
        const std::int64_t start = floor_div(now_s, length) * length;
        places[i] = {budget_bucket(kind, window, client), start, start + length, limits.most[i]};
    }
    const bool sweeps = is_sweep_due(now);
    auto work = [swept_at = swept_at_, pause = pause_, &clock = clock_, places = std::move(places),
                 now, now_s, sweeps, is_probe](SqliteConnection& db) -> Result<BudgetVerdict> {
        if (!is_probe && pause->is_broken()) {
            return failed_a_moment_ago();
        }
        Result<BudgetVerdict> verdict = spend_in_transaction(db, places, now);
        pause->tried(verdict.ok(), clock.now());
        if (sweeps && verdict.ok()) {
            // Outside the transaction of the search, whose answer does not depend on it.
            const auto swept = db.change(kSweep, {now_s - std::chrono::seconds(kKeptFor).count()});
            if (swept.ok() && *swept == kSweptAtOnce) {
                swept_at->store(kNever);  // the next search goes on
            }
        }
        return verdict;
    };
    co_return co_await file_.run(std::move(work));
}

// Once in each minute of the clock, unless there is more.
bool SearchBudget::is_sweep_due(WallTime now) {
    const std::int64_t minute = floor_div(seconds_since_epoch(now), 60);
    return swept_at_->exchange(minute) != minute;
}

}  // namespace sluice::titles
