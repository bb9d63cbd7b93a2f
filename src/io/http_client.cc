#include "io/http_client.h"

#include "io/curl_loop.h"
#include "io/http_client_metrics.h"
#include "io/http_transfer.h"
#include "io/transfer_errors.h"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/post.hpp>
#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace sluice::io {

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;

namespace {

using Handler = asio::any_completion_handler<void(Result<ClientResponse>)>;

// Names one transfer for ever, so that a late cancellation finds nothing rather than another one.
using TransferId = std::uint64_t;

// Handles kept for reuse; more than this many at once are made and thrown away.
constexpr std::size_t kMaxSpareTransfers = 256;

struct ClientMetrics {
    explicit ClientMetrics(obs::Metrics& metrics)
        : transfers(metrics.gauge(kUpstreamTransfers)),
          new_connections(metrics.counter(kUpstreamConnections, {"false"})),
          reused_connections(metrics.counter(kUpstreamConnections, {"true"})),
          timeouts(error(metrics, Code::kTimeout)),
          unavailable(error(metrics, Code::kUnavailable)),
          too_large(error(metrics, Code::kPayloadTooLarge)),
          cancelled(error(metrics, Code::kCancelled)),
          invalid(error(metrics, Code::kInvalidRequest)) {}

    static obs::Counter error(obs::Metrics& metrics, Code code) {
        return metrics.counter(kUpstreamErrors, {std::string(to_string(code))});
    }

    void count(const Error& error) const {
        switch (error.code) {
            case Code::kTimeout:
                return timeouts.add();
            case Code::kPayloadTooLarge:
                return too_large.add();
            case Code::kCancelled:
                return cancelled.add();
            case Code::kInvalidRequest:
                return invalid.add();
            default:
                return unavailable.add();
        }
    }

    obs::Gauge transfers;
    obs::Counter new_connections;
    obs::Counter reused_connections;
    obs::Counter timeouts;
    obs::Counter unavailable;
    obs::Counter too_large;
    obs::Counter cancelled;
    obs::Counter invalid;
};

}  // namespace

std::string_view ClientResponse::header(std::string_view name) const {
    for (const auto& [known, value] : headers) {
        if (known == name) {
            return value;
        }
    }
    return {};
}

HttpClientConfig HttpClientConfig::read(ConfigReader& in) {
    HttpClientConfig c;
    in.size({"max_response_bytes", "largest answer of an upstream, after decompression"},
            c.max_response_bytes, 1024, HttpClientConfig::kLargestResponseBytes);
    in.duration({"connect_timeout_s", "longest time to resolve, connect and shake hands"},
                c.connect_timeout, 10ms, 5min);
    in.integer({"max_connections_per_host", "connections to one upstream at once"},
               c.max_connections_per_host, 1, 4096);
    in.integer({"max_idle_connections", "connections to all upstreams kept open for reuse"},
               c.max_idle_connections, 1, 65536);
    in.duration({"dns_cache_s", "how long a resolved name is remembered"}, c.dns_cache, 0ms, 24h);
    in.text({"user_agent", "User-Agent of requests to upstreams"}, c.user_agent);
    in.text(
        {"ca_file", "PEM file with the certificate authorities to trust instead of the system's"},
        c.ca_file);
    if (c.user_agent.find_first_of("\r\n") != std::string::npos) {
        in.fail("user_agent", "expected one line");
    }
    return c;
}

struct CurlHttpClient::Impl : std::enable_shared_from_this<Impl> {
    // A transfer with what its caller waits for. Pooled, since a handle is costly to make.
    struct Exchange {
        Exchange(const HttpClientConfig& config, const TlsSessions& sessions)
            : transfer(config, sessions) {}

        HttpTransfer transfer;
        TransferId id = 0;
        Instant started{};
        Instant deadline{};
        // Only ever constructed in place: assigning a Handler recurses for ever in Boost 1.81.
        std::optional<Handler> handler;
    };

    Impl(Executor ex, HttpClientConfig c, const Clock& clk, const obs::Log& logger,
         obs::Metrics& registry)
        : executor(std::move(ex)),
          config(std::move(c)),
          clock{clk},
          log(logger),
          metrics(registry),
          loop(std::make_unique<CurlLoop>(
              executor,
              CurlLoop::Limits{config.max_connections_per_host, config.max_idle_connections}, clk,
              logger, [this](void* easy, int code) { ended(easy, code); })),
          deadline_timer(executor) {}

    void start(Handler handler, ClientRequest request) {
        const Instant now = clock.now();
        if (!loop) {
            return answer(std::move(handler), transfer_cancelled());
        }
        if (request.deadline <= now) {
            return answer(std::move(handler), transfer_too_late());
        }
        std::unique_ptr<Exchange> exchange = take_exchange();
        exchange->started = now;
        exchange->deadline = request.deadline;
        if (Status prepared = exchange->transfer.prepare(std::move(request)); !prepared.ok()) {
            put_back(std::move(exchange));
            return answer(std::move(handler), std::move(prepared).error());
        }
        allow_cancellation(handler, exchange->id);
        exchange->handler.emplace(std::move(handler));

        void* const easy = exchange->transfer.easy();
        CurlLoop::Opening& opening = exchange->transfer.opening();
        deadlines.emplace(exchange->deadline, exchange->id);
        by_handle.emplace(easy, exchange->id);
        exchanges.emplace(exchange->id, std::move(exchange));
        metrics.transfers.add(1);
        arm_deadline();
        loop->start(easy, opening);
    }

    void allow_cancellation(Handler& handler, TransferId id) {
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (!slot.is_connected()) {
            return;
        }
        slot.assign([weak = weak_from_this(), id](asio::cancellation_type) {
            if (const auto self = weak.lock()) {
                self->give_up(id, transfer_cancelled());
            }
        });
    }

