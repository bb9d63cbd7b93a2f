// Who asks: clients without a token, and those with one, whose budgets are their own.
#pragma once

#include "access/spending.h"
#include "base/random.h"
#include "base/secret.h"
#include "support/web_harness.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::sim {

struct Payer {
    std::string id;  // of the token; empty: without one
    Secret token;
    access::OwnLimits limits;
};

// Limits of some periods, or of none: of calls up to `most`, and of what they may cost.
access::Limits random_limits(Random& random, std::int64_t most);

class Payers {
 public:
    static constexpr std::size_t kCount = 5;

    // Makes the tokens and hands them to the gateway.
    Payers(test::WebHarness& harness, Random& random);

    const Payer& without_token() const { return payers_.front(); }
    const Payer& any(Random& random) const {
        return payers_[static_cast<std::size_t>(random.below(payers_.size()))];
    }

 private:
    std::vector<Payer> payers_;
};

}  // namespace sluice::sim
