#include "io/postgres_url.h"

#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <libpq-fe.h>
#include <memory>
#include <optional>

namespace sluice::io {

namespace {

constexpr std::size_t kMaxHosts = 16;
constexpr std::array<std::string_view, 6> kSslModes = {"disable", "allow",     "prefer",
                                                       "require", "verify-ca", "verify-full"};

Error invalid(std::string_view what) {
    return Error{Code::kInvalidRequest, Blame::kCaller, std::string(what), {}};
}

// Without the name of a driver: "postgresql+asyncpg://host/db" -> "postgresql://host/db".
std::optional<std::string> plain_url(std::string_view url) {
    const std::size_t end = url.find("://");
    if (end == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view driven = url.substr(0, end);
    const std::string_view scheme = driven.substr(0, driven.find('+'));
    if (scheme != "postgresql" && scheme != "postgres") {
        return std::nullopt;
    }
    return "postgresql" + std::string(url.substr(end));
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size() || port == 0) {
        return std::nullopt;
    }
    return port;
}

// "a,,b" has three parts, unlike a list of settings.
std::vector<std::string_view> parts_of(std::string_view text) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t comma = text.find(',');
        parts.push_back(text.substr(0, comma));
        if (comma == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(comma + 1);
    }
}

// One port for all, or one a host; an empty one is the default.
Status read_hosts(std::string_view names, std::string_view ports, PostgresTarget& target) {
    const std::vector<std::string_view> port_texts = parts_of(ports);
    const std::vector<std::string_view> host_texts = parts_of(names);
    if (host_texts.size() > kMaxHosts) {
        return invalid("too many hosts");
    }
    for (std::size_t i = 0; i < host_texts.size(); ++i) {
        PostgresTarget::Host host;
        host.name = host_texts[i];
        const std::string_view port =
            port_texts.size() == 1 ? port_texts[0]
                                   : (i < port_texts.size() ? port_texts[i] : std::string_view());
        const auto number = port.empty() ? std::optional(host.port) : parse_port(port);
        if (host.name.empty() || !number) {
            return invalid("expected host or host:port, an IPv6 address in brackets");
        }
        host.port = *number;
        target.hosts.push_back(std::move(host));
    }
    return {};
}

Status read_option(std::string_view key, std::string_view value, PostgresTarget& target) {
    const std::array<std::pair<std::string_view, std::string*>, 6> texts = {{
        {"user", &target.user},
        {"dbname", &target.database},
        {"sslmode", &target.ssl_mode},
        {"sslrootcert", &target.root_certificate},
        {"sslcert", &target.certificate},
        {"sslkey", &target.certificate_key},
    }};
    const auto found = std::ranges::find(texts, key, [](const auto& text) { return text.first; });
    if (found != texts.end()) {
        *found->second = value;
        return {};
    }
    if (key == "password") {
        target.password = Secret(std::string(value));
        return {};
    }
    return invalid(
        "expected no parameters but sslmode, sslrootcert, sslcert and sslkey; percent-encode what "
        "a "
        "password has of @ : / ? # %");
}

}  // namespace

std::string PostgresTarget::name() const {
    const Host& host = hosts.front();
    const bool is_v6 = host.name.find(':') != std::string::npos;
    return (is_v6 ? "[" + host.name + "]" : host.name) + ":" + std::to_string(host.port);
}

bool is_postgres_url(std::string_view url) {
    return plain_url(url).has_value();
}

Result<PostgresTarget> parse_postgres_url(std::string_view url) {
    const std::optional<std::string> plain = plain_url(url);
    if (!plain) {
        return invalid("expected postgresql://");
    }
    if (plain->find('\0') != std::string::npos) {
        return invalid("expected no NUL character");
    }
    char* message = nullptr;
    const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
        PQconninfoParse(plain->c_str(), &message), &PQconninfoFree);
    PQfreemem(message);  // it may quote a password
    if (!options) {
        return invalid("expected postgresql://user:password@host:port/database, percent-encoded");
    }
    PostgresTarget target;
    std::string hosts;
    std::string ports;
    for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
        if (option->val == nullptr) {
            continue;
        }
        const std::string_view key = option->keyword;
        if (key == "host") {
            hosts = option->val;
        } else if (key == "port") {
            ports = option->val;
        } else {
            TRY_STATUS(read_option(key, option->val, target));
        }
    }
    if (std::ranges::find(kSslModes, target.ssl_mode) == kSslModes.end()) {
        return invalid(
            "sslmode: expected disable, allow, prefer, require, verify-ca or verify-full");
    }
    TRY_STATUS(read_hosts(hosts, ports, target));
    return target;
}

}  // namespace sluice::io
