#include "support/fake_http_client.h"

#include "base/task.h"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace sluice::test {

namespace {

constexpr std::size_t kMaxUrls = 10'000;

// Counts a call for as long as its coroutine frame lives, so also when it is cancelled.
class UnderWay {
 public:
    explicit UnderWay(std::size_t& counter) : counter_(counter) { counter_ += 1; }
    ~UnderWay() { counter_ -= 1; }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

 private:
    std::size_t& counter_;
};

// Tells how a call ended when its frame goes away.
class Ending {
 public:
    explicit Ending(const FakeAnswer& answer) : answer_(answer) {}
    ~Ending() {
        if (answer_.on_end) {
            answer_.on_end(how);
        }
    }
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;

    CallEnd how = CallEnd::kCancelled;

 private:
    const FakeAnswer& answer_;
};

}  // namespace

FakeHttpClient::FakeHttpClient(Clock& clock, Responder responder)
    : clock_(clock), responder_(std::move(responder)) {}

Task<Result<io::ClientResponse>> FakeHttpClient::send(io::ClientRequest request) {
    const UnderWay counted(under_way_);
    calls_ += 1;
    if (urls_.size() < kMaxUrls) {
        urls_.push_back(request.url);
    }
    const Instant started = clock_.now();
    if (started >= request.deadline) {
        started_late_ += 1;
        co_return Error{Code::kTimeout, Blame::kProvider, "the deadline has passed", {}};
    }
    const FakeAnswer answer = responder_(request);
    Ending ending(answer);
    const Instant ready = answer.stall ? Instant::max() : started + answer.delay;
    if (ready > started) {
        auto alarm = std::make_shared<Alarm>(co_await boost::asio::this_coro::executor);
        co_await clock_.wait(alarm, std::min(ready, request.deadline));
        const auto state = co_await boost::asio::this_coro::cancellation_state;
        if (state.cancelled() != boost::asio::cancellation_type::none) {
            co_return Error{Code::kCancelled, Blame::kCaller, "the caller left", {}};
        }
    }
    if (ready > request.deadline) {
        ending.how = CallEnd::kTimedOut;
        co_return Error{Code::kTimeout, Blame::kProvider, "no answer in time", {}};
    }
    if (answer.error) {
        ending.how = CallEnd::kFailed;
        co_return *answer.error;
    }
    ending.how = CallEnd::kAnswered;
    io::ClientResponse response;
    response.status = answer.status;
    response.headers = answer.headers;
    response.body = answer.body;
    response.elapsed = std::chrono::duration_cast<Millis>(clock_.now() - started);
    co_return response;
}

}  // namespace sluice::test
