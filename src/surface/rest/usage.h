// The door to what was spent: /v1/usage. An admin sees everything, a token what it spent itself.
#pragma once

#include "access/access.h"
#include "access/budget.h"
#include "access/spend_store.h"
#include "base/calendar.h"
#include "base/clock.h"
#include "base/request_context.h"
#include "base/result.h"
#include "base/task.h"
#include "io/http_message.h"

#include <chrono>
#include <string>
#include <string_view>

namespace sluice::surface {

// Days of a report that names none, the present one included.
inline constexpr std::chrono::days kUsageDays{30};

// What a report is asked for by: "provider", "token", "key" or "day".
struct UsageRequest {
    std::string by = {};  // empty: "provider" for an admin, else "day"
    access::UsageQuery query;
};

// The fields by, since, until (days such as 2026-11-30, both included) and one of provider, token
// and key, which narrows a report by day to that account. kInvalidRequest names the field.
Result<UsageRequest> parse_usage_query(std::string_view query, UtcDay today);

// What the fields mean together: `by` is filled, and the query is as the store takes it.
// kInvalidRequest when they do not go together.
Status complete_usage(UsageRequest& request);

// The answer: {"object": "usage", "by", "since", "until", "rows": [...], "sum": {...},
// "truncated"}.
std::string render_usage(const UsageRequest& request, const access::Usage& usage);

// Any thread.
class UsageDoor {
 public:
    // References outlive it.
    UsageDoor(access::Budgets& budgets, access::Access& access, const Clock& clock);

    // 403 for a token that asks for what others spent; 503 when spending can't be written down, and
    // so would not be complete.
    io::HttpReply get(const io::HttpRequest& request);

 private:
    Task<io::HttpResponse> report(UsageRequest request, RequestId id);

    access::Budgets& budgets_;
    access::Access& access_;
    const Clock& clock_;
};

}  // namespace sluice::surface
