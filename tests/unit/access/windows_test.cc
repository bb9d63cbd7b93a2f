#include "access/windows.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace sluice::access {
namespace {

using namespace std::chrono_literals;

const WallTime kMinute = WallTime(1'767'225'600s);  // the beginning of one

WindowRequest request(std::string_view token, std::int64_t token_limit, std::string_view client,
                      std::int64_t client_limit) {
    WindowRequest made;
    made.token_id = token;
    made.token_limit = token_limit;
    made.client = client;
    made.client_limit = client_limit;
    return made;
}

// How many of `tries` requests pass.
int passes(RequestWindows& windows, const WindowRequest& what, WallTime now, int tries = 20) {
    int passed = 0;
    for (int i = 0; i < tries; ++i) {
        passed += windows.take(what, now).ok() ? 1 : 0;
    }
    return passed;
}

// The lower of the two limits decides, and a limit of 0 or a missing token is no limit.
TEST(RequestWindows, BothMustHaveRoom) {
    struct Row {
        const char* what;
        WindowRequest request;
        int passes;  // of 20
    };
    const Row rows[] = {
        {"no limits", request("t", 0, "c", 0), 20},
        {"client only", request("t", 0, "c", 3), 3},
        {"token only", request("t", 4, "c", 0), 4},
        {"the token's is lower", request("t", 4, "c", 5), 4},
        {"the client's is lower", request("t", 5, "c", 4), 4},
        {"anonymous", request("", 2, "c", 3), 3},
        {"anonymous without limits", request("", 2, "c", 0), 20},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.what);
        RequestWindows windows;
        EXPECT_EQ(passes(windows, row.request, kMinute), row.passes);
    }
}

// What the client's window refused is not taken from the token's, and the other way round.
TEST(RequestWindows, ARefusalCountsInNeither) {
    RequestWindows windows;
    EXPECT_EQ(passes(windows, request("token", 10, "busy", 4), kMinute), 4);
    EXPECT_EQ(passes(windows, request("token", 10, "other", 0), kMinute), 6);

    EXPECT_EQ(passes(windows, request("small", 2, "client", 5), kMinute), 2);
    EXPECT_EQ(passes(windows, request("", 0, "client", 5), kMinute), 3);
}

// Callers are counted apart, and a token's id is no client's bucket.
TEST(RequestWindows, CallersAreCountedApart) {
    RequestWindows windows;
    EXPECT_EQ(passes(windows, request("a", 2, "x", 0), kMinute), 2);
    EXPECT_EQ(passes(windows, request("b", 2, "x", 0), kMinute), 2);
    EXPECT_EQ(passes(windows, request("", 0, "a", 2), kMinute), 2);
}

// Windows are those of the wall clock's minutes; a refusal says when the next begins and whose is
// full.
TEST(RequestWindows, RefusalsSayWhenAndWhose) {
    RequestWindows windows;
    const WallTime late = kMinute + 59'500ms;
    ASSERT_TRUE(windows.take(request("t", 1, "c", 1), late).ok());
    const Status token = windows.take(request("t", 1, "c", 1), late);
    ASSERT_FALSE(token.ok());
    EXPECT_EQ(token.error().code, Code::kRateLimited);
    EXPECT_EQ(token.error().blame, Blame::kCaller);
    EXPECT_EQ(token.error().retry_after, Millis{500});
    EXPECT_NE(token.error().message.find("token"), std::string::npos);
    const Status client = windows.take(request("", 0, "c", 1), late);
    ASSERT_FALSE(client.ok());
    EXPECT_NE(client.error().message.find("client"), std::string::npos);
    EXPECT_TRUE(windows.take(request("t", 1, "c", 1), kMinute + 60s).ok());
}

// A limit that an operator raises or lowers applies to the minute that is running.
TEST(RequestWindows, AChangedLimitAppliesAtOnce) {
    RequestWindows windows;
    EXPECT_EQ(passes(windows, request("", 0, "c", 5), kMinute), 5);
    EXPECT_EQ(passes(windows, request("", 0, "c", 7), kMinute), 2);
    EXPECT_EQ(passes(windows, request("", 0, "c", 3), kMinute), 0);
}

// Cores that count one caller at the same time let no more through than its limit.
TEST(RequestWindows, ThreadsShareAWindow) {
    RequestWindows windows;
    std::atomic<int> passed = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&windows, &passed, t] {
            const std::string client = "client-" + std::to_string(t);
            for (int i = 0; i < 2000; ++i) {
                passed += windows.take(request("shared", 1000, client, 400), kMinute).ok() ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    // A request that its client's window refuses holds a place of the token's for an instant, which
    // can only turn others away, so the limit is reached from below: here by clients with room.
    EXPECT_LE(passed, 1000);
    EXPECT_EQ(passed + passes(windows, request("shared", 1000, "late", 0), kMinute, 2000), 1000);
}

}  // namespace
}  // namespace sluice::access
