// How often one client may search: so many a minute and so many an hour, in fixed windows aligned
// to the epoch. Both are counted in one transaction, so that a search takes from both or from
// neither. Counts are in a file of their own: they survive a restart, and processes that share the
// file share them.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "io/sqlite_store.h"
#include "obs/metrics.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::titles {

enum class BudgetWindow : std::uint8_t { kMinute, kHour };
inline constexpr std::size_t kBudgetWindows = 2;
std::string_view to_string(BudgetWindow window);
std::chrono::seconds length_of(BudgetWindow window);

// Whose windows are counted: programs have others than people, so that neither takes the other's.
enum class BudgetKind : std::uint8_t { kPage, kApi };

// How a client's window is named in the file and in logs: SHA-256 of "search-ip-min:<client>" (and
// "-hour", and "api-ip-min:" for programs), 64 lower-case hex digits. An IPv4 address can be found
// again by trying all of them, so these are personal data.
std::string budget_bucket(BudgetKind kind, BudgetWindow window, std::string_view client);

struct BudgetLimits {
    std::array<std::int64_t, kBudgetWindows> most = {20, 200};  // by BudgetWindow
};

struct WindowState {
    std::int64_t limit = 0;
    std::int64_t count = 0;
    std::chrono::seconds resets_in{};  // to its end, rounded up, at least 1
};

struct BudgetVerdict {
    std::optional<BudgetWindow> refused = {};  // the first that is full; nothing was counted then
    // By BudgetWindow; of a refused search only those up to the window that refused.
    std::array<std::optional<WindowState>, kBudgetWindows> windows = {};

    bool passed() const { return !refused; }
};

// The schema of the file that SearchBudget expects.
io::SqliteSchema budget_schema();

// Thread-safe; outlives its calls.
class SearchBudget {
 public:
    // How long rows stay after their window ended. Those are deleted once a minute, a few at a
    // time.
    static constexpr std::chrono::hours kKeptFor{1};
    // After the file failed nobody waits for it for so long; then one search at a time tries it.
    static constexpr Millis kPauseAfterFailure{1'000};

    // References outlive it. `file` was opened with budget_schema().
    SearchBudget(io::SqliteStore& file, const Clock& clock);

    // Takes one from both windows of the client (io::bucket_of()), or from neither. An error means
    // that nothing was counted, and that nobody knows whether there was room: those of io/sqlite.h,
    // kOverloaded, kUnavailable at once while the file is paused, and kCancelled when the caller
    // left before its turn.
    Task<Result<BudgetVerdict>> spend(BudgetKind kind, std::string client, BudgetLimits limits);

 private:
    class Pause;
    bool is_sweep_due(WallTime now);

    io::SqliteStore& file_;
    const Clock& clock_;
    static constexpr std::int64_t kNever = -1;
    // Minutes since the epoch. Shared with jobs of the file, which may outlive this object.
    const std::shared_ptr<std::atomic<std::int64_t>> swept_at_ =
        std::make_shared<std::atomic<std::int64_t>>(kNever);
    const std::shared_ptr<Pause> pause_;  // the same
};

}  // namespace sluice::titles
