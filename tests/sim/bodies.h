// Answers in the shapes of the providers.
#pragma once

#include "web/types.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::sim {

struct BodyHit {
    std::string url;
    std::string title;
    std::string snippet;
};

struct Body {
    web::Topic topic = web::Topic::kGeneral;
    std::vector<BodyHit> hits = {};
    web::Cost charge = {};    // where the provider says it
    std::string answer = {};  // in the provider's own words; not every provider has one
};

// A successful answer of that provider.
std::string body_of(std::string_view provider, const Body& body);

}  // namespace sluice::sim
