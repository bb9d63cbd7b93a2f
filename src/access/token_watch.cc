#include "access/token_watch.h"

#include "access/metrics.h"

#include <utility>

namespace sluice::access {

TokenWatch::TokenWatch(TokenStore& store, TokenTable& table, Clock& clock, const obs::Log& log,
                       obs::Metrics& metrics)
    : store_(store),
      table_(table),
      clock_(clock),
      log_(log),
      active_(metrics.gauge(kTokens)),
      failures_(metrics.counter(kTokenRefreshFailures)),
      failure_lines_(1, Millis{60'000}) {}

Task<Status> TokenWatch::refresh() {
    for (;;) {
        CO_TRY(const StoreRevision revision, co_await store_.revision());
        const std::optional<StoreRevision> known = loaded_revision_;
        if (known == revision) {
            co_return Status();
        }
        CO_TRY(auto set, co_await store_.load());
        // Another refresh was quicker, and what this one read may be older. Numbers can't tell,
        // since a database may have gone back.
        if (loaded_revision_ != known) {
            continue;
        }
        loaded_revision_ = std::move(set.revision);
        table_.reload(std::move(set.tokens));
        active_.set(static_cast<double>(table_.active()));
        co_return Status();
    }
}

Task<void> TokenWatch::run() {
    for (;;) {
        co_await bell_.wait_until(clock_, clock_.now() + kTokenPollInterval);
        const Status refreshed = co_await refresh();
        if (refreshed.ok() || refreshed.error().code == Code::kCancelled) {
            continue;
        }
        failures_.add();
        std::uint64_t suppressed = 0;
        if (failure_lines_.allow(clock_.now(), suppressed)) {
            log_.warn("token_refresh_failed", {{"code", to_string(refreshed.error().code)},
                                               {"reason", refreshed.error().message},
                                               {"suppressed", suppressed}});
        }
    }
}

void TokenWatch::changed() {
    bell_.ring();
}

Task<Result<std::optional<Secret>>> ensure_admin_token(TokenStore& store) {
    NewToken admin;
    admin.label = "first start";
    admin.scopes = {Scope::kAdmin};
    CO_TRY(auto issued, co_await store.add_first(std::move(admin)));
    if (!issued) {
        co_return std::optional<Secret>();
    }
    co_return std::optional<Secret>(std::move(issued->token));
}

}  // namespace sluice::access
