// PINs are kept as hashes that only they open.
#include "titles/pin.h"

#include "titles/page.h"

#include <gtest/gtest.h>

namespace sluice::titles {
namespace {

// A hash says what it is and nothing of the PIN, and is another one each time.
TEST(Pin, OpensItsHashOnly) {
    const auto hash = hash_pin(Secret("2468"));
    ASSERT_TRUE(hash.ok());
    EXPECT_TRUE(hash->starts_with("$argon2id$")) << *hash;
    EXPECT_EQ(hash->find("2468"), std::string::npos);
    EXPECT_TRUE(verify_pin(*hash, Secret("2468")));
    EXPECT_FALSE(verify_pin(*hash, Secret("2469")));
    EXPECT_FALSE(verify_pin(*hash, Secret("24680")));
    EXPECT_FALSE(verify_pin(*hash, Secret("")));
    EXPECT_NE(*hash_pin(Secret("2468")), *hash);
}

TEST(Pin, HasALength) {
    EXPECT_EQ(hash_pin(Secret(std::string(kMinPinBytes - 1, '1'))).error().message,
              "pin: expected 4 to 128 bytes");
    EXPECT_EQ(hash_pin(Secret(std::string(kMaxPinBytes + 1, '1'))).error().code,
              Code::kInvalidRequest);
    EXPECT_TRUE(hash_pin(Secret(std::string(kMaxPinBytes, '1'))).ok());
}

// A page without a PIN has an empty hash: that opens to nobody.
TEST(Pin, NobodyOpensWhatIsNoHash) {
    for (const char* hash : {"", "2468", "$argon2id$v=19$m=65536,t=2,p=1$"}) {
        EXPECT_FALSE(verify_pin(hash, Secret("2468"))) << hash;
        EXPECT_FALSE(verify_pin(hash, Secret(""))) << hash;
    }
}

}  // namespace
}  // namespace sluice::titles
