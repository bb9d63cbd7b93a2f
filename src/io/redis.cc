#include "io/redis.h"

#include "base/exception.h"
#include "base/hash.h"
#include "guard/backoff.h"
#include "io/redis_metrics.h"
#include "io/tls.h"

#include <boost/asio/post.hpp>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <utility>

namespace sluice::io {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

constexpr Millis kRefusalsLoggedEvery{10'000};
constexpr Millis kSpread{100};

guard::CircuitConfig circuit_config() {
    guard::CircuitConfig config;
    config.failure_threshold = 1;
    config.open_for = 200ms;
    config.max_open_for = RedisClient::kRetryEvery;
    return config;
}

// Replicas that lost the same Redis come back to it one after another.
guard::BackoffConfig spread_config() {
    guard::BackoffConfig config;
    config.base = kSpread;
    config.cap = kSpread;
    config.jitter = guard::Jitter::kFull;
    return config;
}

Error failed(Code code, std::string message) {
    return Error{code, Blame::kGateway, std::move(message), {}};
}

std::string sha1_hex(std::string_view text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    SLUICE_ASSERT(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) ==
                  1);
    return to_hex(std::string_view(reinterpret_cast<const char*>(digest.data()), size));
}

}  // namespace

struct RedisClient::Counters {
    explicit Counters(obs::Metrics& metrics)
        : up(metrics.gauge(kRedisUp)),
          succeeded(metrics.counter(kRedisCommands, {"succeeded"})),
          refused(metrics.counter(kRedisCommands, {"refused"})),
          timed_out(metrics.counter(kRedisCommands, {"timed_out"})),
          unavailable(metrics.counter(kRedisCommands, {"unavailable"})),
          overloaded(metrics.counter(kRedisCommands, {"overloaded"})),
          cancelled(metrics.counter(kRedisCommands, {"cancelled"})),
          seconds(metrics.histogram(kRedisCommandSeconds)) {}

    obs::Gauge up;
    obs::Counter succeeded;
    obs::Counter refused;
    obs::Counter timed_out;
    obs::Counter unavailable;
    obs::Counter overloaded;
    obs::Counter cancelled;
    obs::Histogram seconds;
};

bool RedisConfig::wants_tls() const {
    return std::ranges::any_of(endpoints, &RedisEndpoint::tls);
}

RedisConfig RedisConfig::read(ConfigReader in) {
    RedisConfig c;
    in.secret({"url",
               "what replicas share: redis://[user:password@]host[:port][/database], rediss:// for "
               "TLS; several with commas are tried in order; "
               "redis+sentinel://[user:password@]host[:port],.../master[/database] asks sentinels "
               "where it is; empty: nothing is shared",
               "GATEWAY_REDIS_URL"},
              c.url);
    in.boolean({"required",
                "whether searches are refused while Redis can't be used; else this process goes on "
                "by itself",
                "GATEWAY_REDIS_REQUIRED"},
               c.required);
    in.duration({"timeout_s", "one command of Redis, or making a connection to it"}, c.timeout,
                10ms, 30s);
    Result<std::vector<RedisEndpoint>> endpoints = parse_redis_urls(c.url.reveal());
    if (!endpoints.ok()) {
        in.fail("url", endpoints.error().message);
        return c;
    }
    c.endpoints = *std::move(endpoints);
    if (c.required && c.endpoints.empty()) {
        in.fail("required", "needs redis.url");
    }
    return c;
}

RedisScript::RedisScript(std::string_view text) : text_(text), sha1_(sha1_hex(text)) {}

RedisClient::RedisClient(Executor executor, RedisConfig config,
                         std::shared_ptr<const TlsContext> tls, Clock& clock, Random& random,
                         const obs::Log& log, obs::Metrics& metrics)
    : executor_(std::move(executor)),
      config_(std::move(config)),
      tls_(std::move(tls)),
      clock_(clock),
      random_(random),
      log_(log),
      metrics_(metrics),
      counters_(std::make_unique<Counters>(metrics)),
      refusals_(1, kRefusalsLoggedEvery),
      circuit_(circuit_config()),
      tasks_(executor_,
             [this](const std::exception_ptr& error) {
                 log_.error("redis_task_failed", {{"exception", exception_type(error)}});
             }),
      changed_at_(clock.now()) {
    SLUICE_ASSERT(config_.enabled());
    SLUICE_ASSERT(tls_ != nullptr || !config_.wants_tls());
}

