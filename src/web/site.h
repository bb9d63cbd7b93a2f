// The site a URL belongs to, as answers show it.
#pragma once

#include <string>
#include <string_view>

namespace sluice::web {

// The host of an http(s) URL in lower case, without port and a leading "www."; empty when there is
// none.
std::string site_of(std::string_view url);

}  // namespace sluice::web
