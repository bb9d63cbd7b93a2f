// A page that searches may find, as the store lists it. Neither bodies nor PIN hashes are read for
// it.
#pragma once

#include "base/clock.h"

#include <cstdint>
#include <string>

namespace sluice::titles {

struct Candidate {
    std::int64_t id = 0;
    std::int64_t version = 0;  // rises whenever the title changes
    std::string title = {};    // UTF-8
    std::string slug = {};
    std::string author = {};
    WallTime updated_at{};
};

}  // namespace sluice::titles
