#include "surface/pages/body_cache.h"

#include <functional>
#include <utility>

namespace sluice::surface {

std::size_t BodyKeyHash::operator()(const BodyKey& key) const {
    return std::hash<std::int64_t>()(key.page * 31 + key.version);
}

BodyHtml BodyCache::find(const BodyKey& key) {
    const std::lock_guard lock(mutex_);
    const auto* found = map_.find(key);
    return found == nullptr ? nullptr : *found;
}

void BodyCache::put(const BodyKey& key, BodyHtml html) {
    const std::size_t cost = html->memory_bytes() + Map::kEntryOverheadBytes;
    Map::Dropped dropped;  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    dropped = map_.put(key, std::move(html), cost);
}

}  // namespace sluice::surface
