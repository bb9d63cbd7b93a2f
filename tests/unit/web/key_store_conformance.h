// What every KeyStore promises, as one suite. A backend instantiates it with a type of its own:
//
//     struct Backend {
//         KeyStore& store();         // the store under test
//         KeyStore& second_store();  // another process's view of the same keys
//         test::ManualClock& clock();
//         template <class T> Result<T> run(Task<Result<T>> task);  // to its end
//     };
//     INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, KeyStoreConformance, Backend);
#pragma once

#include "support/manual_clock.h"
#include "web/key_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace sluice::web {

template <class Backend>
class KeyStoreConformance : public testing::Test {
 protected:
    KeyStoreConformance() {
        EXPECT_TRUE(backend_.run(backend_.store().unlock()).ok());
        EXPECT_TRUE(backend_.run(backend_.second_store().unlock()).ok());
    }

    static NewKey key(std::string secret, std::string provider = "serper") {
        NewKey key;
        key.provider = std::move(provider);
        key.secret = Secret(std::move(secret));
        return key;
    }
    KeyRecord add(NewKey key) {
        auto record = backend_.run(backend_.store().add(std::move(key)));
        EXPECT_TRUE(record.ok()) << record.error().message;
        return std::move(record).value();
    }
    std::size_t seed(std::vector<std::string> secrets) {
        std::vector<NewKey> keys;
        for (std::string& secret : secrets) {
            keys.push_back(key(std::move(secret)));
        }
        return backend_.run(backend_.store().seed(std::move(keys))).value();
    }
    KeySet load(StoreRevision since = {}) {
        return backend_.run(backend_.store().load(since)).value();
    }
    StoreRevision revision() { return backend_.run(backend_.second_store().revision()).value(); }

    Backend backend_;
};

TYPED_TEST_SUITE_P(KeyStoreConformance);

// What was added comes back field for field, in the order of addition, the secret too.
TYPED_TEST_P(KeyStoreConformance, KeepsWhatWasAdded) {
    NewKey full = this->key("serper-secret-0815");
    full.label = "caf\xc3\xa9 'quoted'";
    full.account = "team";
    full.weight = 7;
    full.max_in_flight = 3;
    full.quota = KeyQuota{1000, KeyQuota::Per::kMonth};
    full.engine_id = "cx:1";
    const KeyRecord first = this->add(full);
    EXPECT_EQ(first.last4, "0815");
    EXPECT_EQ(first.state, KeyState::kActive);
    EXPECT_EQ(first.quota, full.quota);
    EXPECT_EQ(first.label, full.label);
    this->backend_.clock().advance(std::chrono::seconds(1));
    NewKey windowed = this->key("short", "tavily");
    windowed.quota = KeyQuota{60, KeyQuota::Per::kWindow, std::chrono::minutes(90)};
    const KeyRecord second = this->add(windowed);
    EXPECT_EQ(second.quota, windowed.quota);
    EXPECT_EQ(second.last4, "") << "too short to show any of it";
    const KeySet set = this->load();
    ASSERT_EQ(set.keys.size(), 2u);
    EXPECT_EQ(set.keys[0].record, first);
    EXPECT_EQ(set.keys[1].record, second);
    EXPECT_EQ(set.keys[0].secret.reveal(), "serper-secret-0815");
    EXPECT_NE(first.id, second.id);
}

// The same secret is one key of a provider, and its id says nothing about it.
TYPED_TEST_P(KeyStoreConformance, ASecretIsThereOnce) {
    const KeyRecord record = this->add(this->key("serper-secret-1"));
    EXPECT_EQ(record.id.find("serper"), std::string::npos);
    const auto again = this->backend_.run(this->backend_.store().add(this->key("serper-secret-1")));
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().code, Code::kConflict);
    EXPECT_EQ(again.error().message.find("serper-secret-1"), std::string::npos);
    EXPECT_NE(this->add(this->key("serper-secret-1", "tavily")).id, record.id);
}

