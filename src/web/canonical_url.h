// Which addresses mean the same page. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace sluice::web {

// One text for all the addresses that mean the same page as far as the address tells: to compare
// by, never to be given out or called. Alike are
//   http and https, www. and none, every spelling of a host (web/host.h), the ports 80 and 443 and
//   none
//   a path with and without slashes at its end, with backslashes for them, with dots resolved (RFC
//   3986 section 5.2.4) characters as they are and percent-encoded, '+' and %20 in a query
//   parameters in any order of their names, and without those that only say where a visitor came
//   from (utm_source, gclid, ...)
//   every fragment, but for "#!...", which names a page of its own
// What is not an absolute URL, or has no host, is returned as it is.
// canonical_url(canonical_url(x)) is canonical_url(x).
std::string canonical_url(std::string_view url);

}  // namespace sluice::web
