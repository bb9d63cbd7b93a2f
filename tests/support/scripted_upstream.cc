#include "support/scripted_upstream.h"

#include "base/task.h"
#include "base/text.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

namespace sluice::test {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr auto kToken = asio::as_tuple(use_task);
constexpr std::size_t kReadBytes = 16 * 1024;
constexpr std::size_t kMaxHeadBytes = 256 * 1024;
constexpr std::size_t kMaxBodyBytes = 64 * 1024 * 1024;
constexpr std::size_t kEndlessChunkBytes = 64 * 1024;

std::string_view reason_of(int status) {
    switch (status) {
        case 200:
            return "OK";
        case 404:
            return "Not Found";
        case 429:
            return "Too Many Requests";
        default:
            return "Scripted";
    }
}

std::optional<std::size_t> parse_length(std::string_view text) {
    std::size_t length = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, length);
    if (text.empty() || error != std::errc() || stop != end || length > kMaxBodyBytes) {
        return std::nullopt;
    }
    return length;
}

// A head without its last line break, or nothing when it is not one.
std::optional<RecordedRequest> parse_head(std::string_view head) {
    RecordedRequest request;
    std::size_t line_end = head.find("\r\n");
    const std::string_view first = head.substr(0, line_end);
    const std::size_t after_method = first.find(' ');
    const std::size_t after_target = first.rfind(' ');
    if (after_method == std::string_view::npos || after_method == after_target) {
        return std::nullopt;
    }
    request.method = first.substr(0, after_method);
    request.target = first.substr(after_method + 1, after_target - after_method - 1);
    while (line_end != std::string_view::npos) {
        head.remove_prefix(line_end + 2);
        line_end = head.find("\r\n");
        const std::string_view line = head.substr(0, line_end);
        const std::size_t colon = line.find(':');
        if (colon != std::string_view::npos) {
            request.headers.emplace_back(line.substr(0, colon), trim(line.substr(colon + 1)));
        }
    }
    return request;
}

std::string encode_chunked(std::string_view body, std::size_t chunk_bytes) {
    std::string out;
    while (!body.empty()) {
        const std::string_view chunk = body.substr(0, chunk_bytes);
        std::array<char, 16> digits{};
        const auto end = std::to_chars(digits.begin(), digits.end(), chunk.size(), 16).ptr;
        out.append(digits.data(), end).append("\r\n").append(chunk).append("\r\n");
        body.remove_prefix(chunk.size());
    }
    return out + "0\r\n\r\n";
}

std::string render(const Scripted& script, bool with_body) {
    std::string out = "HTTP/1.1 " + std::to_string(script.status) + " ";
    out.append(reason_of(script.status)).append("\r\n");
    for (const auto& [name, value] : script.headers) {
        out.append(name).append(": ").append(value).append("\r\n");
    }
    if (script.close) {
        out += "Connection: close\r\n";
    }
    const bool chunked = script.chunk_bytes > 0 || script.act == Scripted::Act::kEndless;
    if (chunked) {
        out += "Transfer-Encoding: chunked\r\n\r\n";
    } else {
        const auto length = script.content_length.value_or(script.body.size());
        out.append("Content-Length: ").append(std::to_string(length)).append("\r\n\r\n");
    }
    if (!with_body || script.act == Scripted::Act::kEndless) {
        return out;
    }
    return out.append(chunked ? encode_chunked(script.body, script.chunk_bytes) : script.body);
}

// Deflates `size` bytes that `next` hands out piece by piece.
std::string deflate_to_gzip(const std::function<std::string_view()>& next) {
    z_stream stream{};
    constexpr int kGzipWindow = 15 + 16;
    SLUICE_ASSERT(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                               Z_DEFAULT_STRATEGY) == Z_OK);
    std::string out;
    std::vector<Bytef> buffer(64 * 1024);
    int state = Z_OK;
    while (state != Z_STREAM_END) {
        const std::string_view piece = next();
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
        stream.avail_in = static_cast<uInt>(piece.size());
        do {
            stream.next_out = buffer.data();
            stream.avail_out = static_cast<uInt>(buffer.size());
            state = deflate(&stream, piece.empty() ? Z_FINISH : Z_NO_FLUSH);
            out.append(reinterpret_cast<const char*>(buffer.data()),
                       buffer.size() - stream.avail_out);
        } while (stream.avail_out == 0);
    }
    deflateEnd(&stream);
    return out;
}

}  // namespace

std::string_view RecordedRequest::path() const {
    return std::string_view(target).substr(0, target.find('?'));
}

std::string_view RecordedRequest::header(std::string_view name) const {
    for (const auto& [known, value] : headers) {
        if (equals_ignoring_case(known, name)) {
            return value;
        }
    }
    return {};
}

Scripted Scripted::json(std::string body) {
    Scripted script;
    script.headers = {{"Content-Type", "application/json"}};
    script.body = std::move(body);
    return script;
}

Scripted Scripted::with_status(int status, std::string body) {
    Scripted script = json(std::move(body));
    script.status = status;
    return script;
}

