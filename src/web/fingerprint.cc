#include "web/fingerprint.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::web {

namespace {

// To be raised whenever the encoding or the meaning of a field changes, so that entries written by
// an older binary are never mistaken for answers to a new request.
constexpr char kSchemaVersion = 1;

void put(std::string& out, std::uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) {
        out.push_back(static_cast<char>((number >> shift) & 0xff));
    }
}

// Every piece is preceded by its length, so that no two different requests encode alike.
void put(std::string& out, std::string_view text) {
    put(out, static_cast<std::uint32_t>(text.size()));
    out.append(text);
}

void put(std::string& out, const std::vector<std::string>& list) {
    put(out, static_cast<std::uint32_t>(list.size()));
    for (const std::string& item : list) {
        put(out, item);
    }
}

}  // namespace

Fingerprint fingerprint(const SearchRequest& request) {
    thread_local std::string encoded;
    encoded.clear();
    encoded.push_back(kSchemaVersion);
    put(encoded, request.query.reveal());
    encoded.push_back(static_cast<char>(request.lane));
    put(encoded, request.max_results);
    put(encoded, request.page);
    put(encoded, request.locale);
    put(encoded, request.country);
    encoded.push_back(static_cast<char>(request.freshness.period));
    put(encoded, request.freshness.from);
    put(encoded, request.freshness.to);
    encoded.push_back(static_cast<char>(request.topic));
    encoded.push_back(static_cast<char>(request.want_answer ? 1 : 0));
    encoded.push_back(static_cast<char>(request.want_content ? 1 : 0));
    put(encoded, request.include_domains);
    put(encoded, request.exclude_domains);
    put(encoded, request.providers);
    encoded.push_back(static_cast<char>(request.strategy));
    encoded.push_back(static_cast<char>(request.safe_search));
    return sha256(encoded);
}

}  // namespace sluice::web
