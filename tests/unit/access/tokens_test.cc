#include "access/tokens.h"

#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::access {
namespace {

using namespace std::chrono_literals;

const WallTime kNow = WallTime(1'767'225'600s);

struct Minted {
    StoredToken stored;
    std::string text;
};

Minted mint(Random& random, Scopes scopes) {
    const TokenText text = make_token_text(random);
    Minted minted;
    minted.stored.record.id = text.id;
    minted.stored.record.scopes = scopes;
    minted.stored.record.created_at = kNow;
    minted.stored.record.last4 = text.last4;
    minted.stored.digest = text.digest;
    minted.text = text.token.reveal();
    return minted;
}

// ---- scopes -----------------------------------------------------------------------------------

// The words that commands and the database use, and what is not a list of them.
TEST(Scopes, AreReadAndWritten) {
    struct Row {
        std::string_view text;
        const char* written;  // nullptr: refused
    };
    constexpr Row kRows[] = {
        {"search", "search"},
        {"status", "status"},
        {"admin", "admin"},
        {"search,status", "search,status"},
        {" admin , search ", "search,admin"},
        {"search,search", "search"},
        {"", nullptr},
        {",", nullptr},
        {"Search", nullptr},
        {"search,root", nullptr},
        {"search status", nullptr},
    };
    for (const Row& row : kRows) {
        SCOPED_TRACE(row.text);
        const auto scopes = Scopes::parse(row.text);
        ASSERT_EQ(scopes.has_value(), row.written != nullptr);
        if (scopes) {
            EXPECT_EQ(scopes->to_string(), row.written);
            EXPECT_EQ(Scopes::parse(scopes->to_string()), scopes);
        }
    }
}

// Admin covers everything; no other scope covers another.
TEST(Scopes, OnlyAdminImpliesOthers) {
    constexpr Scope kAll[] = {Scope::kSearch, Scope::kStatus, Scope::kAdmin};
    for (const Scope held : kAll) {
        for (const Scope needed : kAll) {
            EXPECT_EQ(Scopes{held}.allows(needed), held == needed || held == Scope::kAdmin)
                << to_string(held) << " for " << to_string(needed);
        }
    }
    EXPECT_FALSE(Scopes().allows(Scope::kSearch));
}

// ---- the text of tokens -----------------------------------------------------------------------

// What is made can be read, has the documented form, and shows its end and nothing else.
TEST(TokenText, HasTheDocumentedForm) {
    SeededRandom random(1);
    const TokenText made = make_token_text(random);
    const std::string_view text = made.token.reveal();
    ASSERT_EQ(text.size(), 56U);
    EXPECT_TRUE(text.starts_with("slc_" + made.id + "_"));
    EXPECT_TRUE(text.ends_with(made.last4));
    EXPECT_EQ(made.last4.size(), 4U);
    const auto parts = parse_token(text);
    ASSERT_TRUE(parts.has_value());
    EXPECT_EQ(parts->id, made.id);
    EXPECT_EQ(parts->secret.size(), 43U);
    EXPECT_EQ(made.digest, sha256(parts->secret));
}

// Every character of the secret is drawn from the whole alphabet, so that it has its 256 bits.
TEST(TokenText, SecretsUseTheWholeAlphabetEverywhere) {
    SeededRandom random(2);
    std::vector<std::set<char>> seen(43);
    std::set<std::string> ids;
    for (int i = 0; i < 2000; ++i) {
        const TokenText made = make_token_text(random);
        const std::string_view secret = parse_token(made.token.reveal())->secret;
        for (std::size_t at = 0; at < secret.size(); ++at) {
            seen[at].insert(secret[at]);
        }
        ids.insert(made.id);
    }
    for (const auto& characters : seen) {
        EXPECT_EQ(characters.size(), 62U);
    }
    EXPECT_EQ(ids.size(), 2000U);
}

// Everything that is not exactly of the form is no token, before any look-up.
TEST(TokenText, OnlyTheExactFormIsRead) {
    const std::string secret(43, 'x');
    ASSERT_TRUE(parse_token("slc_abcd0123_" + secret).has_value());
    const std::string bad[] = {
        "",
        "slc_",
        "slc_abcd0123",
        "slc_abcd0123_",
        "slc_abcd0123_" + std::string(42, 'x'),
        "slc_abcd0123_" + std::string(44, 'x'),
        "SLC_abcd0123_" + secret,
        "slk_abcd0123_" + secret,
        "slc-abcd0123_" + secret,
        "slc_abcd0123-" + secret,
        "slc_ABCD0123_" + secret,
        "slc_abcd012__" + secret,
        "slc_abcd0123_" + std::string(42, 'x') + "-",
        "slc_abcd0123_" + std::string(42, 'x') + std::string(1, '\0'),
        "slc_abcd0123_" + std::string(42, 'x') + " ",
        " slc_abcd0123_" + std::string(42, 'x'),
        "slc_abcd0123_" + std::string(41, 'x') + "\xc3\xa9",
        std::string(100'000, 'x'),
    };
    for (const std::string& text : bad) {
        EXPECT_FALSE(parse_token(text).has_value()) << text.substr(0, 80);
    }
}

// ---- the table --------------------------------------------------------------------------------

// Each fate of a token, at the instants where it changes.
TEST(TokenTable, VerdictsFollowTheRecord) {
    SeededRandom random(3);
    Minted good = mint(random, {Scope::kSearch});
    Minted expiring = mint(random, {Scope::kSearch});
    expiring.stored.record.expires_at = kNow + 1s;
    Minted revoked = mint(random, {Scope::kAdmin});
    revoked.stored.record.revoked_at = kNow - 1s;
    Minted both = mint(random, {Scope::kAdmin});
    both.stored.record.expires_at = kNow - 2s;
    both.stored.record.revoked_at = kNow - 1s;
    const Minted stranger = mint(random, {Scope::kAdmin});

    TokenTable table;
    EXPECT_FALSE(table.verify(good.text, kNow).record);
    table.reload({good.stored, expiring.stored, revoked.stored, both.stored});

    const TokenVerdict passed = table.verify(good.text, kNow);
    ASSERT_TRUE(passed.record);
    EXPECT_EQ(*passed.record, good.stored.record);
    EXPECT_TRUE(table.verify(expiring.text, kNow + 999ms).record);

    struct Row {
        const char* what;
        std::string text;
        WallTime now;
        TokenRefusal refusal;
    };
    const Row rows[] = {
        {"at its end", expiring.text, kNow + 1s, TokenRefusal::kExpired},
        {"after its end", expiring.text, kNow + 24h, TokenRefusal::kExpired},
        {"revoked", revoked.text, kNow, TokenRefusal::kRevoked},
        {"revoked counts before expired", both.text, kNow, TokenRefusal::kRevoked},
        {"of another gateway", stranger.text, kNow, TokenRefusal::kUnknown},
        {"the id alone", good.stored.record.id, kNow, TokenRefusal::kUnknown},
        {"nothing", "", kNow, TokenRefusal::kUnknown},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.what);
        const TokenVerdict verdict = table.verify(row.text, row.now);
        EXPECT_FALSE(verdict.record);
        EXPECT_EQ(verdict.refusal, row.refusal);
    }
}

// One wrong character anywhere is wrong; and who has an id but not the secret learns nothing about
// the token, not even that it is revoked.
TEST(TokenTable, EveryCharacterCounts) {
    SeededRandom random(4);
    const Minted good = mint(random, {Scope::kSearch});
    Minted revoked = mint(random, {Scope::kSearch});
    revoked.stored.record.revoked_at = kNow;
    TokenTable table;
    table.reload({good.stored, revoked.stored});
    for (const Minted& minted : {good, revoked}) {
        for (std::size_t at = 0; at < minted.text.size(); ++at) {
            std::string wrong = minted.text;
            wrong[at] = wrong[at] == 'a' ? 'b' : 'a';
            const TokenVerdict verdict = table.verify(wrong, kNow);
            EXPECT_FALSE(verdict.record) << at;
            EXPECT_EQ(verdict.refusal, TokenRefusal::kUnknown) << at;
        }
    }
    // The secret of one token under the id of another.
    const std::string mixed = revoked.text.substr(0, 13) + good.text.substr(13);
    EXPECT_EQ(table.verify(mixed, kNow).refusal, TokenRefusal::kUnknown);
}

// Administration closes with the first token and opens with the last one's revocation, not with an
// expiry.
TEST(TokenTable, ActiveMeansNotRevoked) {
    SeededRandom random(5);
    Minted token = mint(random, {Scope::kSearch});
    TokenTable table;
    EXPECT_FALSE(table.any_active());
    table.reload({token.stored});
    EXPECT_TRUE(table.any_active());
    EXPECT_EQ(table.active(), 1U);
    token.stored.record.expires_at = kNow - 24h;
    table.reload({token.stored});
    EXPECT_TRUE(table.any_active());
    token.stored.record.revoked_at = kNow;
    table.reload({token.stored});
    EXPECT_FALSE(table.any_active());
    EXPECT_EQ(table.active(), 0U);
}

// A record that somebody holds outlives the snapshot that it came from.
TEST(TokenTable, ARecordOutlivesAReload) {
    SeededRandom random(6);
    const Minted token = mint(random, {Scope::kSearch});
    TokenTable table;
    table.reload({token.stored});
    const TokenVerdict held = table.verify(token.text, kNow);
    table.reload({});
    ASSERT_TRUE(held.record);
    EXPECT_EQ(held.record->id, token.stored.record.id);
    EXPECT_FALSE(table.verify(token.text, kNow).record);
}

// Cores verify while another replaces the table: a token that is in every version always passes.
TEST(TokenTable, ReadersAndReloadsMeet) {
    SeededRandom random(7);
    const Minted constant = mint(random, {Scope::kSearch});
    const Minted changing = mint(random, {Scope::kSearch});
    TokenTable table;
    table.reload({constant.stored});
    constexpr int kReaders = 3;
    std::atomic<int> refused = 0;
    std::atomic<int> reading = kReaders;
    std::vector<std::thread> readers;
    for (int i = 0; i < kReaders; ++i) {
        readers.emplace_back([&] {
            for (int round = 0; round < 2000; ++round) {
                refused += table.verify(constant.text, kNow).record ? 0 : 1;
                static_cast<void>(table.verify(changing.text, kNow));
                refused += table.any_active() ? 0 : 1;
            }
            reading -= 1;
        });
    }
    while (reading > 0) {
        table.reload({constant.stored, changing.stored});
        table.reload({constant.stored});
    }
    for (std::thread& reader : readers) {
        reader.join();
    }
    EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace sluice::access
