// The host of an address as browsers read it (WHATWG URL), in one spelling: what filters, counting
// pages once and the site of a hit go by. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::web {

inline constexpr std::size_t kMaxHostBytes = 253;

// One spelling of a host name or an address in numbers: percent-encoding undone, lower case, IDN
// labels as "xn--" has them (UTS 46), without a final dot; IPv6 in brackets. "B%2Ecom.", full-width
// letters and ideographic dots all give "b.com". Nothing where two readers may disagree on what is
// meant or where it is no host: empty or overlong labels, other characters than letters, digits,
// '-' and '_', IPv4 in other forms than four decimals.
std::optional<std::string> normal_host(std::string_view spelled);
// Whether normal_host() has one; cheaper for what is ordinary.
bool is_host(std::string_view spelled);

// The parts of an absolute URL, pointing into it. Browsers end the authority at a backslash too.
struct UrlParts {
    std::string_view user;  // with its '@'
    std::string_view host;  // as it is spelled
    std::string_view port;  // with its ':'
    std::string_view tail;  // path, query and fragment
};
// Nothing without "://".
std::optional<UrlParts> split_url(std::string_view url);

// The number that UrlParts::port has; 0 where it is empty or a colon alone. Nothing when it is no
// port.
std::optional<std::uint16_t> port_number(std::string_view port);

// normal_host() of the host of `url`; empty when it has none.
std::string host_of(std::string_view url);

}  // namespace sluice::web
