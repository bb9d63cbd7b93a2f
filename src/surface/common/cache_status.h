// The header fields that say where an answer came from: Age (RFC 9111) and Cache-Status (RFC 9211).
#pragma once

#include "web/cache_note.h"

#include <string>

namespace sluice::surface {

// Room for what append_cache_headers() adds.
inline constexpr std::size_t kCacheHeaderBytes = 96;

// Appends whole lines: "Age: 9\r\nCache-Status: sluice; hit; ttl=291\r\n" for a fresh answer,
// "Cache-Status: sluice; fwd=miss; stored\r\n" for a new one, and so on. Nothing when the cache was
// not looked at. Any thread.
void append_cache_headers(std::string& headers, const web::CacheNote& note);

}  // namespace sluice::surface