Scripted Scripted::doing(Act act) {
    Scripted script;
    script.act = act;
    return script;
}

Scripted Scripted::raw(std::string bytes) {
    Scripted script = doing(Act::kRaw);
    script.body = std::move(bytes);
    return script;
}

Scripted Scripted::gzip_bomb(std::size_t inflated_bytes) {
    const std::string zeros(1024 * 1024, '\0');
    std::size_t left = inflated_bytes;
    Scripted script = json(deflate_to_gzip([&] {
        const std::size_t size = std::min(left, zeros.size());
        left -= size;
        return std::string_view(zeros).substr(0, size);
    }));
    script.headers.emplace_back("Content-Encoding", "gzip");
    return script;
}

std::string gzip(std::string_view bytes) {
    std::string_view rest = bytes;
    return deflate_to_gzip([&] { return std::exchange(rest, std::string_view()); });
}

struct ScriptedUpstream::Impl {
    Impl(Responder r, Options o)
        : options(std::move(o)),
          acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), options.port)),
          port(acceptor.local_endpoint().port()),
          responder(std::make_shared<const Responder>(std::move(r))) {}

    // A request, or nothing when the connection ends or sends something else.
    Task<std::optional<RecordedRequest>> read_request(tcp::socket& socket, std::string& input) {
        std::size_t head_end = input.find("\r\n\r\n");
        while (head_end == std::string::npos) {
            if (input.size() > kMaxHeadBytes || !co_await read_more(socket, input)) {
                co_return std::nullopt;
            }
            head_end = input.find("\r\n\r\n");
        }
        auto request = parse_head(std::string_view(input).substr(0, head_end));
        input.erase(0, head_end + 4);
        if (!request) {
            co_return std::nullopt;
        }
        request->received_at = SystemClock().now();
        const std::string_view declared = request->header("Content-Length");
        if (declared.empty()) {
            co_return request;
        }
        const auto length = parse_length(declared);
        if (!length) {
            co_return std::nullopt;
        }
        if (equals_ignoring_case(request->header("Expect"), "100-continue")) {
            constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
            co_await asio::async_write(socket, asio::buffer(kContinue), kToken);
        }
        while (input.size() < *length) {
            if (!co_await read_more(socket, input)) {
                co_return std::nullopt;
            }
        }
        request->body = input.substr(0, *length);
        input.erase(0, *length);
        co_return request;
    }

    Task<bool> read_more(tcp::socket& socket, std::string& input) {
        const std::size_t before = input.size();
        input.resize(before + kReadBytes);
        const auto [error, count] = co_await socket.async_read_some(
            asio::buffer(input.data() + before, kReadBytes), kToken);
        input.resize(before + count);
        co_return !error;
    }

    Scripted respond(const RecordedRequest& request) {
        std::shared_ptr<const Responder> ask;
        {
            const std::scoped_lock lock(mutex);
            seen += 1;
            if (options.unrecorded_prefix.empty() ||
                !request.target.starts_with(options.unrecorded_prefix)) {
                recorded.push_back(request);
                if (recorded.size() > options.max_recorded) {
                    recorded.pop_front();
                }
            }
            if (const auto found = scripts.find(request.path()); found != scripts.end()) {
                return found->second;
            }
            ask = responder;
        }
        return *ask ? (*ask)(request) : Scripted::with_status(404);
    }

    // Does what the script says. True if the connection can be used for another request.
    Task<bool> play(tcp::socket& socket, Scripted script, bool is_head) {
        if (script.delay > Millis(0)) {
            asio::steady_timer timer(io, script.delay);
            co_await timer.async_wait(kToken);
        }
        switch (script.act) {
            case Scripted::Act::kStall:
                co_await wait_until_left(socket);
                co_return false;
            case Scripted::Act::kClose:
                co_return false;
            case Scripted::Act::kReset:
                reset(socket);
                co_return false;
            case Scripted::Act::kRaw:
                co_await write(socket, script.body, script);
                co_return false;
            case Scripted::Act::kEndless:
                co_await write(socket, render(script, false), script);
                co_await write_endlessly(socket);
                co_return false;
            case Scripted::Act::kAnswer:
                break;
        }
        std::string answer = render(script, !is_head);
        if (script.cut_after) {
            answer.resize(std::min(answer.size(), *script.cut_after));
        }
        const bool written = co_await write(socket, std::move(answer), script);
        co_return written && !script.cut_after && !script.close;
    }

    Task<bool> write(tcp::socket& socket, std::string bytes, const Scripted& script) {
        const std::size_t piece = script.piece_bytes > 0 ? script.piece_bytes : bytes.size();
        for (std::size_t done = 0; done < bytes.size(); done += piece) {
            if (done > 0) {
                asio::steady_timer timer(io, script.piece_interval);
                co_await timer.async_wait(kToken);
            }
            const std::size_t size = std::min(piece, bytes.size() - done);
            const auto [error, count] =
                co_await asio::async_write(socket, asio::buffer(bytes.data() + done, size), kToken);
            if (error) {
                co_return false;
            }
        }
        co_return true;
    }

    static Task<void> write_endlessly(tcp::socket& socket) {
        const std::string chunk =
            encode_chunked(std::string(kEndlessChunkBytes, 'x'), kEndlessChunkBytes);
        const std::string_view without_last = std::string_view(chunk).substr(0, chunk.size() - 5);
        for (;;) {
            const auto [error, count] =
                co_await asio::async_write(socket, asio::buffer(without_last), kToken);
            if (error) {
                co_return;
            }
        }
    }

    static Task<void> wait_until_left(tcp::socket& socket) {
        std::array<char, 1024> sink{};
        for (;;) {
            const auto [error, count] = co_await socket.async_read_some(asio::buffer(sink), kToken);
            if (error) {
                co_return;
            }
        }
    }

    // With no time to linger, closing sends RST.
    static void reset(tcp::socket& socket) {
        error_code ignored;
        socket.set_option(asio::socket_base::linger(true, 0), ignored);
        socket.close(ignored);
    }

    Task<void> serve(tcp::socket socket, std::uint64_t connection) {
        open += 1;
        error_code ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        const std::string peer = socket.remote_endpoint(ignored).address().to_string();
        std::string input;
        for (bool usable = true; usable;) {
            auto request = co_await read_request(socket, input);
            if (!request) {
                break;
            }
            request->connection = connection;
            request->peer = peer;
            Scripted script = respond(*request);
            usable = co_await play(socket, std::move(script), request->method == "HEAD");
        }
        // What the client still sends must not turn the end of the answer into a reset.
        socket.shutdown(tcp::socket::shutdown_send, ignored);
        open -= 1;
    }

    Task<void> accept_all() {
        for (;;) {
            auto [error, socket] = co_await acceptor.async_accept(kToken);
            if (error == asio::error::operation_aborted) {
                co_return;
            }
            if (error) {
                // No descriptors left: some come back when connections close.
                asio::steady_timer timer(io, Millis(5));
                co_await timer.async_wait(kToken);
                continue;
            }
            const std::uint64_t connection = ++accepted;
            if (refusals.load() > 0) {
                refusals -= 1;
                continue;
            }
            asio::co_spawn(io, serve(std::move(socket), connection), asio::detached);
        }
    }

    void start() {
        asio::co_spawn(io, accept_all(), asio::detached);
        thread = std::thread([this] { io.run(); });
    }

    const Options options;
    asio::io_context io{1};
    tcp::acceptor acceptor;
    const std::uint16_t port;
    std::thread thread;
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::size_t> open{0};
    std::atomic<std::size_t> refusals{0};

    mutable std::mutex mutex;  // guards what follows
    std::shared_ptr<const Responder> responder;
    std::map<std::string, Scripted, std::less<>> scripts;
    std::deque<RecordedRequest> recorded;
    std::size_t seen = 0;
};

