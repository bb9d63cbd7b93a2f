// The yardstick for the uncached path: a relay with the same libraries and no logic. It answers
// every request with what one call to the upstream returned, which is what a provider takes on the
// wire: a POST of a small JSON body with a key in a header. Textbook Beast in, libcurl's multi
// interface out, one thread, no parsing of bodies, no cache, no choice of keys, no limits.
//
//   relay PORT UPSTREAM_URL
#include "base/clock.h"
#include "base/random.h"
#include "base/secret.h"
#include "io/http_client.h"
#include "obs/log.h"
#include "obs/metrics.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using namespace sluice;
using Socket = asio::basic_stream_socket<tcp, Executor>;
using Acceptor = asio::basic_socket_acceptor<tcp, Executor>;

Task<void> session(Socket socket, io::HttpClient& client, const Clock& clock, std::string url) {
    boost::beast::flat_buffer buffer;
    for (;;) {
        http::request<http::string_body> request;
        co_await http::async_read(socket, buffer, request, use_task);
        io::ClientRequest call;
        call.method = io::Method::kPost;
        call.url = url;
        call.headers = {{"Accept", "application/json"}, {"Content-Type", "application/json"}};
        call.secret_headers.emplace_back("X-API-KEY", Secret("bench-key-0001"));
        call.body = R"({"q":"stoneware"})";
        call.deadline = clock.now() + std::chrono::seconds(10);
        Result<io::ClientResponse> answer = co_await client.send(std::move(call));
        http::response<http::string_body> response;
        response.result(answer.ok() ? 200u : 502u);
        response.set(http::field::content_type, "application/json");
        response.body() = answer.ok() ? std::move(answer->body) : std::string("{}");
        response.prepare_payload();
        co_await http::async_write(socket, response, use_task);
    }
}

Task<void> accept(Acceptor& acceptor, io::HttpClient& client, const Clock& clock, std::string url) {
    for (;;) {
        Socket socket = co_await acceptor.async_accept(use_task);
        socket.set_option(tcp::no_delay(true));
        asio::co_spawn(acceptor.get_executor(), session(std::move(socket), client, clock, url),
                       [](const std::exception_ptr&) {});
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: relay PORT UPSTREAM_URL\n", stderr);
        return 2;
    }
    asio::io_context io{1};
    SystemClock clock;
    const auto sink = obs::make_stderr_sink();
    const obs::Log log(clock, *sink, obs::Level::kWarn);
    obs::Metrics metrics;
    io::CurlHttpClient client(io.get_executor(), io::HttpClientConfig{}, clock, log, metrics);
    const auto port = static_cast<unsigned short>(std::atoi(argv[1]));
    Acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), port));
    asio::co_spawn(io, accept(acceptor, client, clock, argv[2]), asio::detached);
    // Ends as a program does, so that what an instrumented one counted is written.
    asio::signal_set ends(io, SIGTERM);
    ends.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });
    io.run();
}
