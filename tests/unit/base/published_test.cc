#include "base/published.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace sluice {
namespace {

// A reader keeps what it began with, whatever is published meanwhile, and the last reader of an old
// version lets go of it.
TEST(PublishedTest, ReadersKeepTheirVersion) {
    auto first = std::make_shared<const int>(1);
    const std::weak_ptr<const int> watched = first;
    Published<int> published(std::move(first));
    std::shared_ptr<const int> mine = published.get();
    published.set(std::make_shared<const int>(2));
    EXPECT_EQ(*mine, 1);
    EXPECT_EQ(*published.get(), 2);
    mine.reset();
    EXPECT_TRUE(watched.expired());
    EXPECT_EQ(Published<int>().get(), nullptr);
}

// Readers on many threads see whole versions, in the order in which they were published.
TEST(PublishedTest, ManyReadersOneWriter) {
    Published<std::vector<int>> published(std::make_shared<const std::vector<int>>(100, 0));
    std::atomic<int> bad = 0;
    std::vector<std::thread> readers;
    for (int i = 0; i < 4; ++i) {
        readers.emplace_back([&] {
            int last = 0;
            while (last < 1000) {
                const auto version = published.get();
                if (version->front() < last || version->front() != version->back()) {
                    bad += 1;
                }
                last = version->front();
            }
        });
    }
    for (int i = 1; i <= 1000; ++i) {
        published.set(std::make_shared<const std::vector<int>>(100, i));
    }
    for (std::thread& reader : readers) {
        reader.join();
    }
    EXPECT_EQ(bad, 0);
}

}  // namespace
}  // namespace sluice
