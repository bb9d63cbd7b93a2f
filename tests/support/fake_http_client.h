// An HttpClient whose answers a test or a simulation writes: no sockets, no real time.
#pragma once

#include "base/clock.h"
#include "io/http_client.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice::test {

// How a call ended for who made it.
enum class CallEnd : std::uint8_t {
    kAnswered,   // got the answer
    kFailed,     // got the error
    kTimedOut,   // its deadline came first
    kCancelled,  // left before
};

// What the fake upstream does with one request.
struct FakeAnswer {
    Duration delay{};                 // before the answer, or the error
    std::optional<Error> error = {};  // the transfer fails with it
    int status = 200;
    std::vector<std::pair<std::string, std::string>> headers = {
        {"content-type", "application/json"}};
    std::string body = {};
    bool stall = false;  // never answers: ends by the request's deadline
    // Called once, right before who made the call goes on, or when its task is destroyed.
    std::function<void(CallEnd)> on_end = {};
};

// Belongs to one executor. Keeps the contract of io::HttpClient: ends at the request's deadline
// with kTimeout, and by cancellation.
class FakeHttpClient final : public io::HttpClient {
 public:
    using Responder = std::function<FakeAnswer(const io::ClientRequest&)>;

    FakeHttpClient(Clock& clock, Responder responder);

    Task<Result<io::ClientResponse>> send(io::ClientRequest request) override;

    void set_responder(Responder responder) { responder_ = std::move(responder); }

    // Calls started; calls under way; calls that started after their deadline (always a bug).
    std::size_t calls() const { return calls_; }
    std::size_t under_way() const { return under_way_; }
    std::size_t started_late() const { return started_late_; }
    // The URLs of all calls, in order; kept up to 10,000.
    const std::vector<std::string>& urls() const { return urls_; }

 private:
    Clock& clock_;
    Responder responder_;
    std::size_t calls_ = 0;
    std::size_t under_way_ = 0;
    std::size_t started_late_ = 0;
    std::vector<std::string> urls_;
};

}  // namespace sluice::test
