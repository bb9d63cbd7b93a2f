// How many requests a token and a client may make: fixed windows of one minute on the wall clock.
// Of this process; access/shared_windows.h makes replicas count together.
#pragma once

#include "base/clock.h"
#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::access {

// Who asks, and how much each may. A limit of 0 means no limit; so does an empty token id for the
// token's.
struct WindowRequest {
    std::string_view token_id;
    std::int64_t token_limit = 0;  // requests a minute
    std::string_view client;       // its bucket, io::bucket_of()
    std::int64_t client_limit = 0;
};

// Thread-safe; every call holds a shard's lock for some tens of nanoseconds.
class RequestWindows {
 public:
    static constexpr Duration kWindow = std::chrono::minutes(1);
    // Windows kept per kind. Beyond it the oldest are forgotten, those that ended first.
    static constexpr std::size_t kMaxWindows = 65'536;

    RequestWindows();
    ~RequestWindows();

    // Counts one request in both windows, or in neither: kRateLimited with retry_after, and which
    // of the two was full in the message. A limit that changed applies to the window that is open.
    Status take(const WindowRequest& request, WallTime now);

    // Requests of one window.
    struct Count {
        enum class Of : std::uint8_t { kToken, kClient };
        Of of = Of::kToken;
        std::string key;
        std::int64_t requests = 0;
    };
    // For who shares windows with other replicas. Before the first take(): from then on what is
    // counted is kept for take_counts() too, and `notice` is called on the thread of each request
    // that finds nothing kept.
    void keep_counts(std::function<void()> notice);
    // What was counted since the last time.
    std::vector<Count> take_counts();
    // All replicas together have counted so many in the open window.
    void raise(const Count& total, WallTime now);

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::access
