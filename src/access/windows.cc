#include "access/windows.h"

#include "base/random.h"
#include "guard/window_table.h"

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace sluice::access {

namespace {

Error full(std::string_view whose, const guard::WindowVerdict& verdict, WallTime now) {
    return Error{Code::kRateLimited, Blame::kCaller,
                 std::string(whose) + " has made all the requests of this minute that it may make",
                 std::chrono::ceil<Millis>(verdict.reset_at - now)};
}

guard::WindowTableOptions table_options() {
    guard::WindowTableOptions options;
    options.length = RequestWindows::kWindow;
    options.max_keys = RequestWindows::kMaxWindows;
    return options;
}

// Counts by key that wait to be taken.
class Kept {
 public:
    using Of = RequestWindows::Count::Of;

    // True when nothing else is kept.
    bool add(const WindowRequest& request, bool token, bool client) {
        const std::lock_guard lock(mutex_);
        const bool is_first = tokens_.empty() && clients_.empty();
        if (token) {
            add(tokens_, request.token_id);
        }
        if (client) {
            add(clients_, request.client);
        }
        return is_first;
    }
    std::vector<RequestWindows::Count> take() {
        ByKey tokens;
        ByKey clients;
        {
            const std::lock_guard lock(mutex_);
            std::swap(tokens, tokens_);
            std::swap(clients, clients_);
        }
        std::vector<RequestWindows::Count> counts;
        counts.reserve(tokens.size() + clients.size());
        for (const auto& [key, requests] : tokens) {
            counts.push_back({Of::kToken, key, requests});
        }
        for (const auto& [key, requests] : clients) {
            counts.push_back({Of::kClient, key, requests});
        }
        return counts;
    }

 private:
    using ByKey = std::map<std::string, std::int64_t, std::less<>>;

    // Past the bound a key counts here alone.
    static void add(ByKey& counts, std::string_view key) {
        const auto found = counts.find(key);
        if (found != counts.end()) {
            found->second += 1;
        } else if (counts.size() < RequestWindows::kMaxWindows) {
            counts.emplace(key, 1);
        }
    }

    std::mutex mutex_;
    ByKey tokens_;
    ByKey clients_;
};

}  // namespace

struct RequestWindows::Impl {
    // The tables only hash with it. No decision depends on it, so there is nothing to replay.
    SystemRandom random;
    guard::WindowTable tokens{table_options(), random};
    guard::WindowTable clients{table_options(), random};
    Kept kept;
    std::function<void()> notice;  // empty: nothing is kept
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
    const bool counts_client = request.client_limit > 0;
    if (impl_->notice && (counts_token || counts_client) &&
        impl_->kept.add(request, counts_token, counts_client)) {
        impl_->notice();
    }
    return {};
}

void RequestWindows::keep_counts(std::function<void()> notice) {
    impl_->notice = std::move(notice);
}

std::vector<RequestWindows::Count> RequestWindows::take_counts() {
    return impl_->kept.take();
}

void RequestWindows::raise(const Count& total, WallTime now) {
    guard::WindowTable& table = total.of == Count::Of::kToken ? impl_->tokens : impl_->clients;
    table.raise(total.key, total.requests, now);
}

}  // namespace sluice::access
