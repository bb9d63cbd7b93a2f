#include "access/tokens.h"

#include "base/result.h"
#include "base/text.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

namespace sluice::access {

namespace {

constexpr std::array kScopes = {Scope::kSearch, Scope::kStatus, Scope::kAdmin};

constexpr std::string_view kPrefix = "slc_";
constexpr std::size_t kIdSize = 8;
constexpr std::size_t kSecretSize = 43;  // 62^43 is a little more than 2^256
constexpr std::size_t kTokenSize = kPrefix.size() + kIdSize + 1 + kSecretSize;

// Letters and digits only, so that a double click selects a whole token.
constexpr std::string_view kAlphabet =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kIdAlphabet = kAlphabet.substr(0, 36);  // read aloud without cases

void append_random(std::string& out, std::string_view alphabet, std::size_t count, Random& random) {
    for (std::size_t i = 0; i < count; ++i) {
        out += alphabet[random.below(alphabet.size())];
    }
}

bool consists_of(std::string_view text, std::string_view alphabet) {
    return text.find_first_not_of(alphabet) == std::string_view::npos;
}

std::string_view bytes_of(const Sha256& digest) {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

std::string_view to_string(Scope scope) {
    switch (scope) {
        case Scope::kSearch:
            return "search";
        case Scope::kStatus:
            return "status";
        case Scope::kAdmin:
            return "admin";
    }
    SLUICE_ASSERT(false && "a Scope outside its enumeration");
}

std::optional<Scopes> Scopes::parse(std::string_view list) {
    Scopes scopes;
    for (const std::string_view word : split_list(list)) {
        const auto scope = std::find_if(kScopes.begin(), kScopes.end(), [word](Scope candidate) {
            return access::to_string(candidate) == word;
        });
        if (scope == kScopes.end()) {
            return std::nullopt;
        }
        scopes.bits_ |= bit(*scope);
    }
    if (scopes.empty()) {
        return std::nullopt;
    }
    return scopes;
}

std::string Scopes::to_string() const {
    std::string text;
    for (const Scope scope : kScopes) {
        if ((bits_ & bit(scope)) == 0) {
            continue;
        }
        if (!text.empty()) {
            text += ',';
        }
        text += access::to_string(scope);
    }
    return text;
}

TokenText make_token_text(Random& random) {
    std::string text;
    text.reserve(kTokenSize);  // growing would leave copies of the secret behind
    text += kPrefix;
    append_random(text, kIdAlphabet, kIdSize, random);
    text += '_';
    append_random(text, kAlphabet, kSecretSize, random);

    TokenText made;
    made.token = Secret(std::move(text));
    const TokenParts parts = parse_token(made.token.reveal()).value();
    made.id = parts.id;
    made.last4 = made.token.last4();
    made.digest = sha256(parts.secret);
    return made;
}

std::optional<TokenParts> parse_token(std::string_view text) {
    if (text.size() != kTokenSize || !text.starts_with(kPrefix)) {
        return std::nullopt;
    }
    const std::string_view id = text.substr(kPrefix.size(), kIdSize);
    const char separator = text[kPrefix.size() + kIdSize];
    const std::string_view secret = text.substr(kTokenSize - kSecretSize);
    if (separator != '_' || !consists_of(id, kIdAlphabet) || !consists_of(secret, kAlphabet)) {
        return std::nullopt;
    }
    return TokenParts{id, secret};
}

struct TokenTable::Snapshot {
    explicit Snapshot(std::vector<StoredToken> all) : tokens(std::move(all)) {
        by_id.reserve(tokens.size());
        for (const StoredToken& token : tokens) {
            by_id.emplace(token.record.id, &token);
            active += token.record.revoked_at ? 0 : 1;
        }
    }

    const std::vector<StoredToken> tokens;
    std::unordered_map<std::string_view, const StoredToken*> by_id;  // into `tokens`
    std::size_t active = 0;
};

TokenTable::TokenTable() : snapshot_(std::make_shared<Snapshot>(std::vector<StoredToken>())) {}
TokenTable::~TokenTable() = default;

TokenVerdict TokenTable::verify(std::string_view token, WallTime now) const {
    const auto parts = parse_token(token);
    if (!parts) {
        return {};
    }
    const auto snapshot = snapshot_.get();
    const auto found = snapshot->by_id.find(parts->id);
    // An unknown id is compared too, with a digest that nothing hashes to.
    static constexpr Sha256 kNobody{};
    const bool known = found != snapshot->by_id.end();
    const Sha256& expected = known ? found->second->digest : kNobody;
    const Sha256 actual = sha256(parts->secret);
    if (!constant_time_equal(bytes_of(actual), bytes_of(expected)) || !known) {
        return {};
    }
    const TokenRecord& record = found->second->record;
    if (record.revoked_at) {
        return {nullptr, TokenRefusal::kRevoked};
    }
    if (record.expires_at && now >= *record.expires_at) {
        return {nullptr, TokenRefusal::kExpired};
    }
    // Shares the snapshot's count: the record lives as long as who holds it.
    return {std::shared_ptr<const TokenRecord>(snapshot, &record), {}};
}

void TokenTable::reload(std::vector<StoredToken> tokens) {
    auto snapshot = std::make_shared<const Snapshot>(std::move(tokens));
    const bool any = snapshot->active > 0;
    snapshot_.set(std::move(snapshot));
    any_active_.store(any, std::memory_order_release);
    is_known_.store(true, std::memory_order_release);
}

std::size_t TokenTable::active() const {
    return snapshot_.get()->active;
}

}  // namespace sluice::access
