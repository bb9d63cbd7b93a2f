// The site a URL belongs to, as answers show it.
#pragma once

#include <string>
#include <string_view>

namespace sluice::web {

// The host of a URL in its one spelling (web/host.h), without a leading "www."; empty when it has
// none.
std::string site_of(std::string_view url);

}  // namespace sluice::web
