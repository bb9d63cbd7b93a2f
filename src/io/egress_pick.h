// Which endpoint a call goes out through: the decision alone. Pure; any thread.
#pragma once

#include "io/egress_config.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace sluice::io {

// The same on every machine and in every version.
std::uint64_t egress_hash(std::string_view text);

// One endpoint, as far as the choice asks.
struct EgressOption {
    std::uint64_t hash = 0;  // of its name
    std::string_view country = {};
    bool up = true;
};

struct EgressDemand {
    EgressPolicy policy = EgressPolicy::kDirect;
    std::uint64_t key = 0;          // of what an endpoint belongs to: a provider, a session
    std::string_view country = {};  // for kGeo; empty: no wish
    std::size_t turn = 0;           // for kRotating: counts up from call to call
    std::optional<std::size_t> except = {};  // an option that is not to be chosen
};

// The place of an option; nothing: the call goes out directly or, with `except`, there is no other.
//
// In question come all options but `except`; for kGeo those of the country, else those that name
// none, else nothing. Of these the ones that are up; all of them when none is, since what looks as
// if everything failed is more likely a failure to look. kRotating takes them in turn. The others
// take the one that ranks highest for the key (rendezvous hashing): with an option that goes only
// the keys move that it had, and with one that is back only those return.
std::optional<std::size_t> pick_egress(std::span<const EgressOption> options,
                                       const EgressDemand& demand);

}  // namespace sluice::io
