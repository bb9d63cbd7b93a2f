// What an operator does while searches are under way: keys come, go and change, settings are
// reloaded, the cache is purged, budgets change; and the disk that spending is written to is slow
// or gone for a while.
#pragma once

#include "base/random.h"
#include "sim/key_books.h"
#include "sim/network.h"
#include "sim/purse_books.h"
#include "support/web_harness.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

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
    // Every provider may be used at any rate, and has a key that nothing is known of yet.
    void set_everything_right();

 private:
    web::StoredKey& random_key();
    void change_key();
    void remove_key();
    void reload();
    // The gateway and the books learn what the record says.
    void publish(const web::KeyRecord& record);
    void randomise(web::KeyRecord& record);

    test::WebHarness& harness_;
    KeyBooks& books_;
    PurseBooks& purses_;
    Network& network_;
    Random& random_;
    std::uint64_t last_id_ = 10'000'000;
};

}  // namespace sluice::sim
