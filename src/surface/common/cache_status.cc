#include "surface/common/cache_status.h"

#include "base/result.h"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace sluice::surface {

namespace {

void append_seconds(std::string& out, Duration duration) {
    char digits[24];
    const std::int64_t seconds = std::chrono::floor<std::chrono::seconds>(duration).count();
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, seconds);
    out.append(digits, end);
}

std::string_view parameters_of(web::CacheFate fate) {
    switch (fate) {
        case web::CacheFate::kHit:
            return "; hit";
        case web::CacheFate::kMiss:
            return "; fwd=miss";
        case web::CacheFate::kStale:
            return "; fwd=stale";
        case web::CacheFate::kRefresh:
            return "; fwd=request";
        case web::CacheFate::kBypass:
            return "; fwd=bypass";
        case web::CacheFate::kOnly:
            return "; detail=only-if-cached";
        case web::CacheFate::kNotAsked:
            break;
    }
    SLUICE_ASSERT(false && "a CacheFate without parameters");
}

}  // namespace

void append_cache_headers(std::string& headers, const web::CacheNote& note) {
    if (note.fate == web::CacheFate::kNotAsked) {
        return;
    }
    if (note.from_past) {
        headers.append("Age: ");
        append_seconds(headers, note.age);
        headers.append("\r\n");
    }
    headers.append("Cache-Status: sluice").append(parameters_of(note.fate));
    if (note.from_past) {
        headers.append("; ttl=");
        append_seconds(headers, note.ttl);
    }
    headers.append(note.stored ? "; stored" : "").append(note.collapsed ? "; collapsed" : "");
    headers.append("\r\n");
}

}  // namespace sluice::surface
