// What an operator does while searches are under way: keys come, go and change, settings are
// reloaded, the cache is purged, budgets change; and the disk that spending is written to is slow
// or gone for a while, and so is the store of the keys, without which they can't be changed.
#pragma once

#include "base/random.h"
#include "sim/key_books.h"
#include "sim/network.h"
#include "sim/purse_books.h"
#include "support/fake_key_store.h"
#include "support/run_task.h"
#include "support/web_harness.h"
#include "web/key_watch.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::sim {

class Operator {
 public:
    // References outlive it.
    Operator(test::WebHarness& harness, KeyBooks& books, PurseBooks& purses, Network& network,
             Random& random);

    void add_key(std::string_view provider);
    // Some, or none at all.
    void set_random_budgets();
    // Any of the above, as it comes.
    void change_something();
    // The disk works, or fails, or takes its time.
    void trouble_the_disk();
    // The store of the keys is there, or away.
    void trouble_the_key_store();
    // What the gateway does all the time: reads changes of keys, and writes what they were used.
    void watch_keys();
    // A process that starts now, after a crash of this one, knows of every call with a quota.
    void look_into_the_key_store();
    // After an orderly end another process counts on from where this one is.
    void check_usage_is_kept(Violations& violations);
    // Every provider may be used at any rate, and has a key that nothing is known of yet.
    void set_everything_right();

 private:
    template <class T>
    T done(Task<T> task) {
        return test::run_task(harness_.io, harness_.clock, std::move(task));
    }
    std::vector<web::KeyReport> what_the_store_says();
    web::KeyRecord& random_key();
    void patch(web::KeyRecord& record, web::KeyPatch patch);
    void change_key();
    void remove_key();
    void reload();
    std::optional<web::KeyQuota> random_quota();
    std::optional<std::uint32_t> random_bound();
    std::string random_account();
    std::uint32_t random_weight();

    test::WebHarness& harness_;
    KeyBooks& books_;
    PurseBooks& purses_;
    Network& network_;
    Random& random_;
    test::FakeKeyStore key_store_;
    web::KeyWatch watch_;
    web::KeyUsageWriter usage_;
    bool may_forget_ = false;              // calls were allowed that could not be written down
    std::vector<web::KeyRecord> records_;  // of the keys that there are
    std::uint64_t last_number_ = 10'000'000;
};

}  // namespace sluice::sim
