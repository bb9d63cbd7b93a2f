#include "web/canonical_url.h"

#include "base/percent.h"
#include "base/text.h"
#include "web/host.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <vector>

namespace sluice::web {

namespace {

// Parameters that mail and advertising systems add to whatever address they are given. Sorted.
constexpr std::array<std::string_view, 32> kTrackingNames = {
    "_ga",       "_gl",       "_hsenc",  "_hsmi",       "dclid",      "fbclid",      "gad_source",
    "gbraid",    "gclid",     "gclsrc",  "igsh",        "igshid",     "li_fat_id",   "mc_cid",
    "mc_eid",    "mkt_tok",   "msclkid", "oly_anon_id", "oly_enc_id", "pk_campaign", "pk_kwd",
    "pk_medium", "pk_source", "ref_src", "ref_url",     "s_kwcid",    "srsltid",     "ttclid",
    "twclid",    "vero_id",   "wbraid",  "yclid"};
static_assert(std::is_sorted(kTrackingNames.begin(), kTrackingNames.end()));

constexpr std::array<std::string_view, 3> kTrackingPrefixes = {"hsa_", "mtm_", "utm_"};

bool is_tracking(std::string_view name) {
    return std::binary_search(kTrackingNames.begin(), kTrackingNames.end(), name) ||
           std::any_of(kTrackingPrefixes.begin(), kTrackingPrefixes.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// What may stand in a URL for itself besides: it means something else than its escape.
bool is_reserved(char c) {
    return std::string_view("!$&'()*+,;=:@/?#[]").find(c) != std::string_view::npos;
}

// Escapes of unreserved characters are undone, the others written with upper-case digits, and what
// may not stand in a URL is escaped, a '%' that begins no escape included.
std::string normal_escapes(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        char byte = text[i];
        bool escaped = false;
        if (byte == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
            hex_value(text[i + 2]) >= 0) {
            byte = static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
            escaped = true;
            i += 2;
        }
        if (is_unreserved(byte) || (!escaped && is_reserved(byte))) {
            out += byte;
        } else {
            append_escape(out, byte);
        }
    }
    return out;
}

// "me@WWW.Example.com.:443" -> "example.com". Nothing when the host can't be read.
std::optional<std::string> normal_authority(const UrlParts& parts) {
    auto host = normal_host(parts.host);
    const auto port = port_number(parts.port);
    if (!host || !port) {
        return std::nullopt;
    }
    constexpr std::string_view kWww = "www.";
    while (host->starts_with(kWww) && host->find('.', kWww.size()) != std::string::npos) {
        host->erase(0, kWww.size());
    }
    const bool is_usual = *port == 0 || *port == 80 || *port == 443;
    return is_usual ? *host : *host + ":" + std::to_string(*port);
}

// Without "." and ".." and without slashes at its end; empty for the root.
std::string normal_path(std::string_view raw) {
    std::string slashed(raw);
    std::replace(slashed.begin(), slashed.end(), '\\', '/');
    const std::string path = normal_escapes(slashed);
    std::vector<std::string_view> segments;
    std::string_view rest = path;
    while (!rest.empty()) {
        rest.remove_prefix(1);  // its slash
        const std::size_t end = std::min(rest.find('/'), rest.size());
        const std::string_view segment = rest.substr(0, end);
        rest.remove_prefix(end);
        if (segment == "..") {
            if (!segments.empty()) {
                segments.pop_back();
            }
        } else if (segment != ".") {
            segments.push_back(segment);
        }
    }
    while (!segments.empty() && segments.back().empty()) {
        segments.pop_back();
    }
    std::string out;
    for (std::string_view segment : segments) {
        out.append("/").append(segment);
    }
    return out;
}

std::string_view name_of(std::string_view parameter) {
    return parameter.substr(0, parameter.find('='));
}

std::string normal_query(std::string_view raw) {
    std::string spaced(raw);
    std::replace(spaced.begin(), spaced.end(), '+', ' ');
    const std::string query = normal_escapes(spaced);
    std::vector<std::string_view> parameters = split_list(query, '&');
    std::erase_if(parameters, [](std::string_view parameter) {
        return is_tracking(to_lower(name_of(parameter)));
    });
    // Those of one name keep their order: they lie in one text.
    std::sort(parameters.begin(), parameters.end(), [](std::string_view a, std::string_view b) {
        return std::tuple(name_of(a), a.data()) < std::tuple(name_of(b), b.data());
    });
    std::string out;
    for (std::string_view parameter : parameters) {
        out.append(out.empty() ? "?" : "&").append(parameter);
    }
    return out;
}

}  // namespace

std::string canonical_url(std::string_view url) {
    const auto parts = split_url(url);
    const auto authority = parts ? normal_authority(*parts) : std::nullopt;
    if (!authority) {
        return std::string(url);
    }
    std::string_view rest = parts->tail;
    std::string_view fragment;
    if (const std::size_t hash = rest.find('#'); hash != std::string_view::npos) {
        fragment = rest.substr(hash + 1);
        rest = rest.substr(0, hash);
    }
    std::string_view query;
    if (const std::size_t mark = rest.find('?'); mark != std::string_view::npos) {
        query = rest.substr(mark + 1);
        rest = rest.substr(0, mark);
    }
    std::string out = "https://" + *authority + normal_path(rest) + normal_query(query);
    if (fragment.starts_with('!')) {
        out.append("#").append(normal_escapes(fragment));
    }
    return out;
}

}  // namespace sluice::web
