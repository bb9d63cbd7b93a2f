// How one search and the caches met: what a door says about it in Cache-Status and Age (RFC 9211).
#pragma once

#include "base/clock.h"

#include <cstdint>

namespace sluice::web {

// Why the providers were asked, if they were.
enum class CacheFate : std::uint8_t {
    kNotAsked,  // the request ended before the cache was looked at
    kHit,       // they were not: there was a fresh answer
    kMiss,      // there was no answer
    kStale,     // there was one, but not a fresh one
    kRefresh,   // the request wanted a new one
    kBypass,    // the request wanted one of its own
    kOnly,      // they were not, though there was no fresh answer: the request ruled it out
};

struct CacheNote {
    CacheFate fate = CacheFate::kNotAsked;
    bool collapsed = false;  // it waited for the flight of somebody else's search
    bool stored = false;     // the new answer was kept
    bool from_past = false;  // what is served was made before this request; then:
    Duration age{};          // since a provider gave it
    Duration ttl{};          // how long it is still fresh; negative: since when it is not
};

}  // namespace sluice::web
