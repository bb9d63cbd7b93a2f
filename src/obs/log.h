// Structured logs: one JSON object a line on stderr, through spdlog's bounded background queue, so
// that a slow terminal never holds up a request (the oldest lines are dropped and counted instead).
//
//     log.warn("circuit_opened", {{"provider", name}, {"open_ms", ms}});
//
// Event names are past tense, snake_case and stable. Query text, secrets, tokens and addresses
// never become fields: Secret and QueryText are refused at compile time.
#pragma once

#include "base/clock.h"
#include "base/request_context.h"
#include "base/result.h"
#include "base/secret.h"

#include <atomic>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace sluice::obs {

enum class Level : std::uint8_t { kDebug, kInfo, kWarn, kError };

// One member of a line. Text longer than 2,048 bytes is cut. Refers to what it was made from, so it
// lives no longer than the call that it is an argument of. `ts`, `level` and `event` are taken.
struct LogField {
    using Value = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool>;

    LogField(std::string_view n, std::string_view v) : name(n), value(v) {}
    LogField(std::string_view n, const char* v) : name(n), value(std::string_view(v)) {}
    LogField(std::string_view n, const std::string& v) : name(n), value(std::string_view(v)) {}
    LogField(std::string_view n, double v) : name(n), value(v) {}
    LogField(std::string_view n, Millis v) : name(n), value(std::int64_t{v.count()}) {}
    LogField(std::string_view n, const RequestId& id) : name(n), value(id.text()) {}
    // A template, since a plain bool would also take every pointer.
    template <std::same_as<bool> T>
    LogField(std::string_view n, T v) : name(n), value(v) {}
    template <std::signed_integral T>
    LogField(std::string_view n, T v) : name(n), value(static_cast<std::int64_t>(v)) {}
    template <std::unsigned_integral T>
        requires(!std::same_as<T, bool>)
    LogField(std::string_view n, T v) : name(n), value(static_cast<std::uint64_t>(v)) {}
    LogField(std::string_view, const Secret&) = delete;
    LogField(std::string_view, const QueryText&) = delete;

    std::string_view name;
    Value value;
};

using LogFields = std::initializer_list<LogField>;

// Where finished lines go. Thread-safe.
class LogSink {
 public:
    virtual ~LogSink() = default;
    virtual void write(Level level, std::string line) = 0;  // one JSON object, no line break
    // Returns when the lines of before are out, or after a second if they can't be written.
    virtual void flush() = 0;
    // Lines that were given up because the queue was full, since the start.
    virtual std::uint64_t dropped() const { return 0; }
};

// stderr through a queue of 1,024 lines and one background thread. A full queue gives up its oldest
// line. Its destructor writes what is left.
std::unique_ptr<LogSink> make_stderr_sink();

// Thread-safe. One is built in app/wire.cc (or by a test, with a sink that collects).
class Log {
 public:
    Log(const Clock& clock, LogSink& sink, Level lowest);

    void debug(std::string_view event, LogFields fields = {}) const;
    void info(std::string_view event, LogFields fields = {}) const;
    void warn(std::string_view event, LogFields fields = {}) const;
    void error(std::string_view event, LogFields fields = {}) const;

    bool enabled(Level level) const;
    // Lines that the sink gave up so far.
    std::uint64_t dropped() const;
    void set_lowest(Level level);

 private:
    void write(Level level, std::string_view event, LogFields fields) const;

    const Clock& clock_;
    LogSink& sink_;
    std::atomic<Level> lowest_;
};

// Lets at most `burst` lines through per `interval` and then counts, so that an error that repeats
// does not fill a disk. Thread-safe.
class LogLimiter {
 public:
    LogLimiter(int burst, Millis interval);
    // True if a line may be written now; then `suppressed` is how many were held back since the
    // last one that was let through. When false, `suppressed` is left alone.
    bool allow(Instant now, std::uint64_t& suppressed);

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::obs
