#include "base/hash.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sluice {
namespace {

// Stored token hashes outlive a release: the function must be SHA-256 itself (FIPS 180-4 examples).
TEST(Hash, Sha256KnownAnswers) {
    EXPECT_EQ(to_hex(sha256("")),
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(to_hex(sha256("abc")),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(to_hex(sha256(std::string(1'000'000, 'a'))),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Each thread has a context of its own, used again and again: no call may see another's bytes.
TEST(Hash, Sha256FromManyThreads) {
    std::vector<std::thread> threads;
    std::vector<int> wrong(4, 0);
    for (std::size_t t = 0; t < wrong.size(); ++t) {
        threads.emplace_back([&wrong, t] {
            const std::string text(t * 100, 'x');
            const Sha256 expected = sha256(text);
            for (int i = 0; i < 500; ++i) {
                sha256("something else");
                wrong[t] += sha256(text) == expected ? 0 : 1;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(Hash, HexIsLowerCaseAndCoversEveryBit) {
    EXPECT_EQ(to_hex(std::string_view("\x00\x0F\xF0\xFF\x9a", 5)), "000ff0ff9a");
    EXPECT_EQ(to_hex(std::string_view()), "");
}

}  // namespace
}  // namespace sluice
