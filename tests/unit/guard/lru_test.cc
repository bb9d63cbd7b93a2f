#include "guard/lru.h"

#include "guard/keyed_hash.h"
#include "property.h"

#include <gtest/gtest.h>

#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::guard {
namespace {

struct CollidingHash {
    std::uint64_t operator()(int key) const { return static_cast<std::uint64_t>(key % 3); }
};

struct TextHash {
    std::uint64_t operator()(std::string_view text) const {
        return std::hash<std::string_view>()(text);
    }
};

// The order of use decides who goes, and looking with peek() is not a use.
TEST(LruMap, ForgetsTheLeastRecentlyUsed) {
    LruMap<int, std::string> map(LruLimits{3, 100});
    map.put(1, "one", 1);
    map.put(2, "two", 1);
    map.put(3, "three", 1);
    ASSERT_NE(map.find(1), nullptr);
    ASSERT_NE(map.peek(2), nullptr);
    EXPECT_EQ(map.put(4, "four", 1).count(), 1U);
    EXPECT_EQ(map.peek(2), nullptr);
    EXPECT_NE(map.peek(1), nullptr);
    EXPECT_EQ(map.oldest().key, 3);
    EXPECT_EQ(map.evictions(), 1U);
}

// The bound in cost holds whatever the number of entries, and an entry too large for the whole map
// must not push everything else out, nor leave its outdated predecessor to be served.
TEST(LruMap, BoundsCost) {
    LruMap<int, int> map(LruLimits{100, 10});
    map.put(1, 1, 4);
    map.put(2, 2, 4);
    EXPECT_EQ(map.put(3, 3, 7).count(), 2U);
    EXPECT_EQ(map.cost(), 7U);
    EXPECT_EQ(map.put(4, 4, 11).count(), 1U);
    EXPECT_NE(map.peek(3), nullptr);
    EXPECT_EQ(map.put(3, 33, 11).count(), 2U);
    EXPECT_EQ(map.peek(3), nullptr);
    EXPECT_EQ(map.cost(), 0U);
    EXPECT_EQ(map.entries(), 0U);
}

// The relaxed order leaves the front quarter as it is, and still keeps what is used from the end.
TEST(LruMap, RelaxedOrderKeepsWhatIsUsed) {
    LruMap<int, int, std::hash<int>, LruOrder::kRelaxed> map(LruLimits{8, 100});
    for (int i = 0; i < 8; ++i) {
        map.put(i, i, 1);
    }
    map.find(6);
    map.find(0);
    std::vector<int> order;
    map.for_each([&](int& value) { order.push_back(value); });
    EXPECT_EQ(order, (std::vector<int>{0, 7, 6, 5, 4, 3, 2, 1}));
    for (int i = 100; i < 1000; ++i) {
        map.put(i, i, 1);
        ASSERT_NE(map.find(0), nullptr) << i;
    }
}

// Replacing keeps one entry a key, with the new value and cost.
TEST(LruMap, Replaces) {
    LruMap<int, int> map(LruLimits{2, 100});
    map.put(1, 10, 5);
    map.put(2, 20, 5);
    EXPECT_EQ(map.put(1, 11, 7).count(), 1U);
    EXPECT_EQ(*map.peek(1), 11);
    EXPECT_EQ(map.cost(), 12U);
    EXPECT_EQ(map.entries(), 2U);
    EXPECT_EQ(map.evictions(), 0U);
    EXPECT_EQ(map.oldest().key, 2);
}

// A map of strings is asked without making a string.
TEST(LruMap, LooksUpByView) {
    LruMap<std::string, int, TextHash> map(LruLimits{4, 100});
    map.put("alpha", 1, 1);
    EXPECT_EQ(*map.find(std::string_view("alpha")), 1);
    EXPECT_EQ(map.erase(std::string_view("alpha")).count(), 1U);
    EXPECT_EQ(map.find(std::string_view("alpha")), nullptr);
}

// Values live as long as the Dropped that holds them, so that a lock can be released first.
TEST(LruMap, HandsOutWhatItDrops) {
    std::weak_ptr<int> watched;
    LruMap<int, std::shared_ptr<int>> map(LruLimits{4, 100});
    {
        auto value = std::make_shared<int>(7);
        watched = value;
        map.put(1, std::move(value), 1);
    }
    map.put(2, std::make_shared<int>(8), 1);
    {
        auto dropped = map.clear();
        EXPECT_EQ(dropped.count(), 2U);
        EXPECT_EQ(map.entries(), 0U);
        EXPECT_TRUE(map.empty());
        EXPECT_FALSE(watched.expired());
    }
    EXPECT_TRUE(watched.expired());
    map.put(3, std::make_shared<int>(9), 1);
    EXPECT_EQ(map.entries(), 1U);
}

// A sweep passes every entry once, also while the table grows, and never one twice in a round.
TEST(LruMap, SweepsEverything) {
    LruMap<int, int> map(LruLimits{10'000, 100'000});
    for (int i = 0; i < 700; ++i) {
        map.put(i, i, 1);
    }
    const auto odd = [](int value) { return value % 2 == 1; };
    std::size_t dropped = 0;
    for (std::size_t i = 0; i < 4'096; i += 8) {
        dropped += map.sweep(8, odd).count();
    }
    EXPECT_EQ(dropped, 350U);
    for (int i = 0; i < 700; ++i) {
        EXPECT_EQ(map.peek(i) != nullptr, i % 2 == 0) << i;
    }
}

// The plainest map with the same promises.
class ModelLru {
 public:
    explicit ModelLru(LruLimits limits) : limits_(limits) {}

