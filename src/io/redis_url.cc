#include "io/redis_url.h"

#include "base/text.h"

#include <charconv>
#include <optional>
#include <utility>

namespace sluice::io {

namespace {

constexpr std::size_t kMaxEndpoints = 16;
constexpr std::uint32_t kMaxDatabase = 1'000'000;

template <class Int>
std::optional<Int> parse_number(std::string_view text, Int max) {
    Int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || number > max) {
        return std::nullopt;
    }
    return number;
}

// "user:password@" was there: what stands before the '@'.
bool read_login(std::string_view login, RedisEndpoint& endpoint) {
    const std::size_t colon = login.find(':');
    const auto user = percent_decode(login.substr(0, colon), PlusIsSpace::kNo);
    auto password = colon == std::string_view::npos
                        ? std::string()
                        : percent_decode(login.substr(colon + 1), PlusIsSpace::kNo);
    if (!user || !password || (password->empty() && !user->empty())) {
        return false;
    }
    endpoint.user = *user;
    endpoint.password = Secret(*std::move(password));
    return true;
}

bool read_address(std::string_view address, RedisEndpoint& endpoint) {
    std::string_view host = address;
    std::string_view rest;
    if (address.starts_with('[')) {
        const std::size_t end = address.find(']');
        if (end == std::string_view::npos) {
            return false;
        }
        host = address.substr(1, end - 1);
        rest = address.substr(end + 1);
    } else if (const std::size_t colon = address.find(':'); colon != std::string_view::npos) {
        host = address.substr(0, colon);
        rest = address.substr(colon);
    }
    if (!rest.empty()) {
        const auto port = parse_number<std::uint16_t>(rest.substr(1), 65'535);
        if (rest.front() != ':' || !port || *port == 0) {
            return false;
        }
        endpoint.port = *port;
    }
    endpoint.host = std::string(host);
    return !host.empty();
}

// Nothing, or what is wrong with it.
std::optional<std::string_view> read_url(std::string_view url, RedisEndpoint& endpoint) {
    if (url.starts_with("rediss://")) {
        endpoint.tls = true;
        url.remove_prefix(9);
    } else if (url.starts_with("redis://")) {
        url.remove_prefix(8);
    } else {
        return "expected redis:// or rediss://";
    }
    if (url.find_first_of("?#") != std::string_view::npos) {
        return "expected no parameters; percent-encode '?' and '#' in a password";
    }
    if (const std::size_t at = url.rfind('@'); at != std::string_view::npos) {
        if (!read_login(url.substr(0, at), endpoint)) {
            return "expected user:password or :password, percent-encoded, before the '@'";
        }
        url.remove_prefix(at + 1);
    }
    if (const std::size_t slash = url.find('/'); slash != std::string_view::npos) {
        const std::string_view database = url.substr(slash + 1);
        const auto number = parse_number<std::uint32_t>(database, kMaxDatabase);
        if (!database.empty() && !number) {
            return "expected the number of a database after the '/'";
        }
        endpoint.database = number.value_or(0);
        url = url.substr(0, slash);
    }
    if (!read_address(url, endpoint)) {
        return "expected host or host:port, an IPv6 address in brackets";
    }
    return std::nullopt;
}

}  // namespace

std::string RedisEndpoint::name() const {
    const bool is_v6 = host.find(':') != std::string::npos;
    return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<std::vector<RedisEndpoint>> parse_redis_urls(std::string_view text) {
    std::vector<RedisEndpoint> endpoints;
    for (const std::string_view url : split_list(text)) {
        RedisEndpoint endpoint;
        auto wrong = read_url(url, endpoint);
        if (endpoints.size() == kMaxEndpoints) {
            wrong = "too many addresses";
        }
        if (wrong) {
            return Error{Code::kInvalidRequest,
                         Blame::kCaller,
                         "address " + std::to_string(endpoints.size() + 1) +
                             " of the list: " + std::string(*wrong),
                         {}};
        }
        endpoints.push_back(std::move(endpoint));
    }
    return endpoints;
}

}  // namespace sluice::io
