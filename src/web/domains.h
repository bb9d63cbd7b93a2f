// Whether an address belongs to a domain of a list, as include_domains and exclude_domains mean it.
// Hosts and listed domains are in the spelling of web/host.h.
// Pure functions over the public suffix list that the system has; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::web {

// The domain that somebody registered, in a host name: "news.example.co.uk" gives
// "example.co.uk". Empty for a public suffix ("co.uk") and for an address in numbers.
std::string_view registrable_domain(std::string_view host);

// A listed domain stands for itself and everything below it. "www." in front of a domain that can
// be registered makes no difference, since sites are one with and without it.
bool is_in_domain(std::string_view host, std::string_view listed);
bool is_in_any_domain(std::string_view host, const std::vector<std::string>& listed);

}  // namespace sluice::web
