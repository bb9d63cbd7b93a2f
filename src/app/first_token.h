// The admin token that a first start makes where others than this machine reach the gateway:
// somebody has to have one before anybody can make one.
#pragma once

#include "access/token_store.h"
#include "access/token_watch.h"
#include "base/result.h"
#include "base/secret.h"
#include "base/task.h"

#include <mutex>
#include <optional>

namespace sluice::app {

class FirstToken {
 public:
    // `is_needed`: others reach it.
    explicit FirstToken(bool is_needed) : is_needed_(is_needed) {}

    // Makes one where it is needed and there is none; it is in force when this returns. Errors are
    // those of the store.
    Task<Status> make(access::TokenStore& store, access::TokenWatch& watch);
    // What was made, once. Any thread.
    std::optional<Secret> take();

 private:
    const bool is_needed_;
    std::mutex mutex_;
    std::optional<Secret> token_;
};

}  // namespace sluice::app
