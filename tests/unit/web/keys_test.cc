#include "web/keys.h"

#include "support/manual_clock.h"
#include "web/key_runtime_memory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;

class KeyPoolTest : public testing::Test {
 protected:
    static StoredKey key(std::string id, std::string secret, std::string provider = "serper") {
        StoredKey stored;
        stored.record.id = std::move(id);
        stored.record.provider = std::move(provider);
        stored.secret = Secret(std::move(secret));
        return stored;
    }
    void apply(std::vector<StoredKey> keys, std::vector<std::string> removed = {}) {
        KeySet set;
        set.keys = std::move(keys);
        set.removed = std::move(removed);
        pool.apply(set);
    }
    LeaseResult lease(std::vector<KeyIndex> tried = {}) {
        return std::get<LeaseResult>(pool.lease(serper, tried));
    }
    KeyLease must_lease(std::vector<KeyIndex> tried = {}) {
        return std::get<KeyLease>(lease(std::move(tried)));
    }

    test::ManualClock clock;
    KeyPool pool{std::make_shared<MemoryKeyRuntime>(clock, RuntimeConfig{})};
    const ProviderIndex serper = *find_provider_index("serper");
};

// A moved-from lease releases nothing: the count is right whichever object dies first.
TEST_F(KeyPoolTest, MovedLeaseReleasesOnce) {
    apply({key("a", "secret-a")});
    {
        KeyLease lease = must_lease();
        const KeyLease moved = std::move(lease);
        EXPECT_EQ(pool.counts_of(serper).in_flight, 1u);
    }
    EXPECT_EQ(pool.counts_of(serper).in_flight, 0u);
}

// A lease that is dropped teaches nothing; one that is settled gives its key back once.
TEST_F(KeyPoolTest, OutcomesAreStatedOrAbsent) {
    apply({key("a", "secret-a")});
    {
        const KeyLease dropped = must_lease();
    }
    EXPECT_EQ(pool.counts_of(serper), KeyCounts{.available = 1});
    must_lease().settle(Outcome::kRateLimited, KeyRest{KeyStatus::kCooling, 5s, Reach::kKey});
    EXPECT_EQ(pool.counts_of(serper), KeyCounts{.cooling = 1});
    EXPECT_EQ(pool.back_at(serper), clock.now() + 5s);
}

// What the store says is in force for the next lease; a key that stays keeps its rest, and one that
// goes while it is in use does no harm.
TEST_F(KeyPoolTest, AppliesWhatTheStoreHolds) {
    apply({key("a", "secret-a"), key("t", "secret-t", "tavily"), key("x", "y", "nonesuch")});
    EXPECT_EQ(pool.size(), 2u);
    must_lease().settle(Outcome::kRateLimited, KeyRest{KeyStatus::kCooling, 5s, Reach::kKey});
    StoredKey labelled = key("a", "secret-a");
    labelled.record.label = "main";
    apply({labelled, key("b", "secret-b")}, {"t", "unknown"});
    EXPECT_EQ(pool.find("a")->label, "main");
    EXPECT_EQ(pool.find("t"), nullptr);
    EXPECT_EQ(pool.counts_of(serper), (KeyCounts{.available = 1, .cooling = 1}));
    {
        const KeyLease lease = must_lease();
        EXPECT_EQ(lease.key().secret.reveal(), "secret-b");
        apply({}, {"a", "b"});
        EXPECT_EQ(lease.key().secret.reveal(), "secret-b");
        EXPECT_EQ(std::get<NoKey>(this->lease()).why, NoKey::Why::kNone);
    }
    EXPECT_EQ(pool.size(), 0u);
    EXPECT_TRUE(pool.counts().empty());
}

// A lease that outlives the pool is released all the same.
TEST_F(KeyPoolTest, LeasesMayOutliveThePool) {
    const auto runtime = std::make_shared<MemoryKeyRuntime>(clock, RuntimeConfig{});
    auto short_lived = std::make_unique<KeyPool>(runtime);
    KeySet set;
    set.keys.push_back(key("a", "secret-a"));
    short_lived->apply(set);
    {
        const auto start = short_lived->lease(serper, {});
        short_lived.reset();
        EXPECT_EQ(runtime->counts(serper).in_flight, 1u);
    }
    EXPECT_EQ(runtime->counts(serper).in_flight, 0u);
}

// Explaining a search says which key it would take, and takes none.
TEST_F(KeyPoolTest, PeekNamesTheNextKey) {
    apply({key("a", "secret-a"), key("b", "secret-b")});
    EXPECT_EQ(std::get<std::string>(pool.peek(serper, {})), "a");
    EXPECT_EQ(must_lease().key().id, "a");
}

}  // namespace
}  // namespace sluice::web
