#include "io/http_server_core.h"

#include "io/http_server_metrics.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::io {

namespace {

// As labels, in the order of their numbers.
constexpr std::array<const char*, 5> kStatusClasses = {"1xx", "2xx", "3xx", "4xx", "5xx"};

constexpr std::size_t kSmallAnswer = std::size_t{64} * 1024;  // is always given
constexpr Millis kRoomRetry{1'000};

void add_and_clear(const obs::Counter& total, std::uint64_t& count) {
    if (count > 0) {
        total.add(static_cast<double>(count));
        count = 0;
    }
}

}  // namespace

void Workspace::reset() {
    input.reset();
    task.reset();
    answers.reset();
}

std::unique_ptr<Workspace> WorkspacePool::borrow(std::size_t max_header_bytes) {
    while (!kept_.empty()) {
        std::unique_ptr<Workspace> workspace = std::move(kept_.back());
        kept_.pop_back();
        if (workspace->input.max_header_bytes() == max_header_bytes) {
            return workspace;
        }
    }
    return std::make_unique<Workspace>(max_header_bytes);
}

void WorkspacePool::give_back(std::unique_ptr<Workspace> workspace) {
    if (kept_.size() < kMaxKept) {
        workspace->reset();
        kept_.push_back(std::move(workspace));
    }
}

ServerCounters::ServerCounters(obs::Metrics& metrics)
    : metrics_(metrics),
      seconds_(kHttpRequestSeconds.buckets.size() + 1),
      histogram_(metrics.histogram(kHttpRequestSeconds)),
      cancelled_total_(metrics.counter(kHttpCancelled)),
      failed_total_(metrics.counter(kHttpFailed)),
      accepted_total_(metrics.counter(kHttpAccepted)),
      accept_failed_total_(metrics.counter(kHttpAcceptFailed)),
      turned_away_total_(metrics.counter(kHttpTurnedAway)),
      unread_dropped_total_(metrics.counter(kHttpUnread, {"dropped"})),
      unread_refused_total_(metrics.counter(kHttpUnread, {"refused"})) {}

void ServerCounters::answered(Method method, int status, Duration took) {
    const auto status_class = static_cast<std::size_t>(std::clamp(status / 100, 1, 5) - 1);
    requests_[static_cast<std::size_t>(method)][status_class] += 1;
    const double seconds = std::chrono::duration<double>(took).count();
    const std::vector<double>& bounds = kHttpRequestSeconds.buckets;
    const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), seconds) - bounds.begin();
    seconds_[static_cast<std::size_t>(bucket)] += 1;
    seconds_sum_ += seconds;
}

void ServerCounters::refused(Code reason) {
    const auto index = static_cast<std::size_t>(reason);
    SLUICE_ASSERT(index < refused_.size());
    refused_[index] += 1;
}

void ServerCounters::flush() {
    bool any = false;
    for (std::size_t method = 0; method < kMethods; ++method) {
        for (std::size_t status_class = 0; status_class < kClasses; ++status_class) {
            std::uint64_t& count = requests_[method][status_class];
            if (count > 0) {
                any = true;
                add_and_clear(metrics_.counter(kHttpRequests,
                                               {std::string(to_string(static_cast<Method>(method))),
                                                kStatusClasses[status_class]}),
                              count);
            }
        }
    }
    if (any) {
        histogram_.observe_counted(seconds_, seconds_sum_);
        std::fill(seconds_.begin(), seconds_.end(), 0.0);
        seconds_sum_ = 0;
    }
    for (std::size_t code = 0; code < refused_.size(); ++code) {
        if (refused_[code] > 0) {
            const std::string_view reason = to_string(static_cast<Code>(code));
            add_and_clear(metrics_.counter(kHttpRefused, {std::string(reason)}), refused_[code]);
        }
    }
    add_and_clear(cancelled_total_, cancelled_);
    add_and_clear(failed_total_, failed_);
    add_and_clear(accepted_total_, accepted_);
    add_and_clear(accept_failed_total_, accept_failed_);
    add_and_clear(turned_away_total_, turned_away_);
    add_and_clear(unread_dropped_total_, unread_dropped_);
    add_and_clear(unread_refused_total_, unread_refused_);
}

std::optional<Error> ServerCore::refuse_for_room(const HttpResponse& answer,
                                                 const HttpRequest& request) {
    if (has_room_for_answers() || answer.was_paid || request.method == Method::kHead ||
        request.over_unix_socket) {
        return std::nullopt;
    }
    const std::size_t own = answer.lead.size() + answer.tail.size();
    const bool adds_body = answer.body && !shared.waiting.holds(*answer.body);
    if (own + (adds_body ? answer.body->size() : 0) <= kSmallAnswer) {
        return std::nullopt;
    }
    counters.unread_refused();
    return Error{Code::kOverloaded, Blame::kGateway,
                 "too many answers wait for clients that do not read them", kRoomRetry};
}

}  // namespace sluice::io
