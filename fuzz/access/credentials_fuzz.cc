// The headers that decide who may come in are a stranger's. A gateway on loopback without tokens
// reads them; whatever they are, only what its rules allow may pass, so what passed is checked here
// against plainer conditions that must hold then.
#include "access/access.h"
#include "access/origin.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace sluice;
using namespace sluice::access;

constexpr std::string_view kAllowedHost = "search.example";
constexpr std::string_view kListedOrigin = "https://app.example";

Access& gateway() {
    static const SystemClock clock;
    static const TokenTable no_tokens;
    static obs::Metrics metrics;
    static Access access(
        [] {
            AccessConfig config;
            config.allowed_hosts = {std::string(kAllowedHost)};
            config.anonymous = Anonymous::kAll;
            config.cors_origins = {std::string(kListedOrigin)};
            return config;
        }(),
        true, {"127.0.0.1"}, no_tokens, clock, metrics);
    return access;
}

// One header a line, in this order; lines that are missing are headers that are missing.
std::vector<io::HeaderField> headers_of(std::string_view input) {
    constexpr std::array<std::string_view, 5> kNames = {"Host", "Origin", "Sec-Fetch-Site",
                                                        "Authorization", "X-Api-Key"};
    std::vector<io::HeaderField> headers;
    for (const std::string_view name : kNames) {
        const std::size_t end = std::min(input.find('\n'), input.size());
        headers.push_back({name, input.substr(0, end)});
        input.remove_prefix(std::min(end + 1, input.size()));
    }
    return headers;
}

bool begins_with(std::string_view text, std::string_view prefix) {
    return equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

// What may stand before an optional port of a Host that is let in.
bool names_this_machine(std::string_view host) {
    return contains_ignoring_case(host, "localhost") || begins_with(host, "127.") ||
           begins_with(host, "[") || begins_with(host, kAllowedHost);
}

void check_parsers(std::string_view text) {
    const auto host = parse_host(text);
    if (host) {
        const bool v6 = host->host.find(':') != std::string_view::npos;
        std::string again = v6 ? "[" + std::string(host->host) + "]" : std::string(host->host);
        if (host->port) {
            again += ":" + std::to_string(*host->port);
        }
        const auto parsed = parse_host(again);
        SLUICE_ASSERT(parsed && parsed->host == host->host && parsed->port == host->port);
        SLUICE_ASSERT(host->host.find_first_of("@/ ,\t\r\n") == std::string_view::npos);
    }
    const auto origin = parse_origin(text);
    if (origin) {
        SLUICE_ASSERT(same_origin(*origin, *origin));
        SLUICE_ASSERT(text.find("://") != std::string_view::npos);
    }
    if (const auto token = parse_token(text)) {
        const std::string again =
            "slc_" + std::string(token->id) + "_" + std::string(token->secret);
        SLUICE_ASSERT(again == text);
    }
}

void check_verdict(const Credentials& credentials) {
    const auto passed = gateway().identify(credentials, Scope::kSearch);
    if (!credentials.token.empty()) {
        // No token exists, so every one is wrong.
        SLUICE_ASSERT(!passed.ok() && passed.error().code == Code::kUnauthenticated);
        return;
    }
    if (!passed.ok()) {
        SLUICE_ASSERT(passed.error().code == Code::kForeignOrigin);
        return;
    }
    SLUICE_ASSERT(names_this_machine(credentials.host));
    if (begins_with(credentials.origin, kListedOrigin)) {
        return;
    }
    const std::string_view site = credentials.fetch_site;
    SLUICE_ASSERT(site.empty() || site == "same-origin" || site == "none");
    const std::size_t scheme = credentials.origin.find("://");
    SLUICE_ASSERT(credentials.origin.empty() ||
                  names_this_machine(credentials.origin.substr(scheme + 3)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::vector<io::HeaderField> headers = headers_of(input);
    for (const io::HeaderField& header : headers) {
        check_parsers(header.value);
    }
    io::HttpRequest request;
    request.headers = headers;
    check_verdict(gateway().credentials_of(request));
    return 0;
}
