#include "surface/common/errors.h"

#include "base/json.h"
#include "surface/common/responses.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

namespace sluice::surface {

namespace {

// In the order of Code; checked below.
constexpr std::array kRows = {
    ErrorRow{Code::kInvalidRequest, 400, "The request is not valid",
             "Read `detail`: it names the field, what was expected and the nearest known name."},
    ErrorRow{Code::kQueryRejected, 400, "A provider refused the query",
             "Change the query or its filters; `detail` has the provider's own words. Nobody else "
             "was asked."},
    ErrorRow{Code::kUnauthenticated, 401, "A valid API token is needed",
             "Send `Authorization: Bearer TOKEN`. An operator makes one with `sluice tokens add`."},
    ErrorRow{Code::kForbidden, 403, "The token may not do this",
             "Use a token with the scope that `detail` names."},
    ErrorRow{Code::kForeignOrigin, 403, "Requests from other web sites are refused",
             "List the host in `server.allowed_hosts` or the origin in `server.cors_origins`, or "
             "send a token."},
    ErrorRow{Code::kNotFound, 404, "There is nothing at this path",
             "`/openapi.json` lists every path."},
    ErrorRow{Code::kMethodNotAllowed, 405, "This path does not take this method",
             "The `Allow` header lists what it takes."},
    ErrorRow{Code::kNotAcceptable, 406, "None of the accepted types can be given",
             "Send `Accept: application/json` or leave the header out."},
    ErrorRow{
        Code::kRequestTimeout, 408, "The request did not arrive in time",
        "Send the whole request within `server.header_timeout_s` and `server.body_timeout_s`."},
    ErrorRow{Code::kPayloadTooLarge, 413, "The request body is too large",
             "The bound is `server.max_body_bytes`."},
    ErrorRow{Code::kUriTooLong, 414, "The request target is too long",
             "The bound is `server.max_target_bytes`; send a POST with a body instead."},
    ErrorRow{Code::kUnsupportedMediaType, 415, "The body must be JSON",
             "Send `Content-Type: application/json`."},
    ErrorRow{Code::kExpectationFailed, 417, "The expectation can't be met",
             "Only `Expect: 100-continue` is known."},
    ErrorRow{Code::kHeadersTooLarge, 431, "The request head is too large",
             "The bound is `server.max_header_bytes`."},
    ErrorRow{Code::kConflict, 409, "The thing is not in a state that allows this",
             "Read its present state first."},
    ErrorRow{Code::kRateLimited, 429, "Too many requests",
             "Wait for `retry_after_ms`. The bounds are `limits.*` and the token's own."},
    ErrorRow{Code::kBudgetExhausted, 402, "The budget for this is used up",
             "Wait until the time that `detail` names, or raise the budget that it names: "
             "`budgets.*` or the token's own. Answers from the cache cost nothing."},
    ErrorRow{Code::kOverloaded, 503, "No room for this request now",
             "Try again after `retry_after_ms`. The bounds are `lanes.*`, `providers.<name>.rate`, "
             "`server.max_connections`, `server.max_buffered_body_bytes` and "
             "`server.max_waiting_answer_bytes`."},
    ErrorRow{Code::kNoUsableKey, 503, "No provider has a usable key",
             "Add a key, or wait until one that rests is back; `/v1/status` counts both kinds."},
    ErrorRow{Code::kUpstreamFailed, 503, "Every provider failed",
             "Ask again with `\"trace\": true` to see each attempt."},
    ErrorRow{
        Code::kTimeout, 504, "An upstream did not answer in time",
        "Ask again. If it stays so, raise `providers.<name>.timeout_s`, or put another provider "
        "before it in `routing.<lane>`."},
    ErrorRow{Code::kDeadlineExceeded, 504, "The deadline passed",
             "Ask again with `\"trace\": true` to see what took the time. The bound is "
             "`lanes.<lane>.deadline_s`; the deep lane has more."},
    ErrorRow{Code::kNotCached, 504, "The answer is not in the cache",
             "The request said `cache: only`; leave that out to ask the providers."},
    ErrorRow{Code::kCancelled, 499, "The client left", "Nobody reads this answer."},
    ErrorRow{Code::kUnavailable, 503, "A part of the service is away",
             "`detail` names the part. Try again after `retry_after_ms`; an operator finds it in "
             "the log "
             "and by `sluice doctor`."},
    ErrorRow{Code::kVersionNotSupported, 505, "This HTTP version is not spoken here",
             "Use HTTP/1.1 or HTTP/1.0."},
    ErrorRow{Code::kInternal, 500, "Something went wrong here",
             "Look for `request_id` in the log, and report the line. Asking again may do."},
};

constexpr bool in_order() {
    for (std::size_t i = 0; i < kRows.size(); ++i) {
        if (static_cast<std::size_t>(kRows[i].code) != i) {
            return false;
        }
    }
    return kRows.size() == static_cast<std::size_t>(Code::kInternal) + 1;
}
static_assert(in_order(), "kRows has one row per Code, in the order of the enumeration");

}  // namespace

const ErrorRow& error_row(Code code) {
    return kRows[static_cast<std::size_t>(code)];
}

std::span<const ErrorRow> all_error_rows() {
    return kRows;
}

void append_retry_after(std::string& headers, const Error& error) {
    if (error.retry_after) {
        const auto wait = std::chrono::ceil<std::chrono::seconds>(*error.retry_after).count();
        headers += "Retry-After: " + std::to_string(std::max<std::int64_t>(wait, 1)) + "\r\n";
    }
}

io::HttpResponse problem(const Error& error, const RequestId& id, std::string_view extra) {
    const ErrorRow& row = error_row(error.code);
    io::HttpResponse response;
    response.status = row.status;
    response.headers = "Content-Type: application/problem+json\r\n";
    response.headers += kPrivateHeaders;
    if (error.code == Code::kUnauthenticated) {
        response.headers += "WWW-Authenticate: Bearer realm=\"sluice\"\r\n";
    }
    JsonWriter json(response.lead);
    json.begin_object();
    json.field("type", "urn:sluice:error:" + std::string(to_string(error.code)));
    json.field("title", row.title);
    json.field("status", row.status);
    json.field("detail", error.message);
    json.field("code", to_string(error.code));
    json.field("request_id", id.text());
    json.field("blame", to_string(error.blame));
    if (error.retry_after) {
        json.field("retry_after_ms", std::max<std::int64_t>(error.retry_after->count(), 0));
        append_retry_after(response.headers, error);
    }
    json.end_object();
    if (!extra.empty()) {
        response.lead.insert(response.lead.size() - 1, extra);
    }
    response.lead += '\n';
    return response;
}

std::string describe_errors() {
    std::string text =
        "# Errors\n\nEvery error of the native API is `application/problem+json` (RFC 9457): "
        "`type`, "
        "`title`, `status`, `detail`, `code`, `request_id`, `blame` and, where it is known, "
        "`retry_after_ms`. `blame` says who has to change something: `caller`, `key`, `provider`, "
        "`gateway` or `tenant`.\n\n| code | status | title | what to do |\n|---|---|---|---|\n";
    for (const ErrorRow& row : kRows) {
        text.append("| `").append(to_string(row.code)).append("` | ");
        text.append(std::to_string(row.status)).append(" | ").append(row.title).append(" | ");
        text.append(row.help).append(" |\n");
    }
    return text;
}

}  // namespace sluice::surface