// Fields out of their limits never get in.
TYPED_TEST_P(KeyStoreConformance, RefusesWhatIsOutOfLimits) {
    std::vector<NewKey> wrong(8, this->key("serper-secret-1"));
    wrong[0].provider = "nonesuch";
    wrong[1].secret = Secret();
    wrong[2].secret = Secret(std::string(kMaxKeySecretBytes + 1, 'x'));
    wrong[3].label = std::string(kMaxKeyLabelBytes + 1, 'x');
    wrong[4].weight = 0;
    wrong[5].max_in_flight = kMaxKeyInFlight + 1;
    wrong[6].quota = KeyQuota{0, KeyQuota::Per::kDay};
    wrong[7].label =
        "\xc2\x9b"
        "2J";  // steers a terminal
    for (NewKey& key : wrong) {
        const auto refused = this->backend_.run(this->backend_.store().add(std::move(key)));
        ASSERT_FALSE(refused.ok());
        EXPECT_EQ(refused.error().code, Code::kInvalidRequest);
    }
    EXPECT_TRUE(this->load().keys.empty());
}

// A patch changes what it names and nothing else, and another process sees it.
TYPED_TEST_P(KeyStoreConformance, PatchesWhatIsNamed) {
    NewKey key = this->key("serper-secret-1");
    key.label = "main";
    key.quota = KeyQuota{5, KeyQuota::Per::kDay};
    const KeyRecord record = this->add(key);
    KeyPatch patch;
    patch.state = KeyState::kDisabled;
    patch.quota = std::optional<KeyQuota>();
    patch.max_in_flight = std::optional<std::uint32_t>(2);
    const auto patched = this->backend_.run(this->backend_.store().patch(record.id, patch));
    ASSERT_TRUE(patched.ok());
    KeyRecord expected = record;
    expected.state = KeyState::kDisabled;
    expected.quota = {};
    expected.max_in_flight = 2;
    EXPECT_EQ(*patched, expected);
    EXPECT_EQ(this->backend_.run(this->backend_.second_store().load(0))->keys.at(0).record,
              expected);
    const auto nobody = this->backend_.run(this->backend_.store().patch("nonesuch", patch));
    EXPECT_EQ(nobody.error().code, Code::kNotFound);
    EXPECT_EQ(nobody.error().message.find("nonesuch"), std::string::npos);
}

// Seeding adds what is not there, once, in order; what an operator disabled or removed stays so.
TYPED_TEST_P(KeyStoreConformance, SeedsOnlyWhatNobodyDecidedAbout) {
    EXPECT_EQ(this->seed({"one", "two", "one", "three"}), 3u);
    const KeySet seeded = this->load();
    ASSERT_EQ(seeded.keys.size(), 3u);
    EXPECT_EQ(seeded.keys[1].secret.reveal(), "two");
    KeyPatch off;
    off.state = KeyState::kDisabled;
    ASSERT_TRUE(
        this->backend_.run(this->backend_.store().patch(seeded.keys[0].record.id, off)).ok());
    ASSERT_TRUE(this->backend_.run(this->backend_.store().remove(seeded.keys[1].record.id)).ok());
    const StoreRevision before = this->revision();
    EXPECT_EQ(this->seed({"one", "two", "three"}), 0u);
    EXPECT_EQ(this->revision(), before) << "nothing changed, so nobody loads anything";
    const KeySet after = this->load();
    ASSERT_EQ(after.keys.size(), 2u);
    EXPECT_EQ(after.keys[0].record.state, KeyState::kDisabled);
    // Who adds a removed key by hand means it.
    EXPECT_EQ(this->add(this->key("two")).id, seeded.keys[1].record.id);
    EXPECT_EQ(this->load().keys.size(), 3u);
}

// A removed key is gone for everybody; removing it again says that it is not there.
TYPED_TEST_P(KeyStoreConformance, Removes) {
    const KeyRecord record = this->add(this->key("serper-secret-1"));
    ASSERT_TRUE(this->backend_.run(this->backend_.second_store().remove(record.id)).ok());
    EXPECT_TRUE(this->load().keys.empty());
    const Status again = this->backend_.run(this->backend_.store().remove(record.id));
    EXPECT_EQ(again.error().code, Code::kNotFound);
}

