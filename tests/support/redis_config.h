// How the clients of tests are set up for a real Redis.
#pragma once

#include "io/redis.h"

#include <string>

namespace sluice::test {

// Where a test is not about the timeout: what is only slow has not failed. Not longer, since what
// waits until every replica is back waits for two of them.
constexpr Millis kRedisTimeout{2'000};

inline io::RedisConfig redis_config(const std::string& urls, Millis timeout = kRedisTimeout) {
    io::RedisConfig config;
    config.url = Secret(urls);
    config.endpoints = io::parse_redis_urls(urls).value();
    config.timeout = timeout;
    return config;
}

}  // namespace sluice::test
