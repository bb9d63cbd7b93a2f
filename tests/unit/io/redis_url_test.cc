#include "io/redis_url.h"

#include <gtest/gtest.h>

#include <string_view>

namespace sluice::io {
namespace {

TEST(RedisUrl, NamesServerLoginAndDatabase) {
    const auto list = parse_redis_urls(
        "redis://cache, rediss://us%40er:p%2Fw@[::1]:7000/5,redis://:only@10.0.0.1/");
    ASSERT_TRUE(list.ok()) << list.error().message;
    ASSERT_EQ(list->size(), 3U);
    const RedisEndpoint& plain = list.value()[0];
    EXPECT_EQ(plain.name(), "cache:6379");
    EXPECT_FALSE(plain.tls);
    EXPECT_TRUE(plain.password.empty());
    const RedisEndpoint& full = list.value()[1];
    EXPECT_EQ(full.name(), "[::1]:7000");
    EXPECT_TRUE(full.tls);
    EXPECT_EQ(full.user, "us@er");
    EXPECT_EQ(full.password.reveal(), "p/w");
    EXPECT_EQ(full.database, 5U);
    const RedisEndpoint& last = list.value()[2];
    EXPECT_TRUE(last.user.empty());
    EXPECT_EQ(last.password.reveal(), "only");
    EXPECT_EQ(last.database, 0U);
}

TEST(RedisUrl, NamesTheSentinelsOfAMaster) {
    const auto list =
        parse_redis_urls("redis+sentinel://us%40er:p%2Fw@one,[::1]:7000, three:26380/main-1/4");
    ASSERT_TRUE(list.ok()) << list.error().message;
    ASSERT_EQ(list->size(), 3U);
    EXPECT_EQ(list.value()[0].name(), "one:26379");
    EXPECT_EQ(list.value()[1].name(), "[::1]:7000");
    EXPECT_EQ(list.value()[2].name(), "three:26380");
    for (const RedisEndpoint& sentinel : list.value()) {
        EXPECT_TRUE(sentinel.is_sentinel());
        EXPECT_EQ(sentinel.master, "main-1");
        EXPECT_EQ(sentinel.database, 4U);
        EXPECT_EQ(sentinel.user, "us@er");
        EXPECT_EQ(sentinel.password.reveal(), "p/w");
        EXPECT_FALSE(sentinel.tls);
    }
    EXPECT_TRUE(parse_redis_urls("rediss+sentinel://one/main")->front().tls);
    EXPECT_FALSE(parse_redis_urls("redis://one")->front().is_sentinel());
}

TEST(RedisUrl, AMalformedListOfSentinelsSaysWhatIsMissing) {
    struct Row {
        std::string_view url;
        std::string_view expected;
    };
    for (const Row& row : {Row{"redis+sentinel://one", "name of the master"},
                           Row{"redis+sentinel://one/", "name of the master"},
                           Row{"redis+sentinel://one/sec ret", "name of the master"},
                           Row{"redis+sentinel:///main", "1 to 16 sentinels"},
                           Row{"redis+sentinel://one,two:secret/main", "address 2"},
                           Row{"redis+sentinel://one/main/secret", "number of a database"},
                           Row{"redis+sentinel://one/main,redis://secret", "number of a database"},
                           Row{"redis+sentinel://us@one/main", "user:password"},
                           Row{"redis://one,redis+sentinel://two/main", "address 2"}}) {
        const auto list = parse_redis_urls(row.url);
        ASSERT_FALSE(list.ok()) << row.url;
        EXPECT_NE(list.error().message.find(row.expected), std::string::npos)
            << row.url << ": " << list.error().message;
        EXPECT_EQ(list.error().message.find("secret"), std::string::npos) << row.url;
    }
}

TEST(RedisUrl, NothingIsNoRedis) {
    EXPECT_TRUE(parse_redis_urls(" ")->empty());
}

TEST(RedisUrl, AMalformedOneIsNamedByItsPlaceAndNeverQuoted) {
    for (const std::string_view url :
         {"http://secret", "secret", "redis://", "redis://:secret@", "redis://host:0",
          "redis://host:65536", "redis://host:secret", "redis://host/secret", "redis://[::1",
          "redis://[::1]x", "redis://user@host", "redis://:%zz@secret", "redis://host/1?secret",
          "redis://host:6379:1", "redis://host/-1"}) {
        const auto list = parse_redis_urls("redis://good," + std::string(url));
        ASSERT_FALSE(list.ok()) << url;
        EXPECT_NE(list.error().message.find("address 2"), std::string::npos) << url;
        EXPECT_EQ(list.error().message.find("secret"), std::string::npos) << url;
    }
}

}  // namespace
}  // namespace sluice::io
