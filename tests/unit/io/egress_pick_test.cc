#include "io/egress_pick.h"

#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace sluice::io {
namespace {

std::vector<EgressOption> options(std::initializer_list<std::string_view> countries) {
    std::vector<EgressOption> made;
    for (const std::string_view country : countries) {
        made.push_back({egress_hash("endpoint " + std::to_string(made.size())), country, true});
    }
    return made;
}

EgressDemand demand(EgressPolicy policy, std::string_view key = "serper") {
    EgressDemand made;
    made.policy = policy;
    made.key = egress_hash(key);
    return made;
}

std::size_t pick(const std::vector<EgressOption>& options, const EgressDemand& demand) {
    const auto place = pick_egress(options, demand);
    EXPECT_TRUE(place.has_value());
    return place.value_or(options.size());
}

// Direct takes no endpoint, whatever is declared; without endpoints there is none to take.
TEST(EgressPick, NothingIsDirect) {
    EXPECT_EQ(pick_egress(options({"", ""}), demand(EgressPolicy::kDirect)), std::nullopt);
    for (const auto policy : {EgressPolicy::kStatic, EgressPolicy::kGeo, EgressPolicy::kSticky,
                              EgressPolicy::kRotating}) {
        EXPECT_EQ(pick_egress({}, demand(policy)), std::nullopt);
    }
}

// The choice for a key is the same in every process and version: a provider that lets only some
// addresses in must not be called from another one after an upgrade.
TEST(EgressPick, HashingIsFixed) {
    EXPECT_EQ(egress_hash("serper"), 0x926F89A1BA62C9FULL);
    const auto three = options({"", "", ""});
    std::string places;
    for (const std::string_view key : {"serper", "tavily", "exa", "brave", "google_cse"}) {
        places += std::to_string(pick(three, demand(EgressPolicy::kStatic, key)));
    }
    EXPECT_EQ(places, "11201");
}

// An endpoint that leaves moves only the keys that it had, each of them to where it always goes;
// one that is back gets its own again. Keys spread evenly.
TEST(EgressPick, OnlyTheKeysOfWhatLeftMove) {
    constexpr std::size_t kKeys = 6'000;
    for (const auto policy : {EgressPolicy::kStatic, EgressPolicy::kSticky}) {
        const auto all = options({"", "", "", "", ""});
        auto without = all;
        without[2].up = false;
        std::array<std::size_t, 5> counts{};
        std::array<std::size_t, 5> heirs{};
        for (std::size_t i = 0; i < kKeys; ++i) {
            const auto wanted = demand(policy, "session " + std::to_string(i));
            const std::size_t before = pick(all, wanted);
            const std::size_t after = pick(without, wanted);
            counts[before] += 1;
            ASSERT_NE(after, 2U);
            if (before == 2) {
                heirs[after] += 1;
                EgressDemand detour = wanted;
                detour.except = 2;
                EXPECT_EQ(pick(all, detour), after) << "the second choice";
            } else {
                ASSERT_EQ(after, before);
            }
        }
        for (std::size_t i = 0; i < 5; ++i) {
            EXPECT_NEAR(static_cast<double>(counts[i]), kKeys / 5.0, kKeys / 50.0);
            if (i != 2) {
                EXPECT_NEAR(static_cast<double>(heirs[i]), kKeys / 20.0, kKeys / 100.0);
            }
        }
    }
}

// In turn, over those that are up.
TEST(EgressPick, Rotates) {
    auto four = options({"", "", "", ""});
    four[1].up = false;
    std::map<std::size_t, int> counts;
    EgressDemand wanted = demand(EgressPolicy::kRotating);
    for (wanted.turn = 7; wanted.turn < 7 + 300; ++wanted.turn) {
        counts[pick(four, wanted)] += 1;
    }
    EXPECT_EQ(counts, (std::map<std::size_t, int>{{0, 100}, {2, 100}, {3, 100}}));
}

// The request's country, else endpoints that name none, else no proxy: never another country.
TEST(EgressPick, GoesByCountry) {
    auto wanted = demand(EgressPolicy::kGeo);
    const auto with_spare = options({"de", "fr", ""});
    const auto without_spare = options({"de", "fr"});
    wanted.country = "fr";
    EXPECT_EQ(pick(with_spare, wanted), 1U);
    wanted.country = "jp";
    EXPECT_EQ(pick(with_spare, wanted), 2U);
    EXPECT_EQ(pick_egress(without_spare, wanted), std::nullopt);
    wanted.country = "";
    EXPECT_EQ(pick(with_spare, wanted), 2U);
    EXPECT_EQ(pick_egress(without_spare, wanted), std::nullopt);
    // One that is down is still the only one there.
    auto down = with_spare;
    down[1].up = false;
    wanted.country = "fr";
    EXPECT_EQ(pick(down, wanted), 1U);
    wanted.except = 1;
    EXPECT_EQ(pick_egress(with_spare, wanted), std::nullopt) << "no other in that country";
}

// Whatever is up and asked: an option that is up is never passed over for one that is down, and
// with none up all are used as if all were.
TEST(EgressPick, UsesAllWhenNoneIsUp) {
    SeededRandom random(20'260'101);
    for (int run = 0; run < 20'000; ++run) {
        std::vector<EgressOption> some = options({"", "", "", "", ""});
        some.resize(1 + random.below(5));
        for (EgressOption& option : some) {
            option.up = random.below(3) == 0;
        }
        auto wanted = demand(random.below(2) == 0 ? EgressPolicy::kSticky : EgressPolicy::kRotating,
                             std::to_string(random.u64()));
        wanted.turn = random.below(1'000);
        const bool any_up = std::ranges::any_of(some, &EgressOption::up);
        const std::size_t place = pick(some, wanted);
        ASSERT_EQ(some[place].up, any_up);
        if (!any_up) {
            auto all_up = some;
            for (EgressOption& option : all_up) {
                option.up = true;
            }
            ASSERT_EQ(pick(all_up, wanted), place);
        }
        wanted.except = place;
        if (const auto other = pick_egress(some, wanted)) {
            some[place].up = false;
            ASSERT_NE(*other, place);
            ASSERT_EQ(some[*other].up, std::ranges::any_of(some, &EgressOption::up));
        } else {
            ASSERT_EQ(some.size(), 1U);
        }
    }
}

// The last one that is up fails a call: those that count as down are tried rather than none.
TEST(EgressPick, InPlaceOfTheLastThatIsUpOneThatIsDownIsTried) {
    auto some = options({"de", "de", ""});
    some[0].up = false;
    some[2].up = false;
    for (const auto policy : {EgressPolicy::kStatic, EgressPolicy::kSticky, EgressPolicy::kRotating,
                              EgressPolicy::kGeo}) {
        auto wanted = demand(policy);
        wanted.country = "de";
        ASSERT_EQ(pick(some, wanted), 1U);
        wanted.except = 1;
        EXPECT_NE(pick_egress(some, wanted).value_or(1), 1U);
    }
}

}  // namespace
}  // namespace sluice::io
