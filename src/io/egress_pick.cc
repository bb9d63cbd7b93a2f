#include "io/egress_pick.h"

#include <algorithm>

namespace sluice::io {

namespace {

// The finalizer of MurmurHash3: every bit of the result depends on every bit of the input.
std::uint64_t mix(std::uint64_t bits) {
    bits ^= bits >> 33U;
    bits *= 0xFF51AFD7ED558CCDULL;
    bits ^= bits >> 33U;
    bits *= 0xC4CEB9FE1A85EC53ULL;
    bits ^= bits >> 33U;
    return bits;
}

// Which options come in question, told one by one.
class Scope {
 public:
    Scope(std::span<const EgressOption> options, const EgressDemand& demand)
        : by_country_(demand.policy == EgressPolicy::kGeo), except_(demand.except) {
        const auto serves = [options](std::string_view country) {
            return std::ranges::any_of(options, [country](const EgressOption& option) {
                return option.country == country;
            });
        };
        if (by_country_ && serves(demand.country)) {
            country_ = demand.country;
        }
        for (std::size_t i = 0; i < options.size() && !only_up_; ++i) {
            only_up_ = options[i].up && comes_in_question(options[i], i);
        }
    }

    bool has(const EgressOption& option, std::size_t place) const {
        return comes_in_question(option, place) && (option.up || !only_up_);
    }

 private:
    bool comes_in_question(const EgressOption& option, std::size_t place) const {
        return in_country(option) && place != except_;
    }
    bool in_country(const EgressOption& option) const {
        return !by_country_ || option.country == country_;
    }

    bool by_country_;
    std::string_view country_;
    bool only_up_ = false;
    std::optional<std::size_t> except_;
};

std::optional<std::size_t> in_turn(std::span<const EgressOption> options, const Scope& scope,
                                   std::size_t turn) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < options.size(); ++i) {
        count += scope.has(options[i], i) ? 1 : 0;
    }
    std::size_t to_pass = count > 0 ? turn % count : 0;
    for (std::size_t i = 0; i < options.size(); ++i) {
        if (scope.has(options[i], i) && to_pass-- == 0) {
            return i;
        }
    }
    return std::nullopt;
}

std::optional<std::size_t> highest(std::span<const EgressOption> options, const Scope& scope,
                                   std::uint64_t key) {
    std::optional<std::size_t> best;
    std::uint64_t best_rank = 0;
    for (std::size_t i = 0; i < options.size(); ++i) {
        const std::uint64_t rank = mix(key ^ options[i].hash);
        if (scope.has(options[i], i) && (!best || rank > best_rank)) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

}  // namespace

std::uint64_t egress_hash(std::string_view text) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    }
    return mix(hash);
}

std::optional<std::size_t> pick_egress(std::span<const EgressOption> options,
                                       const EgressDemand& demand) {
    if (demand.policy == EgressPolicy::kDirect) {
        return std::nullopt;
    }
    const Scope scope(options, demand);
    return demand.policy == EgressPolicy::kRotating ? in_turn(options, scope, demand.turn)
                                                    : highest(options, scope, demand.key);
}

}  // namespace sluice::io
