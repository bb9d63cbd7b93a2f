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
    EXPECT_TRUE(verify_pin(*hash, Secret("2468")).value());
    EXPECT_FALSE(verify_pin(*hash, Secret("2469")).value());
    EXPECT_FALSE(verify_pin(*hash, Secret("24680")).value());
    EXPECT_FALSE(verify_pin(*hash, Secret("")).value());
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
    for (const char* hash :
         {"", "2468", "$argon2id$v=19$m=65536,t=2,p=1$", "$argon2id$v=19$m=65536,t=2,p=1$$",
          "$argon2id$v=19$m=65536,t=2,p=1$GYrZtaIg8F11SHYZ0KxqCA$",
          "$argon2id$v=19$m=1,t=1,p=1$GYrZtaIg8F11SHYZ0KxqCA$"
          "1nMo3ZK3FRUrl5oFNEpaFS7AFJNL+q7LPoFEFcgUdcQ",
          "$argon2id$v=19$m=8,t=1,p=1$GYrZtaIg8F11SHYZ0KxqCA$"
          "1nMo3ZK3FRUrl5oFNEpaFS7AFJNL+q7LPoFEFcgUdcQx",
          "$argon2i$v=19$m=8,t=1,p=1$GYrZtaIg8F11SHYZ0KxqCA$"
          "1nMo3ZK3FRUrl5oFNEpaFS7AFJNL+q7LPoFEFcgUdcQ",
          // What asks for more memory, or more passes, than PINs are hashed with.
          "$argon2id$v=19$m=65537,t=1,p=1$GYrZtaIg8F11SHYZ0KxqCA$"
          "1nMo3ZK3FRUrl5oFNEpaFS7AFJNL+q7LPoFEFcgUdcQ",
          "$argon2id$v=19$m=4294967295,t=1,p=1$GYrZtaIg8F11SHYZ0KxqCA$"
          "1nMo3ZK3FRUrl5oFNEpaFS7AFJNL+q7LPoFEFcgUdcQ",
          "$argon2id$v=19$m=8,t=4294967295,p=1$GYrZtaIg8F11SHYZ0KxqCA$"
          "1nMo3ZK3FRUrl5oFNEpaFS7AFJNL+q7LPoFEFcgUdcQ"}) {
        EXPECT_FALSE(verify_pin(hash, Secret("2468")).value()) << hash;
        EXPECT_FALSE(verify_pin(hash, Secret("")).value()) << hash;
    }
}

}  // namespace
}  // namespace sluice::titles
