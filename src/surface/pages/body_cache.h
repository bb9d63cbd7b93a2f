// Bodies of pages as HTML, so that a page that many read is rendered once.
#pragma once

#include "base/clock.h"
#include "guard/lru.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

namespace sluice::surface {

// A body is as it is as long as the version of its page is. A database that was restored goes on
// from an older version in its own way, but not at the same instant.
struct BodyKey {
    std::int64_t page = 0;
    std::int64_t version = 0;
    WallTime updated_at = {};
    bool operator==(const BodyKey&) const = default;
};

// Thread-safe.
class BodyCache {
 public:
    static constexpr std::size_t kMaxBytes = std::size_t{16} * 1024 * 1024;

    // Null: it is not here.
    std::shared_ptr<const std::string> find(const BodyKey& key);
    void put(const BodyKey& key, std::shared_ptr<const std::string> html);

 private:
    struct Hash {
        std::size_t operator()(const BodyKey& key) const;
    };
    using Map = guard::LruMap<BodyKey, std::shared_ptr<const std::string>, Hash>;

    std::mutex mutex_;
    Map map_{guard::LruLimits{.max_entries = kMaxBytes / Map::kEntryOverheadBytes,
                              .max_cost = kMaxBytes}};
};

}  // namespace sluice::surface
