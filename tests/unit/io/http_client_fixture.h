// What the tests of the HTTP client share: a client on a loop, and the small steps of a test.
#pragma once

#include "base/clock.h"
#include "io/http_client.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "support/collecting_sink.h"
#include "support/run_io.h"
#include "support/scripted_upstream.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace sluice::io {

using namespace std::chrono_literals;

class HttpClientFixture : public ::testing::Test {
 protected:
    HttpClientFixture() { make_client(HttpClientConfig()); }

    void make_client(HttpClientConfig config) {
        client_ = std::make_unique<CurlHttpClient>(io_.get_executor(), std::move(config), clock_,
                                                   log_, metrics_);
    }

    ClientRequest request(std::string url, Millis within = 10s) const {
        ClientRequest made;
        made.url = std::move(url);
        made.deadline = clock_.now() + within;
        return made;
    }

    Result<ClientResponse> send(ClientRequest what) {
        return test::run_io(io_, client_->send(std::move(what)));
    }

    Result<ClientResponse> get(std::string url, Millis within = 10s) {
        return send(request(std::move(url), within));
    }

    // Starts a request; its result appears in `out`.
    void start(ClientRequest what, std::optional<Result<ClientResponse>>& out) {
        boost::asio::co_spawn(io_, store_result(client_->send(std::move(what)), out),
                              [](std::exception_ptr error) { EXPECT_EQ(error, nullptr); });
    }

    // Runs the loop until `condition` holds; the upstream's own thread needs a moment here and
    // there.
    void run_until(const std::function<bool()>& condition) {
        const Instant give_up = clock_.now() + 10s;
        while (!condition()) {
            ASSERT_LT(clock_.now(), give_up) << "the condition never came true";
            io_.restart();
            io_.run_for(2ms);
        }
    }

    double counted(const std::string& line_start) const {
        const std::string text = "\n" + metrics_.expose();
        const auto at = text.find("\n" + line_start + " ");
        return at == std::string::npos ? 0 : std::stod(text.substr(at + line_start.size() + 2));
    }

    double errors(Code code) const {
        return counted("sluice_upstream_errors_total{code=\"" + std::string(to_string(code)) +
                       "\"}");
    }

    boost::asio::io_context io_{1};
    SystemClock clock_;
    test::CollectingSink sink_;
    obs::Log log_{clock_, sink_, obs::Level::kDebug};
    obs::Metrics metrics_;
    test::ScriptedUpstream upstream_;
    std::unique_ptr<CurlHttpClient> client_;
};

}  // namespace sluice::io
