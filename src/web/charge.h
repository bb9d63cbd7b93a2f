// What a provider charges for a call, as far as the way it ended tells. Pure; any thread.
#pragma once

#include "base/result.h"
#include "io/http_client.h"
#include "web/price.h"
#include "web/provider.h"
#include "web/types.h"

#include <optional>

namespace sluice::web {

// Whether the call was given up on our side, or by the proxy that it went through, so that the
// provider does not know of it.
bool never_left(const Result<io::ClientResponse>& response);

// Whether nothing of the call was sent to the provider, whoever is at fault: neither a quota nor a
// rate has it.
bool is_unsent(const Result<io::ClientResponse>& response);

// What is known of a call that ended.
struct EndedCall {
    const ProviderSpec& spec;
    const PriceConfig& price;
    const Result<io::ClientResponse>& response;
    Outcome outcome;
    const std::optional<Cost>& told;  // what its answer says that it charged, at the list price
    Cost expected;                    // what was reserved for it
};

// Nothing when the provider charges nothing: what it refuses or fails in words of its own, and what
// can't have reached it. An answer is paid for, one that nobody could read too. Who gave up waiting
// or lost the connection can't know, so that counts as paid.
std::optional<Cost> charge_for(const EndedCall& call);

}  // namespace sluice::web
