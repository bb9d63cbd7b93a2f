#include "web/key_usage_writer.h"

#include "base/exception.h"
#include "web/metrics.h"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

namespace sluice::web {

namespace {

constexpr Millis kLossLoggedEvery{60'000};

}  // namespace

KeyUsageWriter::KeyUsageWriter(Executor control, KeyRuntime& runtime, KeyStore& store, Clock& clock,
                               const obs::Log& log, obs::Metrics& metrics)
    : control_(control),
      runtime_(runtime),
      store_(store),
      clock_(clock),
      log_(log),
      lost_(metrics.gauge(kKeyUsageLost)),
      lost_lines_(1, kLossLoggedEvery),
      tasks_(control, [this](const std::exception_ptr& error) {
          has_writer_ = false;
          runtime_.end_usage_write(false);
          waiting_.tell(guard::WriteWaiters::kEveryWrite, false);
          log_.error("key_usage_writer_failed", {{"exception", exception_type(error)}});
      }) {}

KeyUsageWriter::~KeyUsageWriter() = default;

// Which write does it.
std::uint64_t KeyUsageWriter::ask_for(UsageWrite what) {
    wanted_ = std::max(wanted_.value_or(what), what);
    if (!has_writer_) {
        has_writer_ = tasks_.spawn(write_until_done());
    }
    return writes_ + 1;
}

Task<guard::WriteEnd> KeyUsageWriter::cover(Instant deadline) {
    if (is_lost_) {
        co_return guard::WriteEnd::kLost;
    }
    const std::uint64_t write = ask_for(UsageWrite::kUrgent);
    const Instant enough = clock_.now() + guard::kMaxWriteWait;
    const guard::WriteEnd end = co_await waiting_.wait(clock_, write, enough, deadline);
    if (end == guard::WriteEnd::kLost) {
        lose("a write takes too long");
    }
    co_return end;
}

// Once for all who wait for the same write.
void KeyUsageWriter::lose(std::string_view reason) {
    if (std::exchange(is_lost_, true)) {
        return;
    }
    lost_.set(1);
    std::uint64_t suppressed = 0;
    is_said_ = lost_lines_.allow(clock_.now(), suppressed);
    if (is_said_) {
        log_.warn("key_usage_lost", {{"reason", reason}, {"suppressed", suppressed}});
    }
}

void KeyUsageWriter::find() {
    if (!std::exchange(is_lost_, false)) {
        return;
    }
    lost_.set(0);
    if (is_said_) {
        log_.info("key_usage_back");
    }
}

Task<Status> KeyUsageWriter::save() {
    const std::uint64_t write = ask_for(UsageWrite::kDue);
    co_await waiting_.wait(clock_, write, Instant::max(), Instant::max());
    co_return last_;
}

Task<void> KeyUsageWriter::write_until_done() {
    // Not in the middle of what changes the counts, nor before whoever asked waits.
    co_await boost::asio::post(use_task);
    while (wanted_) {
        const UsageWrite what = *std::exchange(wanted_, std::nullopt);
        const std::uint64_t number = ++writes_;
        std::vector<KeyUsage> rows = runtime_.begin_usage_write(what);
        Status status;
        if (!rows.empty()) {
            status = co_await store_.save_usage(std::move(rows));
        }
        runtime_.end_usage_write(status.ok());
        if (status.ok()) {
            find();
        } else {
            lose(status.error().message);
        }
        waiting_.tell(number, status.ok());
        last_ = std::move(status);
    }
    has_writer_ = false;
}

Task<Status> KeyUsageWriter::stop() {
    ask_for(UsageWrite::kExact);
    tasks_.close();
    co_await tasks_.join();
    co_return last_;
}

}  // namespace sluice::web
