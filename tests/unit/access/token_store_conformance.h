// What every TokenStore promises, as one suite. A backend instantiates it with a type of its own:
//
//     struct Backend {
//         TokenStore& store();         // the store under test
//         TokenStore& second_store();  // another process's view of the same tokens
//         ManualClock& clock();        // what both read the time from
//         template <class T> Result<T> run(Task<Result<T>> task);  // to its end
//     };
//     INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, TokenStoreConformance, Backend);
#pragma once

#include "access/token_store.h"
#include "access/tokens.h"
#include "support/manual_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::access {

template <class Backend>
class TokenStoreConformance : public testing::Test {
 protected:
    IssuedToken add(NewToken token) {
        auto issued = backend_.run(backend_.store().add(std::move(token)));
        EXPECT_TRUE(issued.ok()) << issued.error().message;
        return std::move(issued).value();
    }
    IssuedToken add(Scopes scopes) {
        NewToken token;
        token.scopes = scopes;
        return add(std::move(token));
    }
    TokenSet load() { return backend_.run(backend_.store().load()).value(); }
    StoreRevision revision() { return backend_.run(backend_.store().revision()).value(); }

    Backend backend_;
};

TYPED_TEST_SUITE_P(TokenStoreConformance);

// A new store has no token, and its revision is that of the empty set.
TYPED_TEST_P(TokenStoreConformance, BeginsEmpty) {
    const TokenSet set = this->load();
    EXPECT_TRUE(set.tokens.empty());
    EXPECT_EQ(set.revision, this->revision());
}

// What was added comes back field for field, and the text that was shown verifies against it.
TYPED_TEST_P(TokenStoreConformance, KeepsWhatWasAdded) {
    NewToken token;
    token.label = "caf\xc3\xa9 'quoted'";
    token.scopes = {Scope::kSearch, Scope::kStatus};
    token.expires_at = this->backend_.clock().wall_now() + std::chrono::hours(1);
    token.requests_per_minute = 0;
    token.budget.calls = {1, 0, std::nullopt};
    token.budget.micro_usd = {std::nullopt, 2'500'000, kMaxBudgetUsd * kMicroUsd};
    const IssuedToken full = this->add(token);
    this->backend_.clock().advance(std::chrono::seconds(1));
    const IssuedToken plain = this->add({Scope::kAdmin});

    EXPECT_EQ(full.record.label, token.label);
    EXPECT_EQ(full.record.scopes, token.scopes);
    EXPECT_EQ(full.record.expires_at, token.expires_at);
    EXPECT_EQ(full.record.requests_per_minute, token.requests_per_minute);
    EXPECT_EQ(full.record.budget, token.budget);
    EXPECT_EQ(full.record.revoked_at, std::nullopt);
    EXPECT_TRUE(full.token.reveal().ends_with(full.record.last4));
    EXPECT_EQ(plain.record.expires_at, std::nullopt);
    EXPECT_EQ(plain.record.requests_per_minute, std::nullopt);

    TokenSet set = this->load();
    ASSERT_EQ(set.tokens.size(), 2U);  // in order of creation
    EXPECT_EQ(set.tokens[0].record, full.record);
    EXPECT_EQ(set.tokens[1].record, plain.record);
    TokenTable table;
    table.reload(std::move(set.tokens));
    const WallTime now = this->backend_.clock().wall_now();
    EXPECT_TRUE(table.verify(full.token.reveal(), now).record);
    EXPECT_TRUE(table.verify(plain.token.reveal(), now).record);
}

// What is out of its limits is refused, with nothing added.
TYPED_TEST_P(TokenStoreConformance, RefusesWhatIsOutOfLimits) {
    const WallTime now = this->backend_.clock().wall_now();
    NewToken good;
    good.scopes = {Scope::kSearch};
    good.label = std::string(kMaxTokenLabelBytes, 'x');
    good.requests_per_minute = kMaxRequestsPerMinute;

    std::vector<std::pair<const char*, NewToken>> bad;
    const auto spoilt = [&](const char* what) -> NewToken& {
        return bad.emplace_back(what, good).second;
    };
    spoilt("no scope").scopes = {};
    spoilt("a long label").label += 'x';
    spoilt("a label that is not UTF-8").label = "\xff";
    spoilt("a label with a line break").label = "a\nb";
    spoilt("a label that steers a terminal").label = "\x1b[2J";
    spoilt("a label that steers a terminal in one character").label =
        "\xc2\x9b"
        "2J";
    spoilt("expired already").expires_at = now;
    spoilt("a negative limit").requests_per_minute = -1;
    spoilt("a limit beyond the most").requests_per_minute = kMaxRequestsPerMinute + 1;
    spoilt("a negative budget").budget.micro_usd[index_of(Period::kDay)] = -1;
    spoilt("a budget beyond the most").budget.calls[index_of(Period::kTotal)] = kMaxBudgetCalls + 1;
    for (auto& [what, token] : bad) {
        SCOPED_TRACE(what);
        const auto refused = this->backend_.run(this->backend_.store().add(std::move(token)));
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, Code::kInvalidRequest);
        EXPECT_EQ(refused.error().blame, Blame::kCaller);
    }
    EXPECT_TRUE(this->load().tokens.empty());
    this->add(good);
}

