#include "io/replay_http_client.h"

#include "guard/retry_after.h"
#include "io/exchange_metrics.h"
#include "io/transfer_errors.h"

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

namespace sluice::io {

namespace {

constexpr double kMaxSpeed = 1'000;

Duration scaled(Millis latency, double speed) {
    using Seconds = std::chrono::duration<double, std::nano>;
    return speed > 0 ? std::chrono::duration_cast<Duration>(Seconds(latency) / speed) : Duration{};
}

Error no_recording(const ExchangeRequest& request, std::size_t of_upstream) {
    return Error{Code::kUnavailable,
                 Blame::kGateway,
                 "no recording answers this request: " + operation_of(request) + " (" +
                     std::to_string(of_upstream) + " recordings of " + request.upstream +
                     " ask something else)",
                 {}};
}

// A date to wait for was one of the day that the recording was made on: the time until then, by the
// date of the answer itself.
void count_wait_from_answer(ClientResponse& response) {
    const std::string_view date = response.header("date");
    const std::optional<WallTime> answered = guard::parse_http_date(date, WallTime{});
    const std::string_view until = response.header("retry-after");
    if (!answered || !guard::parse_http_date(until, *answered)) {
        return;
    }
    const auto wait = guard::parse_retry_after(until, *answered);
    for (auto& [name, value] : response.headers) {
        if (name == "retry-after") {
            value = std::to_string(std::chrono::ceil<std::chrono::seconds>(*wait).count());
            return;
        }
    }
}

}  // namespace

ReplayConfig ReplayConfig::read(ConfigReader in) {
    ReplayConfig c;
    in.text({"dir",
             "folder of recordings that answer in place of the providers, without any network; "
             "empty: providers are asked (--replay)"},
            c.dir);
    in.number({"speed",
               "how fast recordings are played: 1 as they were recorded, 10 ten times faster, 0 at "
               "once (--replay-speed)"},
              c.speed, 0, kMaxSpeed);
    in.text({"faults",
             "TOML file that says which calls go wrong while recordings are played, and how "
             "(--replay-faults)"},
            c.faults);
    if (c.dir.empty() && !c.faults.empty()) {
        in.fail("faults", "needs replay.dir: faults are for recordings, not for real providers");
    }
    return c;
}

ReplayHttpClient::ReplayHttpClient(Recordings recordings, double speed, Clock& clock,
                                   obs::Metrics& metrics)
    : recordings_(std::move(recordings)),
      speed_(speed),
      clock_(clock),
      answered_(metrics.counter(kReplayedExchanges, {"answered"})),
      unmatched_(metrics.counter(kReplayedExchanges, {"unmatched"})) {}

Task<Result<ClientResponse>> ReplayHttpClient::send(ClientRequest request) {
    const Instant started = clock_.now();
    if (started >= request.deadline) {
        co_return transfer_too_late();
    }
    const ExchangeRequest asked = without_secrets(request);
    const Exchange* exchange = recordings_.next(asked);
    if (exchange == nullptr) {
        unmatched_.add();
        co_return no_recording(asked, recordings_.size_of(asked.upstream));
    }
    answered_.add();
    const Instant ready = started + scaled(exchange->latency, speed_);
    if (auto ended = co_await wait_in_transfer(clock_, ready, request.deadline)) {
        co_return *std::move(ended);
    }
    if (!exchange->outcome.ok()) {
        co_return exchange->outcome.error();
    }
    ClientResponse response = *exchange->outcome;
    count_wait_from_answer(response);
    if (response.body.size() > request.max_response_bytes) {
        co_return Error{
            Code::kPayloadTooLarge,
            Blame::kProvider,
            "the answer is larger than " + std::to_string(request.max_response_bytes) + " bytes",
            {}};
    }
    response.elapsed = std::chrono::floor<Millis>(clock_.now() - started);
    co_return response;
}

}  // namespace sluice::io