// Every change moves the revision, whoever made it; counts do not.
TYPED_TEST_P(KeyStoreConformance, TheRevisionTellsOfChanges) {
    const StoreRevision begun = this->revision();
    const KeyRecord record = this->add(this->key("serper-secret-1"));
    const StoreRevision added = this->revision();
    EXPECT_NE(added, begun);
    EXPECT_EQ(this->load().revision, added);
    KeyPatch patch;
    patch.weight = 2;
    ASSERT_TRUE(this->backend_.run(this->backend_.store().patch(record.id, patch)).ok());
    const StoreRevision patched = this->revision();
    EXPECT_NE(patched, added);
    std::vector<KeyUsage> usage{{record.id, WallTime{}, 5}};
    ASSERT_TRUE(this->backend_.run(this->backend_.store().save_usage(usage)).ok());
    EXPECT_EQ(this->revision(), patched);
    ASSERT_TRUE(this->backend_.run(this->backend_.store().remove(record.id)).ok());
    EXPECT_NE(this->revision(), patched);
}

// Who knows a revision is told what changed since, and only that.
TYPED_TEST_P(KeyStoreConformance, LoadsWhatChanged) {
    const KeyRecord a = this->add(this->key("serper-secret-a"));
    const KeyRecord b = this->add(this->key("serper-secret-b"));
    const KeyRecord c = this->add(this->key("serper-secret-c"));
    const StoreRevision known = this->revision();
    EXPECT_TRUE(this->load(known).keys.empty());
    EXPECT_TRUE(this->load(known).removed.empty());
    KeyPatch patch;
    patch.weight = 2;
    ASSERT_TRUE(this->backend_.run(this->backend_.store().patch(b.id, patch)).ok());
    ASSERT_TRUE(this->backend_.run(this->backend_.store().remove(a.id)).ok());
    const KeySet changes = this->load(known);
    ASSERT_EQ(changes.keys.size(), 1u);
    EXPECT_EQ(changes.keys[0].record.id, b.id);
    EXPECT_EQ(changes.removed, std::vector<std::string>{a.id});
    EXPECT_EQ(changes.revision, this->revision());
    // A key that was removed and added again is there.
    this->add(this->key("serper-secret-a"));
    const KeySet again = this->load(known);
    EXPECT_EQ(again.keys.size(), 2u);
    EXPECT_TRUE(again.removed.empty());
    EXPECT_EQ(this->load().keys.size(), 3u);
    EXPECT_TRUE(this->load().removed.empty()) << "of a key that nobody knows";
    EXPECT_NE(c.id, a.id);
}

// Counts of calls are kept with their period; those of a key that is gone are not.
TYPED_TEST_P(KeyStoreConformance, KeepsUsage) {
    const KeyRecord record = this->add(this->key("serper-secret-1"));
    const WallTime month =
        quota_period_start(KeyQuota::Per::kMonth, this->backend_.clock().wall_now());
    std::vector<KeyUsage> usage{{record.id, month, 41}, {"nonesuch", month, 7}};
    ASSERT_TRUE(this->backend_.run(this->backend_.store().save_usage(usage)).ok());
    usage = {{record.id, month, 42}};
    ASSERT_TRUE(this->backend_.run(this->backend_.store().save_usage(usage)).ok());
    const KeySet set = this->load();
    ASSERT_EQ(set.usage.size(), 1u);
    EXPECT_EQ(set.usage[0].id, record.id);
    EXPECT_EQ(set.usage[0].used, 42);
    EXPECT_EQ(set.usage[0].period_start, month);
}

REGISTER_TYPED_TEST_SUITE_P(KeyStoreConformance, KeepsWhatWasAdded, ASecretIsThereOnce,
                            RefusesWhatIsOutOfLimits, PatchesWhatIsNamed,
                            SeedsOnlyWhatNobodyDecidedAbout, Removes, TheRevisionTellsOfChanges,
                            LoadsWhatChanged, KeepsUsage);

}  // namespace sluice::web
