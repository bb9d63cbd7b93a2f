#include "surface/common/title_answers.h"

#include "surface/common/query_string.h"
#include "surface/common/responses.h"

#include <algorithm>
#include <string_view>

namespace sluice::surface {

namespace {

using titles::QueryVerdict;
using titles::TitleOutcome;

Error rejected(QueryVerdict verdict) {
    switch (verdict) {
        case QueryVerdict::kInvalid:
            return invalid_request("q: expected UTF-8 without NUL");
        case QueryVerdict::kTooLong:
            return invalid_request("q: expected at most " +
                                   std::to_string(titles::kMaxQueryCodePoints) + " characters");
        case QueryVerdict::kTooShort:
            return invalid_request("q: expected at least " +
                                   std::to_string(titles::kMinQueryCodePoints) + " characters");
        case QueryVerdict::kBlank:
        case QueryVerdict::kUsable:
            break;
    }
    return invalid_request("q: expected what to search for");
}

}  // namespace

titles::TitleRequest title_request(const io::HttpRequest& request, titles::BudgetKind kind) {
    titles::TitleRequest search;
    search.http = &request;
    search.typed = first_field(request.query, "q");
    search.kind = kind;
    return search;
}

std::optional<Error> error_of(const titles::TitleAnswer& answer) {
    const std::optional<Millis> wait =
        answer.retry_after.count() > 0 ? std::optional<Millis>(answer.retry_after) : std::nullopt;
    switch (answer.outcome) {
        case TitleOutcome::kFound:
            return std::nullopt;
        case TitleOutcome::kRejected:
            return rejected(answer.query.verdict);
        case TitleOutcome::kLimited:
            return Error{Code::kRateLimited, Blame::kCaller,
                         "too many title searches in this window", wait};
        case TitleOutcome::kUnavailable:
            return Error{Code::kUnavailable, Blame::kGateway, "the pages can't be searched now",
                         wait};
        case TitleOutcome::kBusy:
            return Error{Code::kOverloaded, Blame::kGateway,
                         "as many titles are searched as titles.concurrency allows", wait};
        case TitleOutcome::kLeft:
            return Error{Code::kCancelled, Blame::kCaller, "the caller left", {}};
        case TitleOutcome::kFailed:
            break;
    }
    return Error{Code::kInternal, Blame::kGateway, "the search broke", {}};
}

void append_rate_limit(std::string& headers, const titles::TitleAnswer& answer) {
    if (!answer.budget) {
        return;
    }
    std::string policy;
    std::string limit;
    for (std::size_t i = 0; i < titles::kBudgetWindows; ++i) {
        const auto& state = answer.budget->windows[i];
        if (!state) {
            continue;
        }
        const auto window = static_cast<titles::BudgetWindow>(i);
        const std::string name =
            (policy.empty() ? "\"" : ", \"") + std::string(to_string(window)) + "\"";
        policy += name + ";q=" + std::to_string(state->limit) +
                  ";w=" + std::to_string(length_of(window).count());
        limit += name +
                 ";r=" + std::to_string(std::max<std::int64_t>(state->limit - state->count, 0)) +
                 ";t=" + std::to_string(state->resets_in.count());
    }
    if (!policy.empty()) {
        headers += "RateLimit-Policy: " + policy + "\r\nRateLimit: " + limit + "\r\n";
    }
}

}  // namespace sluice::surface
