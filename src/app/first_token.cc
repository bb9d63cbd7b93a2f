#include "app/first_token.h"

#include <utility>

namespace sluice::app {

Task<Status> FirstToken::make(access::TokenStore& store, access::TokenWatch& watch) {
    if (!is_needed_) {
        co_return Status();
    }
    CO_TRY(auto made, co_await access::ensure_admin_token(store));
    if (made) {
        const std::lock_guard lock(mutex_);
        token_ = std::move(made);
    }
    co_return co_await watch.refresh();
}

std::optional<Secret> FirstToken::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(token_, {});
}

}  // namespace sluice::app
