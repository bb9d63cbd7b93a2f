// Addresses as providers send them: a second look changes nothing, the result stays near the size
// of what came in, and a filter decides by the host alone, however it is spelled.
#include "base/result.h"
#include "web/canonical_url.h"
#include "web/domains.h"
#include "web/host.h"
#include "web/plain_text.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view url(reinterpret_cast<const char*>(data), size);
    const std::string once = sluice::web::canonical_url(url);
    SLUICE_ASSERT(sluice::web::canonical_url(once) == once);
    // A host grows by "xn--" and what it takes to write any character in letters.
    SLUICE_ASSERT(once.size() <= 3 * size + sizeof("https://?") + sluice::web::kMaxHostBytes);
    const std::string host = sluice::web::host_of(url);
    if (const auto usable = sluice::web::usable_url(url)) {
        SLUICE_ASSERT(!sluice::web::host_of(*usable).empty());
    }
    if (!host.empty()) {
        SLUICE_ASSERT(sluice::web::normal_host(host) == host);
        SLUICE_ASSERT(sluice::web::is_in_domain(host, host));
        const std::string canonical_host = sluice::web::host_of(once);
        SLUICE_ASSERT(sluice::web::is_in_domain(host, canonical_host) ||
                      sluice::web::registrable_domain(canonical_host).empty());
    }
    return 0;
}
