#include "access/token_rows.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace sluice::access {

namespace {

using Stamp = std::chrono::time_point<std::chrono::system_clock, Millis>;

WallTime to_stored_precision(WallTime time) {
    return std::chrono::floor<Millis>(time);
}

}  // namespace

std::int64_t to_stored(WallTime time) {
    return std::chrono::floor<Millis>(time).time_since_epoch().count();
}

std::optional<std::int64_t> to_stored(std::optional<WallTime> time) {
    return time ? std::optional(to_stored(*time)) : std::nullopt;
}

WallTime from_stored(std::int64_t milliseconds) {
    return Stamp(Millis(milliseconds));
}

std::optional<WallTime> from_stored(std::optional<std::int64_t> milliseconds) {
    return milliseconds ? std::optional(from_stored(*milliseconds)) : std::nullopt;
}

std::string_view bytes_of(const Sha256& digest) {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

StoredToken to_stored_token(const NewToken& token, const TokenText& text, WallTime now) {
    StoredToken stored;
    stored.record.id = text.id;
    stored.record.label = token.label;
    stored.record.scopes = token.scopes;
    stored.record.created_at = to_stored_precision(now);
    if (token.expires_at) {
        stored.record.expires_at = to_stored_precision(*token.expires_at);
    }
    stored.record.requests_per_minute = token.requests_per_minute;
    stored.record.budget = token.budget;
    stored.record.last4 = text.last4;
    stored.digest = text.digest;
    return stored;
}

IssuedToken to_issued(StoredToken stored, TokenText text) {
    IssuedToken issued;
    issued.record = std::move(stored.record);
    issued.token = std::move(text.token);
    return issued;
}

Status read_scopes_and_digest(std::string_view scopes, std::string_view digest,
                              StoredToken& token) {
    const auto parsed = Scopes::parse(scopes);
    if (!parsed || digest.size() != token.digest.size()) {
        return Error{
            Code::kUnavailable, Blame::kGateway,
            "the token " + token.record.id + " in the database is not as this program writes it",
            std::nullopt};
    }
    token.record.scopes = *parsed;
    std::copy(digest.begin(), digest.end(), token.digest.begin());
    return {};
}

std::int64_t forget_before(WallTime now) {
    return to_stored(now - kForgetRevokedAfter);
}

Error no_such_token() {
    return Error{Code::kNotFound, Blame::kCaller, "there is no token of that id", std::nullopt};
}

Error too_many_tokens() {
    return Error{Code::kConflict, Blame::kCaller,
                 "there are " + std::to_string(kMaxTokens) +
                     " tokens, which is the most; revoked ones are forgotten after 90 days",
                 std::nullopt};
}

}  // namespace sluice::access