RedisClient::~RedisClient() = default;

Task<Status> RedisClient::start() {
    tasks_.spawn(keep_up(), stop_);
    co_await tried_.wait_until(clock_, Instant::max());
    if (!is_up()) {
        const View now = view();
        co_return failed(Code::kUnavailable,
                         "redis at " + now.server + " can't be used: " + std::string(now.reason));
    }
    co_return Status();
}

Task<void> RedisClient::stop() {
    tasks_.close();
    stop_->emit(asio::cancellation_type::terminal);
    if (connection_) {
        connection_->close(RedisFault::kStopped);
    }
    if (probe_) {
        probe_->close(RedisFault::kStopped);
    }
    for (const auto& alarm : {beat_, patience_, watch_}) {
        if (alarm) {
            alarm->ring();
        }
    }
    co_await tasks_.join();
}

Task<void> RedisClient::keep_up() {
    for (;;) {
        std::optional<guard::CircuitPass> pass = circuit_.try_enter(clock_.now());
        if (!pass) {
            co_await clock_.sleep_until(next_attempt());
            continue;
        }
        const std::shared_ptr<RedisConnection> connection = co_await attempt();
        if (connection->is_open()) {
            pass->report(guard::CallOutcome::kSuccess, clock_.now());
            went_up();
            tried_.set();
            co_await use(connection);
            pass = circuit_.try_enter(clock_.now());
        }
        if (pass) {
            pass->report(guard::CallOutcome::kFailure, clock_.now());
        }
        went_down(connection->fault());
        tried_.set();
    }
}

std::shared_ptr<RedisConnection> RedisClient::make_connection(RedisEndpoint endpoint) {
    const TlsContext* const tls = endpoint.tls ? tls_.get() : nullptr;
    return std::make_shared<RedisConnection>(executor_, std::move(endpoint), tls, clock_, tasks_);
}

// One endpoint after another, in the order of the list, so that replicas that lost the same server
// for different reasons meet again.
Task<std::shared_ptr<RedisConnection>> RedisClient::attempt() {
    const std::size_t first = std::exchange(first_, 0);
    for (std::size_t tried = 1;; ++tried) {
        endpoint_ = (first + tried - 1) % config_.endpoints.size();
        connection_ = make_connection(config_.endpoints[endpoint_]);
        if (uses_sentinels()) {
            auto server = co_await connection_->locate_master(clock_.now() + config_.timeout);
            if (server) {
                connection_ = make_connection(*std::move(server));
            }
        }
        const std::shared_ptr<RedisConnection> candidate = connection_;
        if (candidate->is_open()) {
            co_await candidate->open(clock_.now() + config_.timeout);
        }
        if (candidate->is_open()) {
            co_return candidate;
        }
        count(candidate->fault());
        if (tried == config_.endpoints.size()) {
            co_return candidate;
        }
    }
}

Task<void> RedisClient::use(std::shared_ptr<RedisConnection> connection) {
    beat_ = std::make_shared<Alarm>(executor_);
    tasks_.spawn(beat(connection, beat_));
    patience_ = std::make_shared<Alarm>(executor_);
    tasks_.spawn(lose_patience(connection, patience_));
    watch_ = std::make_shared<Alarm>(executor_);
    if (uses_sentinels() || endpoint_ > 0) {
        tasks_.spawn(watch(connection, watch_));
    }
    co_await connection->serve();
    beat_->ring();
    patience_->ring();
    watch_->ring();
    count(connection->fault());
    if (connection->fault() == RedisFault::kNotServing) {
        first_ = endpoint_ + 1;
    }
}

// Leaves a server that works for the one that all replicas are to use.
Task<void> RedisClient::watch(std::shared_ptr<RedisConnection> connection,
                              std::shared_ptr<Alarm> alarm) {
    while (connection->is_open()) {
        co_await clock_.wait(alarm, clock_.now() + kWatchEvery);
        if (connection->is_open() && co_await another_serves(*connection)) {
            connection->close(RedisFault::kMoved);
        }
    }
}

