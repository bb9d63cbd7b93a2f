#include "web/blame.h"

#include "base/text.h"
#include "guard/retry_after.h"
#include "web/detail.h"
#include "web/plain_text.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::web {
namespace {

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

bool has_json(const Signal& signal) {
    return signal.kind == BodyKind::kJson;
}
bool has_page(const Signal& signal) {
    return signal.kind == BodyKind::kMarkup;
}
bool was_written_in_front(const Signal& signal) {
    return is_from_something_in_front(signal.kind);
}

constexpr Statuses kAnySuccess(200, 299);
constexpr Statuses kAnyClientError(400, 499);

// What no row names is the provider's: 3xx, 5xx and every other 4xx.
constexpr Verdict otherwise() {
    return {Effect::kProvider, Outcome::kServerError};
}

constexpr auto kGeneric = std::to_array<BlameRow>({
    {.status = 429, .effect = Effect::kCool, .outcome = Outcome::kRateLimited},
    {.status = 407, .effect = Effect::kGateway, .outcome = Outcome::kConnectError},
    {.status = 408, .effect = Effect::kProvider, .outcome = Outcome::kServerError},
    {.status = 425, .effect = Effect::kProvider, .outcome = Outcome::kServerError},
    {.status = 499, .effect = Effect::kProvider, .outcome = Outcome::kServerError},
    {.status = kAnyClientError,
     .when = was_written_in_front,
     .effect = Effect::kProvider,
     .outcome = Outcome::kBlocked},
    {.status = 401, .effect = Effect::kQuarantine, .outcome = Outcome::kAuthFailed},
    {.status = 403, .effect = Effect::kQuarantine, .outcome = Outcome::kAuthFailed},
    {.status = 402, .effect = Effect::kExhaust, .outcome = Outcome::kQuotaExhausted},
    {.status = 400, .when = has_json, .effect = Effect::kCaller, .outcome = Outcome::kBadRequest},
    {.status = 422, .when = has_json, .effect = Effect::kCaller, .outcome = Outcome::kBadRequest},
    // A success that could not be read: a challenge or login page, or something else.
    {.status = kAnySuccess,
     .when = has_page,
     .effect = Effect::kProvider,
     .outcome = Outcome::kBlocked},
    {.status = kAnySuccess, .effect = Effect::kProvider, .outcome = Outcome::kUnparseable},
});

bool is_no_limit(Effect effect, BodyKind /*body*/) {
    return effect != Effect::kCool && effect != Effect::kExhaust;
}
bool quotes_something_in_front(Effect effect, BodyKind body) {
    return effect != Effect::kEmpty && is_from_something_in_front(body);
}

constexpr auto kGuards = std::to_array<GuardRow>({
    // A 429 is about a limit, and is believed from something in front, too.
    {429, is_no_limit, Effect::kCool, Outcome::kRateLimited},
    // Whatever else that says accuses nobody.
    {{400, 428}, quotes_something_in_front, Effect::kProvider, Outcome::kBlocked},
    {{430, 499}, quotes_something_in_front, Effect::kProvider, Outcome::kBlocked},
});

constexpr auto kTransport = std::to_array<TransportRow>({
    {Code::kTimeout, Outcome::kTimeout},
    {Code::kDeadlineExceeded, Outcome::kTimeout},
    {Code::kPayloadTooLarge, Outcome::kUnparseable},
    {Code::kUpstreamFailed, Outcome::kUnparseable},
    {Code::kCancelled, Outcome::kCancelled},
});

Verdict verdict_of(const BlameRow& row, const Signal& signal) {
    Verdict verdict{row.effect, row.outcome};
    if (row.penalty != nullptr) {
        verdict.penalty = row.penalty(signal);
    }
    verdict.reach = row.reach;
    verdict.again = row.again;
    return verdict;
}

std::optional<Verdict> first_match(std::span<const BlameRow> rows, const Signal& signal) {
    const auto row =
        std::ranges::find_if(rows, [&](const BlameRow& r) { return r.matches(signal); });
    return row == rows.end() ? std::nullopt : std::optional(verdict_of(*row, signal));
}

// What the provider's own rows say, unless a guard forbids it.
std::optional<Verdict> own_verdict(const Provider& provider, const Signal& signal,
                                   std::span<const GuardRow> guards) {
    auto own = first_match(provider.blame_rows(), signal);
    if (!own) {
        return std::nullopt;
    }
    for (const GuardRow& guard : guards) {
        if (guard.status.hold(signal.response.status) && guard.forbids(own->effect, signal.kind)) {
            return Verdict{guard.effect, guard.outcome};
        }
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

// The row's verdict with what the answer itself adds: how long, and in which words.
Verdict completed(Verdict verdict, const Asked& asked, const io::ClientResponse& response,
                  const Body& body, WallTime wall_now) {
    const bool has_penalty = verdict.effect == Effect::kCool || verdict.effect == Effect::kExhaust;
    if (has_penalty && !verdict.penalty) {
        verdict.penalty = guard::parse_retry_after(response.header("retry-after"), wall_now);
    }
    std::string_view words = their_words(response, body);
    if (words.empty()) {
        words = our_words(response.status, body.kind);
    }
    const QueryText& query = asked.query != nullptr ? *asked.query : asked.request.query;
    verdict.detail = safe_detail(words, asked.key.secret, query);
    return verdict;
}

}  // namespace

BlameTables blame_tables() {
    return {kGeneric, kGuards, kTransport};
}

Judgement judge(const Asked& asked, const io::ClientResponse& response, JsonReader& reader,
                WallTime wall_now, const BlameTables& tables) {
    const Body body = read_body(response, reader);
    const Signal signal{response, body.kind, body.json, wall_now};
    auto verdict = own_verdict(asked.provider, signal, tables.guards);
    if (!verdict && is_success(response.status) && body.json) {
        if (auto answer = asked.provider.parse(*body.json, asked.request)) {
            return *std::move(answer);
        }
    }
    if (!verdict) {
        verdict = first_match(tables.generic, signal).value_or(otherwise());
    }
    return completed(*std::move(verdict), asked, response, body, wall_now);
}

Verdict judge_transport_error(const Error& error, const BlameTables& tables) {
    Verdict verdict{Effect::kProvider, Outcome::kConnectError};
    const auto row = std::ranges::find(tables.transport, error.code, &TransportRow::code);
    if (row != tables.transport.end()) {
        verdict.outcome = row->outcome;
    }
    verdict.detail = one_line(error.message, kMaxDetailBytes);
    return verdict;
}

}  // namespace sluice::web
