// What an operator is told of a change that the store took, when it can't be read right after that.
#include "web/key_admin.h"

#include "support/fake_key_store.h"
#include "support/run_task.h"
#include "support/web_harness.h"
#include "web/metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sluice::web {
namespace {

class KeyAdminTest : public testing::Test {
 protected:
    template <class T>
    T run(Task<T> task) {
        return test::run_task(h.io, h.clock, std::move(task));
    }
    Result<KeyReport> add() {
        NewKey key;
        key.provider = "serper";
        key.secret = Secret("serper-secret-of-somebody");
        return run(admin.add(std::move(key)));
    }
    void expect_in_force_when_the_store_is_back(std::size_t keys) {
        EXPECT_EQ(h.metrics.counter(kKeyStoreFailures).value(), 1.0);
        EXPECT_TRUE(h.sink.contains("key_store_failed"));
        store.reads_away = false;
        EXPECT_TRUE(run(watch.refresh()).ok());
        EXPECT_EQ(h.keys.size(), keys);
    }

    test::WebHarness h;
    test::FakeKeyStore store{h.clock};
    KeyWatch watch{store, h.keys, h.clock, h.log, h.metrics};
    KeyTrial trial{h.keys,
                   h.budgets,
                   h.web.providers(),
                   h.http,
                   h.egress,
                   h.clock,
                   [this] { return h.web.config(); }};
    KeyAdmin admin{h.io.get_executor(), store, watch, h.keys, trial};
};

// It was added: whoever is told otherwise tries again, and is then told that it is there already.
TEST_F(KeyAdminTest, WhatWasAddedIsAdded) {
    store.reads_away = true;
    const Result<KeyReport> added = add();
    ASSERT_TRUE(added.ok()) << added.error().message;
    EXPECT_EQ(added->record.provider, "serper");
    EXPECT_EQ(add().error().code, Code::kConflict);
    expect_in_force_when_the_store_is_back(1);
}

TEST_F(KeyAdminTest, WhatWasChangedIsChanged) {
    const std::string id = add()->record.id;
    store.reads_away = true;
    KeyChange change;
    change.patch.weight = 7;
    change.clear_penalty = true;
    const Result<KeyReport> changed = run(admin.change(id, std::move(change)));
    ASSERT_TRUE(changed.ok()) << changed.error().message;
    EXPECT_EQ(changed->record.weight, 7u);
    expect_in_force_when_the_store_is_back(1);
    EXPECT_EQ(run(admin.get(id))->record.weight, 7u);
}

TEST_F(KeyAdminTest, WhatWasRemovedIsRemoved) {
    const std::string id = add()->record.id;
    store.reads_away = true;
    EXPECT_TRUE(run(admin.remove(id)).ok());
    expect_in_force_when_the_store_is_back(0);
}

// What the store refuses has not happened.
TEST_F(KeyAdminTest, ARefusalIsAnError) {
    store.away = true;
    EXPECT_EQ(add().error().code, Code::kUnavailable);
    EXPECT_EQ(run(admin.remove("0123456789ab")).error().code, Code::kUnavailable);
    KeyChange clear;
    clear.clear_penalty = true;
    EXPECT_EQ(run(admin.change("0123456789ab", std::move(clear))).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace sluice::web
