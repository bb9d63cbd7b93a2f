// Retry-After comes from whatever answers a provider's address.

#include "guard/retry_after.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sluice;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const WallTime now(std::chrono::seconds(1'770'000'000));
    const auto wait = guard::parse_retry_after(text, now);
    if (wait) {
        SLUICE_ASSERT(*wait >= guard::kMinRetryAfter && *wait <= guard::kMaxRetryAfter);
        // A value that is understood once is understood wherever the clock stands.
        SLUICE_ASSERT(guard::parse_retry_after(text, now + std::chrono::hours(1)).has_value());
    }
    return 0;
}
