#include "web/fingerprint.h"

#include "base/text.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::web {

namespace {

// To be raised whenever the encoding or the meaning of a field changes, so that entries written by
// an older binary are never mistaken for answers to a new request.
constexpr char kSchemaVersion = 2;
constexpr char kResultSchemaVersion = 2;

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

// What a provider is asked for beside the query and the number of results.
void put_constraints(std::string& out, const SearchRequest& request) {
    put(out, request.page);
    put(out, request.locale);
    put(out, request.country);
    out.push_back(static_cast<char>(request.freshness.period));
    put(out, request.freshness.from);
    put(out, request.freshness.to);
    out.push_back(static_cast<char>(request.topic));
    out.push_back(static_cast<char>(request.want_answer ? 1 : 0));
    out.push_back(static_cast<char>(request.want_content ? 1 : 0));
    put(out, request.include_domains);
    put(out, request.exclude_domains);
    out.push_back(static_cast<char>(request.safe_search));
}

bool is_word_byte(char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

bool is_operator(std::string_view word) {
    return word == "OR" || word == "AND" || word == "NOT";
}

// The query in lower case, except for what search engines take for operators only in capitals.
std::string without_case(std::string_view query) {
    std::string folded = to_lower(query);
    for (std::size_t begin = 0; begin < query.size();) {
        std::size_t end = begin;
        while (end < query.size() && is_word_byte(query[end])) {
            ++end;
        }
        const std::string_view word = query.substr(begin, end - begin);
        if (is_operator(word)) {
            folded.replace(begin, word.size(), word);
        }
        begin = end + 1;
    }
    return folded;
}

// Empty, with the memory of the last time.
std::string& scratch() {
    thread_local std::string encoded;
    encoded.clear();
    return encoded;
}

}  // namespace

Fingerprint fingerprint(const SearchRequest& request) {
    std::string& encoded = scratch();
    encoded.push_back(kSchemaVersion);
    put(encoded, request.query.reveal());
    encoded.push_back(static_cast<char>(request.lane));
    put(encoded, request.max_results);
    put_constraints(encoded, request);
    put(encoded, request.providers);
    encoded.push_back(static_cast<char>(request.strategy));
    return sha256(encoded);
}

Fingerprint result_fingerprint(std::string_view provider, const SearchRequest& request) {
    std::string& encoded = scratch();
    encoded.push_back(kResultSchemaVersion);
    put(encoded, provider);
    // A request's query is trimmed already. Letters beyond ASCII keep their case: queries that
    // differ in nothing else are rare, and cost one call more.
    put(encoded, without_case(request.query.reveal()));
    put(encoded, request.max_results);
    put_constraints(encoded, request);
    return sha256(encoded);
}

}  // namespace sluice::web
