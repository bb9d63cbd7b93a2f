// Bodies of pages as HTML, so that a page that many read is rendered once.
#pragma once

#include "base/clock.h"
#include "guard/lru.h"
#include "io/http_message.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace sluice::surface {

// A body is as it is as long as the version of its page is. A database that was restored goes on
// from an older version in its own way, but not at the same instant.
struct BodyKey {
    std::int64_t page = 0;
    std::int64_t version = 0;
    WallTime updated_at = {};
    bool operator==(const BodyKey&) const = default;
};

struct BodyKeyHash {
    std::size_t operator()(const BodyKey& key) const;
};

// With the compressed forms that clients asked for.
using BodyHtml = std::shared_ptr<const io::HttpBody>;

// Thread-safe.
class BodyCache {
 public:
    static constexpr std::size_t kMaxBytes = std::size_t{16} * 1024 * 1024;

    // Null: it is not here.
    BodyHtml find(const BodyKey& key);
    void put(const BodyKey& key, BodyHtml html);

 private:
    using Map = guard::LruMap<BodyKey, BodyHtml, BodyKeyHash>;

    std::mutex mutex_;
    Map map_{guard::LruLimits{.max_entries = kMaxBytes / Map::kEntryOverheadBytes,
                              .max_cost = kMaxBytes}};
};

}  // namespace sluice::surface
