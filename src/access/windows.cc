#include "access/windows.h"

#include "base/random.h"
#include "guard/window_table.h"

#include <chrono>
#include <string>

namespace sluice::access {

namespace {

constexpr Duration kWindow = std::chrono::minutes(1);

Error full(std::string_view whose, const guard::WindowVerdict& verdict, WallTime now) {
    return Error{Code::kRateLimited, Blame::kCaller,
                 std::string(whose) + " has made all the requests of this minute that it may make",
                 std::chrono::ceil<Millis>(verdict.reset_at - now)};
}

guard::WindowTableOptions table_options() {
    guard::WindowTableOptions options;
    options.length = kWindow;
    options.max_keys = RequestWindows::kMaxWindows;
    return options;
}

}  // namespace

struct RequestWindows::Impl {
    // The tables only hash with it. No decision depends on it, so there is nothing to replay.
    SystemRandom random;
    guard::WindowTable tokens{table_options(), random};
    guard::WindowTable clients{table_options(), random};
};

RequestWindows::RequestWindows() : impl_(std::make_unique<Impl>()) {}
RequestWindows::~RequestWindows() = default;

Status RequestWindows::take(const WindowRequest& request, WallTime now) {
    const bool counts_token = !request.token_id.empty() && request.token_limit > 0;
    if (counts_token) {
        const auto verdict = impl_->tokens.take(request.token_id, request.token_limit, now);
        if (!verdict.allowed) {
            return full("the token", verdict, now);
        }
    }
    if (request.client_limit > 0) {
        const auto verdict = impl_->clients.take(request.client, request.client_limit, now);
        if (!verdict.allowed) {
            if (counts_token) {
                impl_->tokens.give_back(request.token_id, now);
            }
            return full("the client's address", verdict, now);
        }
    }
    return {};
}

}  // namespace sluice::access
