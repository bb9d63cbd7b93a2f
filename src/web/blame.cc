#include "web/blame.h"

#include "base/text.h"
#include "guard/retry_after.h"
#include "web/detail.h"
#include "web/plain_text.h"

#include <string>
#include <string_view>
#include <utility>

namespace sluice::web {
namespace {

enum class BodyKind : std::uint8_t { kJson, kEmpty, kMarkup, kOther };

struct Body {
    BodyKind kind = BodyKind::kEmpty;
    std::optional<JsonValue> json = {};  // an object or an array, with kJson
};

bool is_success(int status) {
    return status >= 200 && status < 300;
}
bool is_redirect(int status) {
    return status >= 300 && status < 400;
}
bool is_client_error(int status) {
    return status >= 400 && status < 500;
}

// The content type is asked last: services send JSON as text/html and pages as application/json.
Body read_body(const io::ClientResponse& response, JsonReader& reader) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    std::string_view text = response.body;
    if (text.starts_with(kByteOrderMark)) {
        text.remove_prefix(kByteOrderMark.size());
    }
    text = trim(text);
    if (text.empty()) {
        return {BodyKind::kEmpty};
    }
    if (text.starts_with('{') || text.starts_with('[')) {
        if (auto parsed = reader.parse(text)) {
            return {BodyKind::kJson, *parsed};
        }
        return {BodyKind::kOther};
    }
    const bool says_html = contains_ignoring_case(response.header("content-type"), "html");
    return {says_html || text.starts_with('<') ? BodyKind::kMarkup : BodyKind::kOther};
}

// No provider of JSON answers so; a proxy, a firewall or a wrong host in its place does.
bool is_from_something_in_front(BodyKind body) {
    return body == BodyKind::kEmpty || body == BodyKind::kMarkup;
}

Verdict generic_verdict(int status, BodyKind body) {
    switch (status) {
        case 429:
            return {Effect::kCool, Outcome::kRateLimited};
        case 407:
            return {Effect::kProvider, Outcome::kConnectError};
        case 408:
        case 425:
        case 499:
            return {Effect::kProvider, Outcome::kServerError};
        default:
            break;
    }
    if (is_client_error(status) && is_from_something_in_front(body)) {
        return {Effect::kProvider, Outcome::kBlocked};
    }
    if (status == 401 || status == 403) {
        return {Effect::kQuarantine, Outcome::kAuthFailed};
    }
    if (status == 402) {
        return {Effect::kExhaust, Outcome::kQuotaExhausted};
    }
    if ((status == 400 || status == 422) && body == BodyKind::kJson) {
        return {Effect::kCaller, Outcome::kBadRequest};
    }
    return {Effect::kProvider, Outcome::kServerError};
}

Verdict unreadable_success(BodyKind body) {
    if (body == BodyKind::kMarkup) {  // a challenge or login page
        return {Effect::kProvider, Outcome::kBlocked};
    }
    return {Effect::kProvider, Outcome::kUnparseable};
}

// What no provider's row may override: a page from something in front accuses nobody, and a 429 is
// never the caller's.
Verdict guarded(Verdict own, int status, BodyKind body) {
    if (status == 429 && own.effect == Effect::kCaller) {
        own.effect = Effect::kCool;
        own.outcome = Outcome::kRateLimited;
    }
    const bool accuses = own.effect == Effect::kQuarantine || own.effect == Effect::kCaller;
    if (accuses && is_client_error(status) && is_from_something_in_front(body)) {
        return {Effect::kProvider, Outcome::kBlocked};
    }
    return own;
}

// For an answer whose body says nothing by itself.
std::string_view our_words(int status, BodyKind body) {
    if (is_redirect(status)) {
        return "a redirect, which is not followed; check the base URL";
    }
    if (status == 407) {
        return "the proxy on the way asks for credentials";
    }
    switch (body) {
        case BodyKind::kJson:
            return is_success(status) ? "JSON of another shape than the provider's" : "";
        case BodyKind::kEmpty:
            return "an empty body";
        case BodyKind::kMarkup:
            return "a page instead of JSON";
        case BodyKind::kOther:
            return "a body that is not JSON";
    }
    return "";
}

std::string_view their_words(const io::ClientResponse& response, const Body& body) {
    if (is_redirect(response.status) || response.status == 407) {
        return {};  // written by whatever redirects, not by the provider
    }
    if (body.json) {
        return error_words(*body.json);
    }
    const bool plain = response.header("content-type").starts_with("text/plain");
    return body.kind == BodyKind::kOther && plain ? trim(response.body) : std::string_view();
}

Verdict completed(Verdict verdict, const Asked& asked, const io::ClientResponse& response,
                  const Body& body, WallTime wall_now) {
    const bool has_penalty = verdict.effect == Effect::kCool || verdict.effect == Effect::kExhaust;
    if (has_penalty && !verdict.penalty) {
        verdict.penalty = guard::parse_retry_after(response.header("retry-after"), wall_now);
    }
    std::string_view words = verdict.detail;
    if (words.empty()) {
        words = their_words(response, body);
    }
    if (words.empty()) {
        words = our_words(response.status, body.kind);
    }
    verdict.detail = safe_detail(words, asked.key.secret, asked.request.query);
    return verdict;
}

}  // namespace

Judgement judge(const Asked& asked, const io::ClientResponse& response, JsonReader& reader,
                WallTime wall_now) {
    const Body body = read_body(response, reader);
    if (auto own = asked.provider.classify(response, body.json, wall_now)) {
        Verdict verdict = guarded(*std::move(own), response.status, body.kind);
        return completed(std::move(verdict), asked, response, body, wall_now);
    }
    if (!is_success(response.status)) {
        Verdict verdict = generic_verdict(response.status, body.kind);
        return completed(std::move(verdict), asked, response, body, wall_now);
    }
    if (body.json) {
        if (auto answer = asked.provider.parse(*body.json, asked.request)) {
            return *std::move(answer);
        }
    }
    return completed(unreadable_success(body.kind), asked, response, body, wall_now);
}

Verdict judge_transport_error(const Error& error) {
    Verdict verdict{Effect::kProvider, Outcome::kConnectError};
    if (error.code == Code::kTimeout || error.code == Code::kDeadlineExceeded) {
        verdict.outcome = Outcome::kTimeout;
    } else if (error.code == Code::kPayloadTooLarge) {
        verdict.outcome = Outcome::kUnparseable;
    } else if (error.code == Code::kCancelled) {
        verdict.outcome = Outcome::kCancelled;
    }
    verdict.detail = one_line(error.message, kMaxDetailBytes);
    return verdict;
}

}  // namespace sluice::web
