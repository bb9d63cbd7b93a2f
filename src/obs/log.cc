#include "obs/log.h"

#include "base/json.h"
#include "base/rfc3339.h"
#include "obs/stderr.h"

#include <spdlog/async_logger.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/base_sink.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>

namespace sluice::obs {
namespace {

// A line that waits costs about half a kilobyte, so a full queue stays near half a megabyte.
constexpr std::size_t kQueuedLines = 1024;
// How long flush() waits for a terminal that does not take lines.
constexpr std::chrono::seconds kFlushPatience{1};
// Fields come from configured names, enumerators and messages of ours; a longer one is cut.
constexpr std::size_t kMaxFieldBytes = 2048;
constexpr std::string_view kCutMark = "...";

std::string_view to_string(Level level) {
    switch (level) {
        case Level::kDebug:
            return "debug";
        case Level::kInfo:
            return "info";
        case Level::kWarn:
            return "warn";
        case Level::kError:
            return "error";
    }
    return "error";
}

// The longest beginning of `text` of at most kMaxFieldBytes that does not split a UTF-8 sequence.
std::string_view beginning(std::string_view text) {
    std::size_t end = kMaxFieldBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
        --end;
    }
    return text.substr(0, end);
}

void append_value(JsonWriter& json, const LogField::Value& value) {
    const auto* text = std::get_if<std::string_view>(&value);
    if (text != nullptr && text->size() > kMaxFieldBytes) {
        json.value(std::string(beginning(*text)).append(kCutMark));
        return;
    }
    std::visit([&json](const auto& plain) { json.value(plain); }, value);
}

// Writes to stderr on spdlog's thread and counts, so that flush() knows when a line is out.
class CountingStderr final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
    // From here on no line waits for room. For the end of the process.
    void give_up() { patient_ = false; }

    // Calls `done(lines written so far)` after each line until it is true or patience ends.
    template <class Done>
    void wait(Done done) {
        std::unique_lock lock(mutex_);
        progress_.wait_for(lock, kFlushPatience, [&] { return done(written_); });
    }

 private:
    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t line;
        formatter_->format(message, line);
        write_to_stderr({line.data(), line.size()}, [this] { return patient_.load(); });
        {
            const std::lock_guard lock(mutex_);
            ++written_;
        }
        progress_.notify_all();
    }

    void flush_() override {}

    std::atomic<bool> patient_{true};
    std::mutex mutex_;
    std::condition_variable progress_;
    std::uint64_t written_ = 0;
};

class QueuedStderr final : public LogSink {
 public:
    QueuedStderr()
        : pool_(std::make_shared<spdlog::details::thread_pool>(kQueuedLines, 1)),
          stderr_(std::make_shared<CountingStderr>()),
          logger_(std::make_shared<spdlog::async_logger>(
              "sluice", stderr_, pool_, spdlog::async_overflow_policy::overrun_oldest)) {
        // spdlog does not escape what a pattern inserts, so the whole line is ours.
        logger_->set_pattern("%v");
    }

    // The pool's destructor waits until all that is queued has passed the sink.
    ~QueuedStderr() override {
        QueuedStderr::flush();
        stderr_->give_up();
    }
    QueuedStderr(const QueuedStderr&) = delete;
    QueuedStderr& operator=(const QueuedStderr&) = delete;

    void write(Level, std::string line) override {
        accepted_.fetch_add(1, std::memory_order_relaxed);
        logger_->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
    }

    // spdlog's own flush is a queued message that an overrun can lose, and nothing is buffered
    // behind the sink anyway; so this waits until every line that was accepted is either written or
    // dropped.
    void flush() override {
        const std::uint64_t accepted = accepted_.load(std::memory_order_relaxed);
        stderr_->wait([&](std::uint64_t written) { return written + dropped() >= accepted; });
    }

    // Only lines are ever queued, so what the queue overran are lines.
    std::uint64_t dropped() const override { return pool_->overrun_counter(); }

 private:
    std::atomic<std::uint64_t> accepted_{0};
    // Queued lines keep the logger and its sink alive.
    std::shared_ptr<spdlog::details::thread_pool> pool_;
    std::shared_ptr<CountingStderr> stderr_;
    std::shared_ptr<spdlog::async_logger> logger_;
};

}  // namespace

std::unique_ptr<LogSink> make_stderr_sink() {
    return std::make_unique<QueuedStderr>();
}

Log::Log(const Clock& clock, LogSink& sink, Level lowest)
    : clock_(clock), sink_(sink), lowest_(lowest) {}

void Log::debug(std::string_view event, LogFields fields) const {
    write(Level::kDebug, event, fields);
}

void Log::info(std::string_view event, LogFields fields) const {
    write(Level::kInfo, event, fields);
}

void Log::warn(std::string_view event, LogFields fields) const {
    write(Level::kWarn, event, fields);
}

void Log::error(std::string_view event, LogFields fields) const {
    write(Level::kError, event, fields);
}

bool Log::enabled(Level level) const {
    return level >= lowest_.load(std::memory_order_relaxed);
}

std::uint64_t Log::dropped() const {
    return sink_.dropped();
}

void Log::set_lowest(Level level) {
    lowest_.store(level, std::memory_order_relaxed);
}

void Log::write(Level level, std::string_view event, LogFields fields) const {
    if (!enabled(level)) {
        return;
    }
    std::string line;
    JsonWriter json(line);
    json.begin_object();
    json.field("ts", rfc3339(clock_.wall_now(), DateDigits::kMilliseconds));
    json.field("level", to_string(level));
    json.field("event", event);
    for (const LogField& field : fields) {
        json.key(field.name);
        append_value(json, field.value);
    }
    json.end_object();
    sink_.write(level, std::move(line));
}

struct LogLimiter::Impl {
    Impl(int allowed, Millis per) : burst(allowed), interval(per) {}

    const int burst;
    const Millis interval;
    std::mutex mutex;
    bool started = false;
    Instant window_start{};
    int used = 0;
    std::uint64_t held_back = 0;
};

LogLimiter::LogLimiter(int burst, Millis interval)
    : impl_(std::make_shared<Impl>(burst, interval)) {}

bool LogLimiter::allow(Instant now, std::uint64_t& suppressed) {
    const std::lock_guard lock(impl_->mutex);
    if (!impl_->started || now - impl_->window_start >= impl_->interval) {
        impl_->started = true;
        impl_->window_start = now;
        impl_->used = 0;
    }
    if (impl_->used >= impl_->burst) {
        ++impl_->held_back;
        return false;
    }
    ++impl_->used;
    suppressed = std::exchange(impl_->held_back, 0);
    return true;
}

}  // namespace sluice::obs
