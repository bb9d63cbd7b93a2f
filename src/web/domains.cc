#include "web/domains.h"

#include "io/address.h"

#include <algorithm>
#include <libpsl.h>
#include <memory>

namespace sluice::web {
namespace {

constexpr std::string_view kWww = "www.";

struct FreePsl {
    void operator()(psl_ctx_t* list) const { psl_free(list); }
};

// The newer of the list in the library and the system's file. Read once, for as long as the process
// lives.
const psl_ctx_t* public_suffixes() {
    static const std::unique_ptr<psl_ctx_t, FreePsl> list(psl_latest(nullptr));
    return list ? list.get() : psl_builtin();
}

bool is_ip_address(std::string_view host) {
    return host.starts_with('[') || io::Address::parse(host).has_value();
}

// Without "www.", where a domain that can be registered is left.
std::string_view without_www(std::string_view domain) {
    if (!domain.starts_with(kWww)) {
        return domain;
    }
    const std::string_view rest = domain.substr(kWww.size());
    return registrable_domain(rest).empty() ? domain : rest;
}

}  // namespace

std::string_view registrable_domain(std::string_view host) {
    if (host.empty() || is_ip_address(host)) {
        return {};
    }
    const std::string text(host);  // libpsl wants it terminated
    const char* const found = psl_registrable_domain(public_suffixes(), text.c_str());
    return found == nullptr ? std::string_view()
                            : host.substr(static_cast<std::size_t>(found - text.c_str()));
}

bool is_in_domain(std::string_view host, std::string_view listed) {
    const std::string_view inner = without_www(host);
    const std::string_view domain = without_www(listed);
    if (domain.empty() || !inner.ends_with(domain)) {
        return false;
    }
    return inner.size() == domain.size() || inner[inner.size() - domain.size() - 1] == '.';
}

bool is_in_any_domain(std::string_view host, const std::vector<std::string>& listed) {
    return std::ranges::any_of(
        listed, [host](const std::string& domain) { return is_in_domain(host, domain); });
}

}  // namespace sluice::web