// In the order in which an attempt would try them: a master, and not the one that is in use.
Task<bool> RedisClient::another_serves(const RedisConnection& connection) {
    const std::size_t used = endpoint_;
    const std::size_t end = uses_sentinels() ? config_.endpoints.size() : used;
    for (std::size_t i = 0; i < end && connection.is_open(); ++i) {
        probe_ = make_connection(config_.endpoints[i]);
        if (uses_sentinels()) {
            auto server = co_await probe_->locate_master(clock_.now() + config_.timeout);
            if (!server) {
                continue;
            }
            if (server->name() == connection.endpoint().name()) {
                co_return false;
            }
            probe_ = make_connection(*std::move(server));
        }
        co_await probe_->open(clock_.now() + config_.timeout);
        const bool serves = probe_->is_open() && probe_->is_master();
        probe_->close(RedisFault::kStopped);
        if (!serves) {
            continue;
        }
        if (!uses_sentinels() && connection.is_master()) {
            log_.warn("redis_two_masters",
                      {{"address", i + 1},
                       {"left", used + 1},
                       {"mend", "make all addresses of redis.url but one its replicas"}});
        }
        co_return true;
    }
    co_return false;
}

Task<void> RedisClient::beat(std::shared_ptr<RedisConnection> connection,
                             std::shared_ptr<Alarm> alarm) {
    while (connection->is_open()) {
        const Instant next = clock_.now() + kHeartbeatEvery;
        // Nobody has to be told how it ends: a loss ends the connection.
        std::vector<std::string> ping{"PING"};
        const Result<RedisReply> ignored = co_await command(std::move(ping), Instant::max());
        if (connection->is_open()) {
            co_await clock_.wait(alarm, next);
        }
    }
}

// Replies come in the order of the commands, so one timer for all of them looks at the oldest. It
// need not be told of commands: none that is sent while it waits is due before it looks again.
Task<void> RedisClient::lose_patience(std::shared_ptr<RedisConnection> connection,
                                      std::shared_ptr<Alarm> alarm) {
    while (connection->is_open()) {
        const Instant since = connection->owes_since().value_or(clock_.now());
        co_await clock_.wait(alarm, since + config_.timeout);
        const auto is_due = [&] {
            const auto owed = connection->owes_since();
            return owed && clock_.now() >= *owed + config_.timeout;
        };
        if (!connection->is_open() || !is_due()) {
            continue;
        }
        // Where it was this process that stood still, the reply is there and only has to be read.
        co_await asio::post(executor_, use_task);
        if (is_due()) {
            connection->close(RedisFault::kTimedOut);
        }
    }
}

void RedisClient::count(RedisFault fault) {
    metrics_.counter(kRedisFaults, {std::string(to_string(fault))}).add();
}

Instant RedisClient::next_attempt() {
    const Instant reopens = circuit_.reopens_at().value_or(clock_.now());
    return reopens + guard::backoff_delay(spread_config(), 0, random_, std::nullopt);
}

void RedisClient::went_up() {
    counters_->up.set(1);
    connections_ += 1;
    const Instant now = clock_.now();
    log_.info("redis_available",
              {{"address", endpoint_ + 1},
               {"down_ms", std::chrono::duration_cast<Millis>(now - changed_at_)}});
    fault_.reset();
    changed_at_ = now;
}

void RedisClient::went_down(RedisFault fault) {
    counters_->up.set(0);
    const bool was_up = !std::exchange(fault_, fault).has_value();
    if (!was_up || fault == RedisFault::kStopped) {
        return;
    }
    changed_at_ = clock_.now();
    log_.warn(
        "redis_unavailable",
        {{"address", endpoint_ + 1}, {"reason", to_string(fault)}, {"required", config_.required}});
}

