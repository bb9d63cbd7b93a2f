#include "io/redis_url.h"

#include "base/text.h"

#include <charconv>
#include <optional>
#include <utility>

namespace sluice::io {

namespace {

constexpr std::size_t kMaxEndpoints = 16;
constexpr std::uint32_t kMaxDatabase = 1'000'000;
constexpr std::uint16_t kSentinelPort = 26'379;
constexpr std::size_t kMaxMasterBytes = 128;

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

constexpr std::string_view kNoAddress = "expected host or host:port, an IPv6 address in brackets";

bool take_prefix(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) {
        return false;
    }
    text.remove_prefix(prefix.size());
    return true;
}

// Takes the login off the front of `url`. Nothing, or what is wrong with it.
std::optional<std::string_view> take_login(std::string_view& url, RedisEndpoint& endpoint) {
    if (url.find_first_of("?#") != std::string_view::npos) {
        return "expected no parameters; percent-encode '?' and '#' in a password";
    }
    if (const std::size_t at = url.rfind('@'); at != std::string_view::npos) {
        if (!read_login(url.substr(0, at), endpoint)) {
            return "expected user:password or :password, percent-encoded, before the '@'";
        }
        url.remove_prefix(at + 1);
    }
    return std::nullopt;
}

// What stands behind the last '/' of a URL, which may be nothing.
std::optional<std::string_view> read_database(std::string_view text, RedisEndpoint& endpoint) {
    const auto number = parse_number<std::uint32_t>(text, kMaxDatabase);
    if (!text.empty() && !number) {
        return "expected the number of a database after the '/'";
    }
    endpoint.database = number.value_or(0);
    return std::nullopt;
}

// Nothing, or what is wrong with it.
std::optional<std::string_view> read_url(std::string_view url, RedisEndpoint& endpoint) {
    endpoint.tls = take_prefix(url, "rediss://");
    if (!endpoint.tls && !take_prefix(url, "redis://")) {
        return "expected redis://, rediss://, redis+sentinel:// or rediss+sentinel://";
    }
    if (auto wrong = take_login(url, endpoint)) {
        return wrong;
    }
    if (const std::size_t slash = url.find('/'); slash != std::string_view::npos) {
        if (auto wrong = read_database(url.substr(slash + 1), endpoint)) {
            return wrong;
        }
        url = url.substr(0, slash);
    }
    if (!read_address(url, endpoint)) {
        return kNoAddress;
    }
    return std::nullopt;
}

bool is_master_name(std::string_view name) {
    return !name.empty() && name.size() <= kMaxMasterBytes &&
           name.find_first_not_of(
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
               "._-") == std::string_view::npos;
}

bool is_of_sentinels(std::string_view text) {
    return text.starts_with("redis+sentinel://") || text.starts_with("rediss+sentinel://");
}

Error malformed(std::size_t place, std::string_view wrong) {
    return Error{Code::kInvalidRequest,
                 Blame::kCaller,
                 "address " + std::to_string(place) + " of the list: " + std::string(wrong),
                 {}};
}

// The one URL that names all sentinels.
Result<std::vector<RedisEndpoint>> parse_sentinels(std::string_view url) {
    RedisEndpoint common;
    common.tls = take_prefix(url, "rediss");
    url.remove_prefix(url.find("://") + 3);
    if (auto wrong = take_login(url, common)) {
        return malformed(1, *wrong);
    }
    const std::size_t slash = url.find('/');
    const std::vector<std::string_view> parts = split_list(url.substr(0, slash));
    std::string_view name = slash == std::string_view::npos ? "" : url.substr(slash + 1);
    if (const std::size_t next = name.find('/'); next != std::string_view::npos) {
        if (auto wrong = read_database(name.substr(next + 1), common)) {
            return malformed(1, *wrong);
        }
        name = name.substr(0, next);
    }
    if (!is_master_name(name)) {
        return malformed(1,
                         "expected the name of the master, as the sentinels have it, after the "
                         "'/'");
    }
    if (parts.empty() || parts.size() > kMaxEndpoints) {
        return malformed(1, "expected 1 to 16 sentinels");
    }
    common.master = std::string(name);
    common.port = kSentinelPort;
    std::vector<RedisEndpoint> sentinels;
    for (const std::string_view address : parts) {
        RedisEndpoint sentinel = common;
        if (!read_address(address, sentinel)) {
            return malformed(sentinels.size() + 1, kNoAddress);
        }
        sentinels.push_back(std::move(sentinel));
    }
    return sentinels;
}

}  // namespace

std::string RedisEndpoint::name() const {
    const bool is_v6 = host.find(':') != std::string::npos;
    return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<std::vector<RedisEndpoint>> parse_redis_urls(std::string_view text) {
    if (is_of_sentinels(trim(text))) {
        return parse_sentinels(trim(text));
    }
    std::vector<RedisEndpoint> endpoints;
    for (const std::string_view url : split_list(text)) {
        RedisEndpoint endpoint;
        auto wrong = read_url(url, endpoint);
        if (endpoints.size() == kMaxEndpoints) {
            wrong = "too many addresses";
        }
        if (wrong) {
            return malformed(endpoints.size() + 1, *wrong);
        }
        endpoints.push_back(std::move(endpoint));
    }
    return endpoints;
}

}  // namespace sluice::io