    int* find(int key) {
        for (auto it = entries_.begin(); it != entries_.end(); ++it) {
            if (it->key == key) {
                entries_.splice(entries_.begin(), entries_, it);
                return &entries_.front().value;
            }
        }
        return nullptr;
    }
    void put(int key, int value, std::size_t cost) {
        erase(key);
        if (cost > limits_.max_cost) {
            return;
        }
        while (entries_.size() >= limits_.max_entries || total() + cost > limits_.max_cost) {
            entries_.pop_back();
        }
        entries_.push_front({key, value, cost});
    }
    void erase(int key) {
        entries_.remove_if([key](const Item& item) { return item.key == key; });
    }
    void erase_oldest() {
        if (!entries_.empty()) {
            entries_.pop_back();
        }
    }
    void clear() { entries_.clear(); }
    std::size_t size() const { return entries_.size(); }
    std::size_t total() const {
        std::size_t sum = 0;
        for (const Item& item : entries_) {
            sum += item.cost;
        }
        return sum;
    }
    std::vector<int> values() const {
        std::vector<int> values;
        for (const Item& item : entries_) {
            values.push_back(item.value);
        }
        return values;
    }

 private:
    struct Item {
        int key;
        int value;
        std::size_t cost;
    };
    LruLimits limits_;
    std::list<Item> entries_;
};

template <class Map>
class LruSteps {
 public:
    explicit LruSteps(LruLimits limits, int keys) : map_(limits), model_(limits), keys_(keys) {}

    void operator()(Random& random) {
        const int key = static_cast<int>(random.below(static_cast<std::uint64_t>(keys_)));
        const std::uint64_t what = random.below(1000);
        if (what < 500) {
            const int* found = map_.find(key);
            const int* expected = model_.find(key);
            ASSERT_EQ(found != nullptr, expected != nullptr);
            if (found != nullptr) {
                ASSERT_EQ(*found, *expected);
            }
        } else if (what < 850) {
            const std::size_t cost = random.below(30);
            map_.put(key, next_, cost);
            model_.put(key, next_, cost);
            next_ += 1;
        } else if (what < 990) {
            map_.erase(key);
            model_.erase(key);
        } else if (what < 998) {
            map_.erase_oldest();
            model_.erase_oldest();
        } else if (what == 998) {
            map_.clear();
            model_.clear();
        } else {
            std::vector<int> values;
            map_.for_each([&](int& value) { values.push_back(value); });
            ASSERT_EQ(values, model_.values());
        }
        ASSERT_EQ(map_.entries(), model_.size());
        ASSERT_EQ(map_.cost(), model_.total());
    }