Task<Result<RedisReply>> RedisClient::exchange(std::vector<std::string_view> words,
                                               Instant deadline) {
    const std::shared_ptr<RedisConnection> connection = connection_;
    const Instant now = clock_.now();
    if (!is_up()) {
        counters_->unavailable.add();
        co_return failed(Code::kUnavailable, "there is no connection to redis");
    }
    std::size_t bytes = 0;
    for (const std::string_view word : words) {
        bytes += word.size();
    }
    if (!connection->has_room(bytes)) {
        counters_->overloaded.add();
        co_return failed(Code::kOverloaded, "too many commands of redis are under way");
    }
    const std::shared_ptr<RedisConnection::Pending> pending = connection->send(words, now);
    // What lose_patience() sees to needs no timer of its own, which would cost as much as the rest.
    const Instant patience = now + config_.timeout;
    const Instant until = deadline < patience ? deadline : Instant::max();
    const guard::WaitEnd end = co_await pending->done.wait_until(clock_, until);
    if (end == guard::WaitEnd::kDeadline) {
        // Where it was this process that stood still, the reply is there and only has to be read.
        co_await asio::post(executor_, use_task);
    }
    if (pending->reply) {
        counters_->seconds.observe(std::chrono::duration<double>(clock_.now() - now).count());
        co_return *std::move(pending->reply);
    }
    if (pending->done.is_set() && clock_.now() < std::min(deadline, patience)) {
        counters_->unavailable.add();
        co_return failed(Code::kUnavailable, "the connection to redis was lost");
    }
    if (end == guard::WaitEnd::kCancelled) {
        counters_->cancelled.add();
        co_return Error{Code::kCancelled, Blame::kCaller, "the caller left", {}};
    }
    counters_->timed_out.add();
    co_return failed(Code::kTimeout, "redis did not answer in time");
}

// Turns an error reply into an Error.
Result<RedisReply> RedisClient::judge(Result<RedisReply> reply) {
    if (!reply.ok()) {
        return reply;
    }
    if (!reply->is_error()) {
        counters_->succeeded.add();
        return reply;
    }
    counters_->refused.add();
    const std::string word(reply->error_word());
    if (const auto fault = fault_of(*reply); fault && connection_) {
        connection_->close(*fault);
    } else if (std::uint64_t suppressed = 0; refusals_.allow(clock_.now(), suppressed)) {
        log_.warn("redis_refused", {{"error", word}, {"suppressed", suppressed}});
    }
    return failed(Code::kUnavailable, "redis refused a command: " + word);
}

Task<Result<RedisReply>> RedisClient::command(std::vector<std::string> words, Instant deadline) {
    std::vector<std::string_view> views(words.begin(), words.end());
    co_return judge(co_await exchange(std::move(views), deadline));
}

Task<Result<RedisReply>> RedisClient::run(const RedisScript& script, std::vector<std::string> keys,
                                          std::vector<std::string> arguments, Instant deadline) {
    const std::string key_count = std::to_string(keys.size());
    std::vector<std::string_view> words;
    words.reserve(3 + keys.size() + arguments.size());
    words.assign({"EVALSHA", script.sha1(), key_count});
    words.insert(words.end(), keys.begin(), keys.end());
    words.insert(words.end(), arguments.begin(), arguments.end());
    Result<RedisReply> reply = co_await exchange(words, deadline);
    if (reply.ok() && reply->is_error() && reply->error_word() == "NOSCRIPT") {
        // It was restarted or its scripts were flushed. This teaches it the script again.
        words[0] = "EVAL";
        words[1] = script.text();
        reply = co_await exchange(std::move(words), deadline);
    }
    co_return judge(std::move(reply));
}

Millis RedisClient::back_within() const {
    // To notice it, and to try every endpoint in vain before the one that serves.
    const std::size_t waits = 1 + config_.endpoints.size() * (uses_sentinels() ? 2 : 1);
    const bool may_be_elsewhere = uses_sentinels() || config_.endpoints.size() > 1;
    return kHeartbeatEvery + kRetryEvery + kSpread + waits * config_.timeout +
           (may_be_elsewhere ? kWatchEvery : Millis::zero());
}

RedisClient::View RedisClient::view() const {
    View view;
    view.is_up = is_up();
    view.server = (connection_ ? connection_->endpoint() : config_.endpoints.front()).name();
    if (connection_ && !connection_->is_open()) {
        view.reason = to_string(connection_->fault());
    } else if (!view.is_up) {
        view.reason = fault_ ? to_string(*fault_) : std::string_view("not_tried");
    }
    return view;
}

}  // namespace sluice::io
