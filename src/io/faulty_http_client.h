// Lets calls to upstreams go wrong as a script says.
#pragma once

#include "base/clock.h"
#include "io/fault_script.h"
#include "io/http_client.h"
#include "obs/metrics.h"

namespace sluice::io {

// In front of another client, which is not asked where the fault leaves nothing of its answer. The
// same script and the same calls of an upstream, in order, fail in the same way. References outlive
// it.
class FaultyHttpClient final : public HttpClient {
 public:
    FaultyHttpClient(HttpClient& inner, const FaultScript& script, Clock& clock,
                     obs::Metrics& metrics);

    Task<Result<ClientResponse>> send(ClientRequest request) override;

 private:
    HttpClient& inner_;
    FaultPicker faults_;
    Clock& clock_;
    obs::Metrics& metrics_;
};

}  // namespace sluice::io
