#include "io/faulty_http_client.h"

#include "base/json.h"
#include "io/exchange_metrics.h"
#include "io/transfer_errors.h"

#include <chrono>
#include <utility>

namespace sluice::io {

namespace {

// Not JSON, not UTF-8, and not a page either.
constexpr std::string_view kGarbage("\x1f\x8b\xff\x00{\"organic\":[{\"link\":", 24);

Error broken(std::string message) {
    return Error{Code::kUnavailable, Blame::kProvider, std::move(message), {}};
}

ClientResponse answer(int status, std::string body) {
    ClientResponse response;
    response.status = status;
    response.headers = {{"content-type", "application/json"}};
    response.body = std::move(body);
    return response;
}

std::string excuse(const FaultRule& rule) {
    std::string body;
    JsonWriter(body).begin_object().field("message", "fault " + rule.name).end_object();
    return body;
}

ClientResponse rate_limited(const FaultRule& rule) {
    using std::chrono::ceil;
    ClientResponse response = answer(429, excuse(rule));
    response.headers.emplace_back(
        "retry-after", std::to_string(ceil<std::chrono::seconds>(rule.retry_after).count()));
    return response;
}

Result<ClientResponse> cut(Result<ClientResponse> whole, std::size_t after_bytes) {
    if (whole.ok() && whole->body.size() > after_bytes) {
        return broken("the answer was cut off");
    }
    return whole;
}

}  // namespace

FaultyHttpClient::FaultyHttpClient(HttpClient& inner, const FaultScript& script, Clock& clock,
                                   obs::Metrics& metrics)
    : inner_(inner), faults_(script.rules, script.seed), clock_(clock), metrics_(metrics) {}

Task<Result<ClientResponse>> FaultyHttpClient::send(ClientRequest request) {
    const FaultRule* rule = faults_.next(request.upstream);
    if (rule == nullptr) {
        co_return co_await inner_.send(std::move(request));
    }
    metrics_.counter(kInjectedFaults, {std::string(to_string(rule->fault))}).add();
    const Instant started = clock_.now();
    const Instant ready =
        rule->fault == Fault::kStall ? Instant::max() : started + Duration(rule->delay);
    if (auto ended = co_await wait_in_transfer(clock_, ready, request.deadline)) {
        co_return *std::move(ended);
    }
    switch (rule->fault) {
        case Fault::kStatus:
            co_return answer(rule->status, excuse(*rule));
        case Fault::kGarbage:
            co_return answer(200, std::string(kGarbage));
        case Fault::kRateLimit:
            co_return rate_limited(*rule);
        case Fault::kRefuse:
            co_return broken("the connection was refused or could not be made");
        case Fault::kCut:
            co_return cut(co_await inner_.send(std::move(request)), rule->after_bytes);
        case Fault::kUnset:
        case Fault::kFail:
        case Fault::kDelay:
        case Fault::kStall:
            break;
    }
    co_return co_await inner_.send(std::move(request));
}

}  // namespace sluice::io
