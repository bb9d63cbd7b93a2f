#include "io/recording_http_client.h"

#include <chrono>
#include <utility>

namespace sluice::io {

Task<Result<ClientResponse>> RecordingHttpClient::send(ClientRequest request) {
    const Instant started = clock_.now();
    ClientRequest sent = request;
    Result<ClientResponse> outcome = co_await inner_.send(std::move(request));
    const auto latency = std::chrono::floor<Millis>(clock_.now() - started);
    EndedExchange ended{std::move(sent), outcome, latency, clock_.wall_now()};
    writer_.add(std::move(ended));
    co_return outcome;
}

}  // namespace sluice::io