// Revoking is for good: the first time stays, and a token that is not there is said to be so.
TYPED_TEST_P(TokenStoreConformance, RevokesOnce) {
    const IssuedToken issued = this->add({Scope::kSearch});
    auto& clock = this->backend_.clock();
    auto& store = this->backend_.store();
    clock.advance(std::chrono::seconds(5));
    const WallTime first = clock.wall_now();
    const TokenRecord revoked = this->backend_.run(store.revoke(issued.record.id)).value();
    EXPECT_EQ(revoked.revoked_at, first);
    clock.advance(std::chrono::seconds(5));
    const StoreRevision before = this->revision();
    EXPECT_EQ(this->backend_.run(store.revoke(issued.record.id)).value().revoked_at, first);
    EXPECT_EQ(this->revision(), before);

    const auto unknown = this->backend_.run(store.revoke("nosuchid"));
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().code, Code::kNotFound);
    EXPECT_EQ(this->revision(), before);
    EXPECT_EQ(this->load().tokens.at(0).record, revoked);
}

// Another process sees each change through the revision, and the change itself when it loads.
TYPED_TEST_P(TokenStoreConformance, ChangesAreSeenElsewhere) {
    auto& other = this->backend_.second_store();
    const auto seen = [&] { return this->backend_.run(other.revision()).value(); };
    const StoreRevision start = seen();
    const IssuedToken issued = this->add({Scope::kSearch});
    const StoreRevision after_add = seen();
    EXPECT_NE(after_add, start);
    EXPECT_EQ(seen(), after_add);
    EXPECT_EQ(this->backend_.run(other.load()).value().tokens.at(0).record, issued.record);

    ASSERT_TRUE(this->backend_.run(other.revoke(issued.record.id)).ok());
    EXPECT_NE(this->revision(), after_add);
    EXPECT_TRUE(this->load().tokens.at(0).record.revoked_at.has_value());
}

// The first token is made once, whoever asks, and again when no token is left that is not revoked.
TYPED_TEST_P(TokenStoreConformance, TheFirstTokenIsMadeOnce) {
    NewToken admin;
    admin.scopes = {Scope::kAdmin};
    const auto first = this->backend_.run(this->backend_.store().add_first(admin)).value();
    ASSERT_TRUE(first.has_value());
    EXPECT_FALSE(this->backend_.run(this->backend_.store().add_first(admin)).value());
    EXPECT_FALSE(this->backend_.run(this->backend_.second_store().add_first(admin)).value());
    EXPECT_EQ(this->load().tokens.size(), 1U);

    ASSERT_TRUE(this->backend_.run(this->backend_.store().revoke(first->record.id)).ok());
    EXPECT_TRUE(this->backend_.run(this->backend_.second_store().add_first(admin)).value());
}

// Revoked tokens are remembered for a while, so that their owners are told, and then forgotten.
TYPED_TEST_P(TokenStoreConformance, ForgetsWhatWasRevokedLongAgo) {
    const IssuedToken old = this->add({Scope::kSearch});
    ASSERT_TRUE(this->backend_.run(this->backend_.store().revoke(old.record.id)).ok());
    this->backend_.clock().advance(kForgetRevokedAfter);
    this->add({Scope::kSearch});
    EXPECT_EQ(this->load().tokens.size(), 2U);
    this->backend_.clock().advance(std::chrono::milliseconds(1));
    this->add({Scope::kSearch});
    const TokenSet set = this->load();
    ASSERT_EQ(set.tokens.size(), 2U);
    EXPECT_NE(set.tokens[0].record.id, old.record.id);
}

REGISTER_TYPED_TEST_SUITE_P(TokenStoreConformance, BeginsEmpty, KeepsWhatWasAdded,
                            RefusesWhatIsOutOfLimits, RevokesOnce, ChangesAreSeenElsewhere,
                            TheFirstTokenIsMadeOnce, ForgetsWhatWasRevokedLongAgo);

}  // namespace sluice::access
