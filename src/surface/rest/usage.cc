#include "surface/rest/usage.h"

#include "base/json.h"
#include "base/text.h"
#include "surface/common/errors.h"
#include "surface/common/query_string.h"
#include "surface/common/responses.h"
#include "surface/rest/spend_json.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::surface {

namespace {

using access::Purse;
using access::UsageQuery;

constexpr std::array<std::string_view, 6> kFields = {"by",       "since", "until",
                                                     "provider", "token", "key"};
constexpr std::array<std::string_view, 4> kGroups = {"provider", "token", "key", "day"};
constexpr std::size_t kMaxIdBytes = 100;

Error invalid(std::string message) {
    return {Code::kInvalidRequest, Blame::kCaller, std::move(message), {}};
}

std::optional<Purse> purse_of(std::string_view word) {
    for (const Purse purse : {Purse::kProvider, Purse::kToken, Purse::kKey}) {
        if (to_string(purse) == word) {
            return purse;
        }
    }
    return std::nullopt;
}

Status set_day(std::string_view field, std::string_view text, UtcDay& day) {
    const auto parsed = parse_day(text);
    if (!parsed) {
        return invalid(std::string(field) + ": expected a day such as 2026-11-30");
    }
    day = *parsed;
    return {};
}

Status set_group(std::string_view text, UsageRequest& request) {
    if (std::find(kGroups.begin(), kGroups.end(), text) == kGroups.end()) {
        return invalid("by: expected one of provider, token, key, day");
    }
    request.by = text;
    return {};
}

Status set_account(Purse purse, std::string id, UsageRequest& request) {
    if (request.query.id) {
        return invalid("provider, token and key: one of them is enough");
    }
    if (id.empty() || id.size() > kMaxIdBytes) {
        return invalid(std::string(to_string(purse)) + ": expected a name or an id");
    }
    request.query.purse = purse;
    request.query.id = std::move(id);
    return {};
}

Status set_field(const std::string& name, std::string text, UsageRequest& request) {
    if (name == "by") {
        return set_group(text, request);
    }
    if (name == "since") {
        return set_day(name, text, request.query.since);
    }
    if (name == "until") {
        return set_day(name, text, request.query.until);
    }
    if (const auto purse = purse_of(name)) {
        return set_account(*purse, std::move(text), request);
    }
    std::string message = "unknown field " + shown_name(name);
    if (const auto guess = nearest(name, {kFields.begin(), kFields.end()})) {
        message += "; did you mean '" + std::string(*guess) + "'?";
    }
    return invalid(std::move(message));
}

// Whoever is no admin sees what the own token spent.
Status narrow_to_own(const access::Caller& caller, UsageRequest& request) {
    const Error refused{Code::kForbidden, Blame::kCaller,
                        "what others spent needs a token with the scope admin; without one ask "
                        "by day or by token, with a token of your own",
                        std::nullopt};
    if (caller.token_id.empty()) {
        return refused;
    }
    request.by = request.by.empty() ? "day" : request.by;
    const bool asks_own = !request.query.id || (request.query.purse == Purse::kToken &&
                                                *request.query.id == caller.token_id);
    if (!asks_own || (request.by != "day" && request.by != "token")) {
        return refused;
    }
    request.query.purse = Purse::kToken;
    request.query.id = caller.token_id;
    return {};
}

void write_row(JsonWriter& json, const access::UsageRow& row) {
    json.begin_object();
    if (row.day) {
        json.field("day", format_day(*row.day));
    } else {
        json.field(to_string(row.account.purse), row.account.id);
    }
    if (row.account.purse == Purse::kKey && !row.account.provider.empty()) {
        json.field("provider", row.account.provider);
    }
    write_spent(json, row.spent);
    json.end_object();
}

}  // namespace

Result<UsageRequest> parse_usage_query(std::string_view query, UtcDay today) {
    UsageRequest request;
    request.query.since = today - (kUsageDays - std::chrono::days(1));
    request.query.until = today;
    std::vector<std::string> seen;
    TRY(std::vector<QueryField> fields, read_query_string(query));
    for (auto& [name, text] : fields) {
        if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
            return invalid(name + ": given twice");
        }
        TRY_STATUS(set_field(name, std::move(text), request));
        seen.push_back(std::move(name));
    }
    return request;
}

Status complete_usage(UsageRequest& request) {
    request.by = request.by.empty() ? "provider" : request.by;
    UsageQuery& query = request.query;
    if (query.since > query.until) {
        return invalid("since: expected a day that is not after until");
    }
    if (request.by == "day") {
        query.group = UsageQuery::Group::kDay;
        query.purse = query.id ? query.purse : Purse::kGateway;
        return {};
    }
    if (query.id && to_string(query.purse) != request.by) {
        return invalid("by: a report of one account is by day, or by what it is");
    }
    query.group = UsageQuery::Group::kAccount;
    query.purse = *purse_of(request.by);
    return {};
}

std::string render_usage(const UsageRequest& request, const access::Usage& usage) {
    std::string body;
    JsonWriter json(body);
    json.begin_object().field("object", "usage").field("by", request.by);
    json.field("since", format_day(request.query.since));
    json.field("until", format_day(request.query.until));
    json.key("rows").begin_array();
    for (const access::UsageRow& row : usage.rows) {
        write_row(json, row);
    }
    json.end_array();
    json.key("sum").begin_object();
    write_spent(json, usage.sum);
    json.end_object();
    json.field("truncated", usage.truncated).end_object();
    return body;
}

UsageDoor::UsageDoor(access::Budgets& budgets, access::Access& access, const Clock& clock)
    : budgets_(budgets), access_(access), clock_(clock) {}

io::HttpReply UsageDoor::get(const io::HttpRequest& request) {
    const RequestId& id = request.context.id;
    auto caller = access_.admit(access_.credentials_of(request), access::Scope::kSearch);
    if (!caller.ok()) {
        return problem(caller.error(), id);
    }
    Result<UsageRequest> parsed = parse_usage_query(request.query, utc_day(clock_.wall_now()));
    if (!parsed.ok()) {
        return problem(parsed.error(), id);
    }
    if (!caller->scopes.allows(access::Scope::kAdmin)) {
        if (const Status own = narrow_to_own(*caller, *parsed); !own.ok()) {
            return problem(own.error(), id);
        }
    }
    if (const Status whole = complete_usage(*parsed); !whole.ok()) {
        return problem(whole.error(), id);
    }
    return report(*std::move(parsed), id);
}

Task<io::HttpResponse> UsageDoor::report(UsageRequest request, RequestId id) {
    const Result<access::Usage> usage = co_await budgets_.usage(request.query);
    if (!usage.ok()) {
        co_return problem(usage.error(), id);
    }
    co_return json_response(render_usage(request, *usage));
}

}  // namespace sluice::surface