ScriptedUpstream::ScriptedUpstream() : ScriptedUpstream(Responder()) {}

ScriptedUpstream::ScriptedUpstream(Responder responder)
    : ScriptedUpstream(std::move(responder), Options()) {}

ScriptedUpstream::ScriptedUpstream(Responder responder, Options options)
    : impl_(std::make_unique<Impl>(std::move(responder), std::move(options))) {
    impl_->start();
}

ScriptedUpstream::~ScriptedUpstream() {
    impl_->io.stop();
    impl_->thread.join();
}

std::uint16_t ScriptedUpstream::port() const {
    return impl_->port;
}

std::string ScriptedUpstream::url(std::string_view target) const {
    return "http://127.0.0.1:" + std::to_string(port()) + std::string(target);
}

void ScriptedUpstream::on(std::string path, Scripted script) {
    const std::scoped_lock lock(impl_->mutex);
    impl_->scripts.insert_or_assign(std::move(path), std::move(script));
}

void ScriptedUpstream::set_responder(Responder responder) {
    auto fresh = std::make_shared<const Responder>(std::move(responder));
    const std::scoped_lock lock(impl_->mutex);
    impl_->responder = std::move(fresh);
}

void ScriptedUpstream::close_on_accept(std::size_t count) {
    impl_->refusals = count;
}

std::vector<RecordedRequest> ScriptedUpstream::requests() const {
    const std::scoped_lock lock(impl_->mutex);
    return {impl_->recorded.begin(), impl_->recorded.end()};
}

std::size_t ScriptedUpstream::request_count() const {
    const std::scoped_lock lock(impl_->mutex);
    return impl_->seen;
}

void ScriptedUpstream::clear_requests() {
    const std::scoped_lock lock(impl_->mutex);
    impl_->recorded.clear();
    impl_->seen = 0;
}

std::size_t ScriptedUpstream::connections_accepted() const {
    return impl_->accepted;
}

std::size_t ScriptedUpstream::connections_open() const {
    return impl_->open;
}

}  // namespace sluice::test
