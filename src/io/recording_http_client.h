// Hands every exchange with an upstream to a writer.
#pragma once

#include "base/clock.h"
#include "io/exchange_writer.h"
#include "io/http_client.h"

namespace sluice::io {

// In front of another client. References outlive it.
class RecordingHttpClient final : public HttpClient {
 public:
    RecordingHttpClient(HttpClient& inner, ExchangeWriter& writer, const Clock& clock)
        : inner_(inner), writer_(writer), clock_(clock) {}

    Task<Result<ClientResponse>> send(ClientRequest request) override;

 private:
    HttpClient& inner_;
    ExchangeWriter& writer_;
    const Clock& clock_;
};

}  // namespace sluice::io
