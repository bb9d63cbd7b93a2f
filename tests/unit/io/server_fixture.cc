#include "server_fixture.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <charconv>
#include <stdexcept>
#include <utility>

namespace sluice::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

io::HttpResponse text_response(std::string text, int status = 200) {
    io::HttpResponse response;
    response.status = status;
    response.headers = "Content-Type: text/plain\r\n";
    response.lead = std::move(text);
    return response;
}

std::string echo(const io::HttpRequest& request) {
    std::string out(request.method_text);
    out.append(" ").append(request.path).append("?").append(request.query);
    out.append(" from ").append(request.peer.to_string()).append("\n");
    for (const io::HeaderField& field : request.headers) {
        out.append(field.name).append("=").append(field.value).append("\n");
    }
    out.append("\n").append(request.body);
    return out;
}

int status_of(Code code) {
    switch (code) {
        case Code::kRequestTimeout:
            return 408;
        case Code::kPayloadTooLarge:
            return 413;
        case Code::kUriTooLong:
            return 414;
        case Code::kExpectationFailed:
            return 417;
        case Code::kHeadersTooLarge:
            return 431;
        case Code::kOverloaded:
            return 503;
        case Code::kVersionNotSupported:
            return 505;
        case Code::kInternal:
            return 500;
        default:
            return 400;
    }
}

}  // namespace

io::HttpReply ScriptedHandler::handle(const io::HttpRequest& request) {
    {
        const std::lock_guard lock(mutex_);
        handled_ += 1;
    }
    if (request.path == "/") {
        return text_response("hello");
    }
    if (request.path == "/echo") {
        return text_response(echo(request));
    }
    if (request.path == "/wait") {
        return wait(request);
    }
    if (request.path == "/elsewhere") {
        const std::lock_guard lock(mutex_);
        return wait_elsewhere(request, elsewhere_.value());
    }
    if (request.path == "/later") {
        return later();
    }
    if (request.path == "/body") {
        io::HttpResponse response;
        const std::lock_guard lock(mutex_);
        response.headers = "Content-Type: application/json\r\n" + headers_;
        response.lead = lead_;
        response.body = body_;
        return response;
    }
    if (request.path == "/close") {
        io::HttpResponse response = text_response("bye");
        response.close = true;
        return response;
    }
    if (request.path == "/throw") {
        throw std::runtime_error("a secret that must not be shown");
    }
    if (request.path == "/throw-later") {
        return throw_later();
    }
    if (request.path.starts_with("/status/")) {
        const std::string_view digits = request.path.substr(8);
        io::HttpResponse response;
        std::from_chars(digits.data(), digits.data() + digits.size(), response.status);
        return response;
    }
    return text_response("not found", 404);
}

std::optional<io::HttpResponse> ScriptedHandler::refuse_head(const io::HttpRequest& request) {
    if (request.path != "/refused") {
        return std::nullopt;
    }
    return text_response("who are you", 401);
}

io::HttpResponse ScriptedHandler::refuse(const Error& error, const RequestId& id) {
    std::string text(to_string(error.code));
    text.append(": ").append(error.message).append(" (").append(id.text()).append(")\n");
    return text_response(std::move(text), status_of(error.code));
}

void ScriptedHandler::set_body(std::string lead, std::string body, std::string headers) {
    const std::lock_guard lock(mutex_);
    lead_ = std::move(lead);
    body_ = std::make_shared<const io::HttpBody>(std::move(body));
    headers_ = std::move(headers);
}

// The request is read after the wait: its views have to be valid until the answer is complete.
Task<io::HttpResponse> ScriptedHandler::wait(const io::HttpRequest& request) {
    const Executor executor = co_await asio::this_coro::executor;
    auto timer = std::make_shared<Timer>(executor);
    timer->expires_at(Timer::time_point::max());
    bool released = false;
    {
        const std::lock_guard lock(mutex_);
        started_ += 1;
        released = released_;
        if (!released) {
            gates_.push_back({timer, executor});
        }
        changed_.notify_all();
    }
    if (!released) {
        co_await timer->async_wait(asio::as_tuple(use_task));
        const std::lock_guard lock(mutex_);
        std::erase_if(gates_, [&timer](const Gate& gate) { return gate.timer == timer; });
    }
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
        const std::lock_guard lock(mutex_);
        cancelled_ += 1;
        changed_.notify_all();
        throw boost::system::system_error(asio::error::operation_aborted);
    }
    co_return text_response("released " + std::string(request.query));
}

Task<io::HttpResponse> ScriptedHandler::wait_elsewhere(const io::HttpRequest& request,
                                                       Executor executor) {
    Task<io::HttpResponse> task = wait(request);
    co_return co_await run_on(std::move(executor), std::move(task));
}

void ScriptedHandler::set_elsewhere(Executor executor) {
    const std::lock_guard lock(mutex_);
    elsewhere_ = std::move(executor);
}

Task<io::HttpResponse> ScriptedHandler::later() {
    const Executor executor = co_await asio::this_coro::executor;
    co_await asio::post(executor, use_task);
    co_return text_response("later");
}

Task<io::HttpResponse> ScriptedHandler::throw_later() {
    const Executor executor = co_await asio::this_coro::executor;
    co_await asio::post(executor, use_task);
    throw std::runtime_error("a secret that must not be shown");
}

void ScriptedHandler::release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    for (const Gate& gate : gates_) {
        asio::post(gate.executor, [timer = gate.timer] { timer->cancel(); });
    }
}

bool ScriptedHandler::wait_until(const std::function<bool()>& done) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 10s, done);
}

bool ScriptedHandler::wait_for_started(int count) {
    return wait_until([&] { return started_ >= count; });
}

bool ScriptedHandler::wait_for_cancelled(int count) {
    return wait_until([&] { return cancelled_ >= count; });
}

int ScriptedHandler::handled() const {
    const std::lock_guard lock(mutex_);
    return handled_;
}

RunningServer::RunningServer(io::HttpServerConfig config, std::string unix_path) {
    config.listen = {"127.0.0.1:0"};
    if (config.threads == 0) {
        config.threads = 1;
    }
    server = std::make_unique<io::HttpServer>(config, handler, clock, random, log, metrics);
    if (!unix_path.empty()) {
        server->add_unix_socket(std::move(unix_path));
    }
    const Status started = server->start();
    SLUICE_ASSERT(started.ok());
    address = server->addresses().front();
}

// A Task under way would hold up the drain.
RunningServer::~RunningServer() {
    handler.release();
    server->drain();
}

}  // namespace sluice::test
