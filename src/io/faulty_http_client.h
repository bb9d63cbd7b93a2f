// Lets calls to upstreams go wrong as a script says.
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "io/fault_script.h"
#include "io/http_client.h"
#include "obs/metrics.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace sluice::io {

// In front of another client, which is not asked where the fault leaves nothing of its answer. The
// same script and the same calls of an upstream, in order, fail in the same way. References outlive
// it.
class FaultyHttpClient final : public HttpClient {
 public:
    FaultyHttpClient(HttpClient& inner, FaultScript script, Clock& clock, obs::Metrics& metrics);

    Task<Result<ClientResponse>> send(ClientRequest request) override;

 private:
    // What is remembered of one upstream.
    struct Line {
        std::uint64_t calls = 0;
        SeededRandom random;
    };
    // The rule that the next call of `upstream` falls under.
    const FaultRule* next(std::string_view upstream);

    HttpClient& inner_;
    const FaultScript script_;
    Clock& clock_;
    obs::Metrics& metrics_;
    std::map<std::string, Line, std::less<>> lines_;
};

}  // namespace sluice::io
