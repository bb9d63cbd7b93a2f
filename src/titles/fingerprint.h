// Which pages are candidates, in which versions: 32 bytes that differ when that does.
#pragma once

#include "base/hash.h"

#include <cstdint>
#include <vector>

namespace sluice::titles {

struct PageVersion {
    std::int64_t id = 0;
    std::int64_t version = 0;
};

// SHA-256 over the pages by ascending id, each as decimal id, byte 0x1F, decimal version, byte
// 0x1E. The order in which they are given does not matter. Thread-safe.
Sha256 corpus_fingerprint(std::vector<PageVersion> pages);

}  // namespace sluice::titles
