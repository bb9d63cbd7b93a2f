#include "io/exchange_writer.h"

#include "base/rfc3339.h"
#include "io/exchange.h"
#include "io/exchange_folder.h"
#include "io/exchange_metrics.h"
#include "io/redaction.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <thread>
#include <utility>

namespace sluice::io {

namespace {

constexpr int kFailureLines = 1;
constexpr Millis kFailureInterval{60'000};

std::size_t weight_of(const EndedExchange& exchange) {
    const std::size_t answer = exchange.outcome.ok() ? exchange.outcome->body.size() : 0;
    return exchange.request.url.size() + exchange.request.body.size() + answer;
}

}  // namespace

RecordConfig RecordConfig::read(ConfigReader in) {
    RecordConfig c;
    in.text({"dir",
             "where every exchange with a provider is written, without keys but with what was "
             "searched for; empty: nowhere (--record)"},
            c.dir);
    in.integer({"max_files", "recordings that the folder holds at most"}, c.max_files,
               std::size_t{1}, std::size_t{1'000'000});
    in.size({"max_bytes", "bytes that the recordings take at most"}, c.max_bytes, 4096,
            std::size_t{1} << 40U);
    return c;
}

struct ExchangeWriter::Impl {
    Impl(RecordConfig c, ExchangeFolder opened, const Clock& clk, const obs::Log& logger,
         obs::Metrics& metrics)
        : config(std::move(c)),
          folder(std::move(opened)),
          clock{clk},
          log{logger},
          written(metrics.counter(kRecordedExchanges, {"written"})),
          dropped(metrics.counter(kRecordedExchanges, {"dropped"})),
          full(metrics.counter(kRecordedExchanges, {"full"})),
          failed(metrics.counter(kRecordedExchanges, {"failed"})),
          cancelled(metrics.counter(kRecordedExchanges, {"cancelled"})) {}

    // False when there is no room.
    bool enqueue(EndedExchange exchange) {
        const std::size_t weight = weight_of(exchange);
        const std::lock_guard lock(mutex);
        const bool has_room = queue.empty() || queued_bytes + weight <= kMaxQueuedBytes;
        if (queue.size() >= kMaxQueued || !has_room) {
            return false;
        }
        queue.push_back(std::move(exchange));
        queued_bytes += weight;
        wake.notify_one();
        return true;
    }

    std::optional<EndedExchange> take() {
        std::unique_lock lock(mutex);
        wake.wait(lock, [this] { return closing || !queue.empty(); });
        if (queue.empty()) {
            return std::nullopt;
        }
        EndedExchange exchange = std::move(queue.front());
        queue.pop_front();
        queued_bytes -= weight_of(exchange);
        return exchange;
    }

    void serve() {
        pthread_setname_np(pthread_self(), "recorder");
        while (std::optional<EndedExchange> exchange = take()) {
            write(*std::move(exchange));
        }
    }

    void write(EndedExchange ended) {
        const Redaction redaction(ended.request);
        Exchange exchange{without_secrets(ended.request), std::move(ended.outcome), ended.latency,
                          rfc3339(ended.ended, DateDigits::kMilliseconds)};
        redaction.clean(exchange);
        const std::string text = format.write(exchange);
        if (folder.files() >= config.max_files ||
            text.size() > config.max_bytes - std::min(config.max_bytes, folder.bytes())) {
            full.add();
            tell_full();
            return;
        }
        const Status added = folder.add(exchange.request.upstream, text);
        (added.ok() ? written : failed).add();
        std::uint64_t suppressed = 0;
        if (!added.ok() && failures.allow(clock.now(), suppressed)) {
            log.error("recording_failed",
                      {{"reason", added.error().message}, {"suppressed", suppressed}});
        }
    }

    // Once: from here on the metric tells.
    void tell_full() {
        if (!std::exchange(is_told_full, true)) {
            log.warn("recording_full", {{"dir", config.dir},
                                        {"files", folder.files()},
                                        {"bytes", folder.bytes()},
                                        {"max_files", config.max_files},
                                        {"max_bytes", config.max_bytes}});
        }
    }

    const RecordConfig config;
    ExchangeFolder folder;
    const Clock& clock;
    const obs::Log& log;
    obs::Counter written;
    obs::Counter dropped;
    obs::Counter full;
    obs::Counter failed;
    obs::Counter cancelled;
    obs::LogLimiter failures{kFailureLines, kFailureInterval};
    obs::LogLimiter drops{kFailureLines, kFailureInterval};
    ExchangeFormat format;
    bool is_told_full = false;

    std::mutex mutex;
    std::condition_variable wake;
    std::deque<EndedExchange> queue;
    std::size_t queued_bytes = 0;
    bool closing = false;
    std::thread thread;
};

Result<std::unique_ptr<ExchangeWriter>> ExchangeWriter::open(RecordConfig config,
                                                             const Clock& clock,
                                                             const obs::Log& log,
                                                             obs::Metrics& metrics) {
    TRY(ExchangeFolder folder, ExchangeFolder::open(config.dir));
    auto impl = std::make_unique<Impl>(std::move(config), std::move(folder), clock, log, metrics);
    return std::unique_ptr<ExchangeWriter>(new ExchangeWriter(std::move(impl)));
}

ExchangeWriter::ExchangeWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
    impl_->thread = std::thread([self = impl_.get()] { self->serve(); });
}

ExchangeWriter::~ExchangeWriter() {
    {
        const std::lock_guard lock(impl_->mutex);
        impl_->closing = true;
    }
    impl_->wake.notify_one();
    impl_->thread.join();
}

void ExchangeWriter::add(EndedExchange exchange) {
    if (!exchange.outcome.ok() && exchange.outcome.error().code == Code::kCancelled) {
        impl_->cancelled.add();
        return;
    }
    std::uint64_t suppressed = 0;
    if (!impl_->enqueue(std::move(exchange))) {
        impl_->dropped.add();
        if (impl_->drops.allow(impl_->clock.now(), suppressed)) {
            impl_->log.warn("recording_dropped", {{"suppressed", suppressed}});
        }
    }
}

}  // namespace sluice::io
