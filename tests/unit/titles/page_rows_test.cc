// How a part of a list is got at, whichever database has it.
#include "titles/page_rows.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace sluice::titles {
namespace {

// No part makes a database walk over more than half of the list before it.
TEST(ListWalk, BeginsAtTheNearerEnd) {
    struct Case {
        std::size_t offset;
        std::size_t limit;
        bool is_backward;
        std::size_t walked_over;
        std::size_t got;
    };
    constexpr std::size_t kTotal = 1'000;
    const Case cases[] = {
        {0, 100, false, 0, 100},   {500, 100, false, 500, 100}, {501, 100, true, 399, 100},
        {900, 100, true, 0, 100},  {950, 100, true, 0, 50},     {999, 1, true, 0, 1},
        {1'000, 100, false, 0, 0}, {9'000, 100, false, 0, 0},
    };
    for (const Case& one : cases) {
        PageQuery query;
        query.offset = one.offset;
        query.limit = one.limit;
        const ListWalk walk = walk_of(query, kTotal);
        EXPECT_EQ(walk.is_backward, one.is_backward) << one.offset;
        EXPECT_EQ(walk.offset, one.walked_over) << one.offset;
        EXPECT_EQ(walk.limit, one.got) << one.offset;
    }
    PageQuery all;
    all.limit = 2 * kMaxListed;
    EXPECT_EQ(walk_of(all, 3 * kMaxListed).limit, kMaxListed);
}

}  // namespace
}  // namespace sluice::titles