 private:
    Map map_;
    ModelLru model_;
    int keys_;
    int next_ = 0;
};

// Any sequence of operations leaves the same entries in the same order as the plain model.
TEST(LruMap, AgreesWithTheModel) {
    EXPECT_TRUE(run_property([] { return LruSteps<LruMap<int, int>>(LruLimits{40, 500}, 80); }));
}

// The same when hashes collide all the time: long probe runs, gaps closed inside them.
TEST(LruMap, AgreesWithTheModelWhenHashesCollide) {
    EXPECT_TRUE(run_property(
        [] { return LruSteps<LruMap<int, int, CollidingHash>>(LruLimits{30, 500}, 60); }));
}

struct TableNode {
    std::uint64_t hash = 0;
    std::uint64_t id = 0;
};

// The table finds what was inserted and nothing else at every step of its growth.
TEST(NodeTable, AgreesWithTheModelWhileItGrows) {
    run_property([] {
        return [table = std::make_shared<NodeTable<TableNode>>(),
                model = std::unordered_map<std::uint64_t, std::unique_ptr<TableNode>>(),
                filling = true](Random& random) mutable {
            const std::uint64_t id = random.below(6000);
            const std::uint64_t hash = id / 2 * 7;  // pairs share a hash
            const auto is_it = [id](const TableNode& node) { return node.id == id; };
            const auto known = model.find(id);
            const TableNode* expected = known == model.end() ? nullptr : known->second.get();
            ASSERT_EQ(table->find(hash, is_it), expected);
            if (model.size() > 4500 || model.empty()) {
                filling = model.empty();
                if (random.below(4) == 0) {
                    table->clear();
                    model.clear();
                    return;
                }
            }
            if (expected == nullptr && random.below(10) < (filling ? 9U : 2U)) {
                auto node = std::make_unique<TableNode>(TableNode{hash, id});
                table->insert(hash, node.get());
                model.emplace(id, std::move(node));
            } else if (expected != nullptr && random.below(10) < (filling ? 1U : 8U)) {
                table->erase(hash, expected);
                model.erase(id);
            }
            ASSERT_EQ(table->size(), model.size());
        };
    });
}

// No insertion moves the whole table: growth is spread over the insertions that follow.
TEST(NodeTable, GrowsInSteps) {
    NodeTable<TableNode> table;
    std::vector<std::unique_ptr<TableNode>> nodes;
    std::size_t insertions_while_growing = 0;
    for (std::uint64_t id = 0; id < 20'000; ++id) {
        nodes.push_back(std::make_unique<TableNode>(TableNode{id, id}));
        table.insert(id, nodes.back().get());
        insertions_while_growing += table.growing() ? 1 : 0;
    }
    // 16 + 32 + ... + 16384 old slots, 8 to an insertion.
    EXPECT_GT(insertions_while_growing, 16'000U / 8);
    EXPECT_EQ(table.size(), 20'000U);
}

// Only who holds the key knows where a text falls, and one key always gives the same place.
TEST(KeyedHash, DependsOnItsKey) {
    SeededRandom random(5);
    const KeyedHash first(random);
    const KeyedHash second(random);
    const KeyedHash copy = first;
    EXPECT_EQ(first("192.0.2.1"), copy("192.0.2.1"));
    EXPECT_NE(first("192.0.2.1"), second("192.0.2.1"));
    EXPECT_NE(first("192.0.2.1"), first("192.0.2.2"));
    EXPECT_NE(first(""), second(""));
}

}  // namespace
}  // namespace sluice::guard
