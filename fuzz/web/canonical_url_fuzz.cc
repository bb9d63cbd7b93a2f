// Addresses as providers send them: a second look changes nothing, and the result stays near the
// size of what came in.
#include "base/result.h"
#include "web/canonical_url.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view url(reinterpret_cast<const char*>(data), size);
    const std::string once = sluice::web::canonical_url(url);
    SLUICE_ASSERT(sluice::web::canonical_url(once) == once);
    SLUICE_ASSERT(once.size() <= 3 * size + sizeof("https://?"));
    return 0;
}
