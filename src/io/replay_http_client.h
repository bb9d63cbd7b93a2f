// Answers from recordings, without a network.
#pragma once

#include "base/clock.h"
#include "base/config_reader.h"
#include "io/http_client.h"
#include "io/recordings.h"
#include "obs/metrics.h"

#include <string>

namespace sluice::io {

struct ReplayConfig {
    std::string dir;     // empty: the network is used
    double speed = 0;    // 1: as slow as it was; 0: at once
    std::string faults;  // a file: io/fault_script.h

    static ReplayConfig read(ConfigReader in);  // the section "replay"
};

// A request that no recording answers ends with kUnavailable, the gateway's fault, so that no
// provider is blamed for it.
class ReplayHttpClient final : public HttpClient {
 public:
    // References outlive it.
    ReplayHttpClient(Recordings recordings, double speed, Clock& clock, obs::Metrics& metrics);

    Task<Result<ClientResponse>> send(ClientRequest request) override;

    std::size_t recordings() const { return recordings_.size(); }

 private:
    Recordings recordings_;
    double speed_;
    Clock& clock_;
    obs::Counter answered_;
    obs::Counter unmatched_;
};

}  // namespace sluice::io
