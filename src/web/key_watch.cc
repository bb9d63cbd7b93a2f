#include "web/key_watch.h"

#include "web/metrics.h"

#include <array>
#include <utility>

namespace sluice::web {

namespace {

constexpr std::array<std::string_view, 6> kStatuses = {"available",   "cooling",   "exhausted",
                                                       "quarantined", "saturated", "disabled"};

std::array<std::uint32_t, kStatuses.size()> by_status(const KeyCounts& counts) {
    return {counts.available,   counts.cooling,   counts.exhausted,
            counts.quarantined, counts.saturated, counts.disabled};
}

}  // namespace

KeyWatch::KeyWatch(KeyStore& store, KeyPool& pool, Clock& clock, const obs::Log& log,
                   obs::Metrics& metrics)
    : store_(store),
      pool_(pool),
      clock_(clock),
      log_(log),
      metrics_(metrics),
      failures_(metrics.counter(kKeyStoreFailures)),
      failure_lines_(1, Millis{60'000}) {}

Task<Status> KeyWatch::refresh() {
    for (;;) {
        CO_TRY(const StoreRevision revision, co_await store_.revision());
        const std::optional<StoreRevision> known = loaded_revision_;
        if (known == revision) {
            co_return Status();
        }
        CO_TRY(const KeySet set, co_await store_.load(known.value_or(StoreRevision())));
        // Another refresh was quicker: what this one read is not what changed since then, and may
        // be older. Numbers can't tell, since a database may have gone back.
        if (loaded_revision_ != known) {
            continue;
        }
        loaded_revision_ = set.revision;
        pool_.apply(set);
        publish_counts();
        co_return Status();
    }
}

Task<void> KeyWatch::catch_up() {
    const Status status = co_await refresh();
    if (!status.ok()) {
        note(status);
    }
}

Task<void> KeyWatch::run() {
    for (;;) {
        co_await bell_.wait_until(clock_, clock_.now() + kKeyPollInterval);
        Status status = co_await refresh();
        if (status.ok() && pool_.usage_writer() != nullptr) {
            status = co_await pool_.usage_writer()->save();
        }
        note(status);
        publish_counts();
    }
}

void KeyWatch::changed() {
    bell_.ring();
}

void KeyWatch::note(const Status& status) {
    if (!status.ok() && status.error().code == Code::kCancelled) {
        return;
    }
    if (status.ok() != store_answers_) {
        store_answers_ = status.ok();
        if (status.ok()) {
            log_.info("key_store_back");
        }
    }
    if (status.ok()) {
        return;
    }
    failures_.add();
    std::uint64_t suppressed = 0;
    if (failure_lines_.allow(clock_.now(), suppressed)) {
        log_.warn("key_store_failed", {{"code", to_string(status.error().code)},
                                       {"reason", status.error().message},
                                       {"suppressed", suppressed}});
    }
}

void KeyWatch::publish_counts() {
    const std::map<std::string, KeyCounts> counts = pool_.counts();
    for (const auto& [provider, unused] : counts) {
        Gauges& gauges = gauges_[provider];
        if (gauges.by_status.empty()) {
            for (const std::string_view status : kStatuses) {
                gauges.by_status.push_back(metrics_.gauge(kKeys, {provider, std::string(status)}));
            }
            gauges.in_flight = metrics_.gauge(kKeyCalls, {provider});
        }
    }
    for (const auto& [provider, gauges] : gauges_) {
        const auto found = counts.find(provider);
        const KeyCounts now = found == counts.end() ? KeyCounts{} : found->second;
        const auto values = by_status(now);
        for (std::size_t i = 0; i < values.size(); ++i) {
            gauges.by_status[i].set(values[i]);
        }
        gauges.in_flight.set(now.in_flight);
    }
}

}  // namespace sluice::web