    // A transfer that libcurl is done with.
    void ended(void* easy, int code) {
        const auto found = by_handle.find(easy);
        SLUICE_ASSERT(found != by_handle.end());
        std::unique_ptr<Exchange> exchange = take_out(found->second);
        const auto elapsed = std::chrono::floor<Millis>(clock.now() - exchange->started);
        Result<ClientResponse> result = exchange->transfer.finish(code, elapsed);
        if (!result.ok()) {
            log.debug("upstream_transfer_failed", {{"code", to_string(result.error().code)},
                                                   {"reason", result.error().message},
                                                   {"elapsed_ms", elapsed}});
        } else if (result->reused_connection) {
            metrics.reused_connections.add();
        }
        conclude(std::move(exchange), std::move(result));
    }

    // Ends a transfer that libcurl is still performing. Nothing happens when there is none.
    void give_up(TransferId id, Error error) {
        const auto found = exchanges.find(id);
        if (found == exchanges.end()) {
            return;
        }
        std::unique_ptr<Exchange> exchange = take_out(id);
        loop->stop(exchange->transfer.easy());
        conclude(std::move(exchange), std::move(error));
    }

    std::unique_ptr<Exchange> take_out(TransferId id) {
        auto node = exchanges.extract(id);
        std::unique_ptr<Exchange> exchange = std::move(node.mapped());
        by_handle.erase(exchange->transfer.easy());
        deadlines.erase({exchange->deadline, id});
        metrics.transfers.add(-1);
        if (deadlines.empty()) {
            // The executor may run out of work now.
            deadline_timer.cancel();
            armed_for = Instant::max();
        }
        return exchange;
    }

    void conclude(std::unique_ptr<Exchange> exchange, Result<ClientResponse> result) {
        metrics.new_connections.add(static_cast<double>(exchange->transfer.new_connections()));
        Handler handler = std::move(*exchange->handler);
        exchange->handler.reset();
        put_back(std::move(exchange));
        answer(std::move(handler), std::move(result));
    }

    // The caller goes on in a turn of its own: never inside send(), nor inside the loop.
    void answer(Handler handler, Result<ClientResponse> result) {
        if (!result.ok()) {
            metrics.count(result.error());
        }
        asio::post(executor, [h = std::move(handler), r = std::move(result)]() mutable {
            std::move(h)(std::move(r));
        });
    }

    // libcurl's own timeout sleeps while a transfer waits for one of the connections to its host,
    // so deadlines are kept here. The timer is set for the earliest, and only ever moved forward:
    // when it comes too early, nothing is due and it is set again.
    void arm_deadline() {
        const Instant earliest = deadlines.begin()->first;
        if (armed_for <= earliest) {
            return;
        }
        armed_for = earliest;
        deadline_timer.expires_after(std::max(earliest - clock.now(), Duration::zero()));
        deadline_timer.async_wait([weak = weak_from_this()](error_code error) {
            const auto self = weak.lock();
            if (!error && self) {
                self->end_overdue();
            }
        });
    }

    void end_overdue() {
        armed_for = Instant::max();
        const Instant now = clock.now();
        while (!deadlines.empty() && deadlines.begin()->first <= now) {
            const TransferId id = deadlines.begin()->second;
            give_up(id, exchanges.at(id)->transfer.timed_out());
        }
        if (!deadlines.empty()) {
            arm_deadline();
        }
    }

    std::unique_ptr<Exchange> take_exchange() {
        std::unique_ptr<Exchange> exchange;
        if (spare.empty()) {
            exchange = std::make_unique<Exchange>(config, sessions);
        } else {
            exchange = std::move(spare.back());
            spare.pop_back();
        }
        exchange->id = ++last_id;
        return exchange;
    }

    void put_back(std::unique_ptr<Exchange> exchange) {
        if (spare.size() < kMaxSpareTransfers) {
            exchange->transfer.clear();
            spare.push_back(std::move(exchange));
        }
    }

    void shut() {
        while (!exchanges.empty()) {
            give_up(exchanges.begin()->first, transfer_cancelled());
        }
        deadline_timer.cancel();
        spare.clear();
        loop.reset();
    }

    Executor executor;
    const HttpClientConfig config;
    const Clock& clock;
    const obs::Log& log;
    ClientMetrics metrics;
    std::unique_ptr<CurlLoop> loop;  // before all else of libcurl, which it sets up
    TlsSessions sessions;
    std::vector<std::unique_ptr<Exchange>> spare;
    std::unordered_map<TransferId, std::unique_ptr<Exchange>> exchanges;
    std::unordered_map<void*, TransferId> by_handle;
    std::set<std::pair<Instant, TransferId>> deadlines;  // of `exchanges`
    Timer deadline_timer;
    Instant armed_for = Instant::max();  // what the timer is set for; max: it is not
    TransferId last_id = 0;
};

CurlHttpClient::CurlHttpClient(Executor executor, HttpClientConfig config, const Clock& clock,
                               const obs::Log& log, obs::Metrics& metrics)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(config), clock, log, metrics)) {}

CurlHttpClient::~CurlHttpClient() {
    impl_->shut();
}

Task<Result<ClientResponse>> CurlHttpClient::send(ClientRequest request) {
    // Not `this`: the client may be destroyed before the answer is taken.
    auto begin = [impl = impl_](auto handler, ClientRequest what) {
        impl->start(Handler(std::move(handler)), std::move(what));
    };
    co_return co_await asio::async_initiate<const asio::use_awaitable_t<Executor>&,
                                            void(Result<ClientResponse>)>(
        std::move(begin), use_task, std::move(request));
}

std::size_t CurlHttpClient::transfers_under_way() const {
    return impl_->exchanges.size();
}

}  // namespace sluice::io
