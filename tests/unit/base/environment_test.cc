#include "base/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

namespace sluice {
namespace {

using ::testing::HasSubstr;

// Compose files set variables to "" to mean "not set".
TEST(SystemEnvironment, EmptyVariablesAreUnset) {
    const SystemEnvironment environment;
    ::setenv("SLUICE_TEST_SET", "a=b", 1);
    ::setenv("SLUICE_TEST_EMPTY", "", 1);
    EXPECT_EQ(environment.get("SLUICE_TEST_SET"), "a=b");
    EXPECT_EQ(environment.get("SLUICE_TEST_EMPTY"), std::nullopt);
    EXPECT_EQ(environment.get("SLUICE_TEST_MISSING"), std::nullopt);
    const auto all = environment.all();
    EXPECT_EQ(all.at("SLUICE_TEST_SET"), "a=b");
    EXPECT_FALSE(all.contains("SLUICE_TEST_EMPTY"));
}

// A configuration file of the wrong size or kind must be told apart from a missing one.
TEST(SystemEnvironment, ReadsWholeFilesUpToTheLimit) {
    const SystemEnvironment environment;
    const std::string path =
        testing::TempDir() + "/sluice_environment_test_" + std::to_string(::getpid());
    const std::string text(40'000, 'x');
    std::ofstream(path, std::ios::binary) << text << '\0';

    const auto whole = environment.read_file(path, 40'001);
    ASSERT_TRUE(whole.ok());
    EXPECT_EQ(*whole, text + '\0');

    const auto larger = environment.read_file(path, 40'000);
    ASSERT_FALSE(larger.ok());
    EXPECT_EQ(larger.error().code, Code::kPayloadTooLarge);
    EXPECT_THAT(larger.error().message, HasSubstr(path));

    const auto missing = environment.read_file(path + ".missing", 10);
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().code, Code::kNotFound);
    EXPECT_EQ(missing.error().blame, Blame::kCaller);

    const auto folder = environment.read_file(testing::TempDir(), 10);
    ASSERT_FALSE(folder.ok());
    EXPECT_EQ(folder.error().code, Code::kUnavailable);
    std::remove(path.c_str());
}

}  // namespace
}  // namespace sluice
