#include "web/site.h"

#include "web/host.h"

namespace sluice::web {

std::string site_of(std::string_view url) {
    constexpr std::string_view kWww = "www.";
    std::string site = host_of(url);
    if (site.starts_with(kWww)) {
        site.erase(0, kWww.size());
    }
    return site;
}

}  // namespace sluice::web
