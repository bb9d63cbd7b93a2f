// One search result, whatever found it. The only shape of a hit that leaves a side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

// Where a hit of a merged answer was found: by whom, and at which place there.
struct HitOrigin {
    std::string provider;
    std::uint32_t rank = 0;  // from 1
};

struct Hit {
    std::string url;
    std::string title;            // plain text
    std::string snippet;          // plain text; may be empty
    std::string content;          // page text or Markdown, where it was asked for; else empty
    std::string provider;         // who gave it
    std::string site;             // host of the URL without a leading "www."
    std::uint32_t rank = 0;       // from 1, in the order of the answer
    std::optional<double> score;  // the provider's own; not comparable between providers
    std::optional<std::string> published_at;  // RFC 3339 in UTC
    std::vector<HitOrigin> origins;           // of a merged answer; else empty
};

}  // namespace sluice
