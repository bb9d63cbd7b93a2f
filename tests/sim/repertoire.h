// What providers say besides plain answers, and what has to follow from it: the case files under
// tests/cases/providers, so that whose fault something is comes from data and not from the code
// under test.
#pragma once

#include "base/clock.h"
#include "io/http_client.h"
#include "web/provider.h"
#include "web/types.h"
#include "web/verdict.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::sim {

// How long a key has to rest. What depends on the date has wide bounds.
struct RestTime {
    Millis least{};
    Millis most{};
};

struct Line {
    std::string name;  // of the case file
    io::ClientResponse response;
    web::Effect effect = web::Effect::kProvider;
    web::Outcome outcome = web::Outcome::kServerError;
    web::Reach reach = web::Reach::kKey;
    std::optional<RestTime> rest;  // with an effect on keys; nothing: the configured time
};

class Repertoire {
 public:
    // Of every provider of this binary; throws when a file can't be read. The working directory is
    // the source tree.
    Repertoire();

    std::span<const Line> lines(web::ProviderIndex provider) const { return lines_[provider]; }

 private:
    std::vector<std::vector<Line>> lines_;  // by ProviderIndex
};

}  // namespace sluice::sim
