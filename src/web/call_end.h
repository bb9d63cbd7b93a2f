// What the end of one try says: about its key, about its provider, and whether the
// same call is worth making again. Pure.
#pragma once

#include "base/result.h"
#include "guard/circuit.h"
#include "io/http_client.h"
#include "web/call_types.h"
#include "web/config.h"
#include "web/key_runtime.h"
#include "web/provider.h"
#include "web/types.h"
#include "web/verdict.h"

#include <optional>
#include <string>

namespace sluice::web {

Step step_after(Effect effect);

// How the key of a call has to rest; nothing when the verdict leaves it alone.
std::optional<KeyRest> rest_after(const Verdict& verdict, const KeysConfig& config);

// What the provider's own count of our calls asks of the key.
std::optional<KeyRest> rest_by_windows(const Provider& provider,
                                       const Result<io::ClientResponse>& response);

// What a call ended with that had until `deadline`. One that is given up no sooner has timed out:
// whoever asked for it may notice the time before the client does.
Result<io::ClientResponse> in_time(Result<io::ClientResponse> response, Instant deadline,
                                   Instant now);

// Whether the time that the provider had was cut short by the request's own deadline.
bool was_short(Duration given, Millis timeout);

// What a call says about its provider, as far as it says anything.
std::optional<guard::CallOutcome> said_about_provider(const CallResult& result, bool short_time);

// Whether the same call with the same key may fare better in a while: it met an overloaded
// provider (502, 503, 504), or a limit of its rate (429). Such a try costs nothing.
bool may_pass_by_itself(const Verdict& verdict, const Result<io::ClientResponse>& response);

// For how long the provider asks to be left alone, where it does.
std::optional<Millis> asked_wait(const Verdict& verdict, const Result<io::ClientResponse>& response,
                                 const std::optional<KeyRest>& by_windows, WallTime wall_now);

// "server_error (HTTP 503)".
std::string reason_of(const Attempt& attempt);

}  // namespace sluice::web
