#include "web/site.h"

#include "base/text.h"

namespace sluice::web {

std::string site_of(std::string_view url) {
    const std::size_t scheme = url.find("://");
    if (scheme == std::string_view::npos) {
        return {};
    }
    std::string_view host = url.substr(scheme + 3);
    host = host.substr(0, host.find_first_of("/?#"));
    if (const std::size_t at = host.rfind('@'); at != std::string_view::npos) {
        host = host.substr(at + 1);
    }
    // A colon after the closing bracket of an IPv6 literal, or the only one, begins the port.
    const std::size_t bracket = host.rfind(']');
    const std::size_t colon = host.rfind(':');
    if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
        host = host.substr(0, colon);
    }
    std::string site = to_lower(host);
    if (site.starts_with("www.") && site.size() > 4) {
        site.erase(0, 4);
    }
    return site;
}

}  // namespace sluice::web
