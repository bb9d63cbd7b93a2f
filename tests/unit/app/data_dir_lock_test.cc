// One process serves from a data directory, whatever becomes of the other files in it.
#include "app/data_dir_lock.h"

#include "support/temp_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <unistd.h>

namespace sluice::test {
namespace {

using app::DataDirLock;

// Protects: a second holder is refused and told who the first one is; the lock is free again when
// the first one lets go, also where a dead process has left the file behind.
TEST(DataDirLock, HasOneHolder) {
    TempDir dir;
    std::ofstream(dir.path() / "serve.lock") << "999999999999\n";
    std::optional<DataDirLock> held;
    {
        auto first = DataDirLock::take(dir.path().string());
        ASSERT_TRUE(first.ok()) << first.error().message;
        held.emplace(std::move(*first));
    }
    const auto second = DataDirLock::take(dir.path().string());
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, Code::kUnavailable);
    EXPECT_NE(second.error().message.find("in use by process " + std::to_string(::getpid())),
              std::string::npos)
        << second.error().message;
    held.reset();
    EXPECT_TRUE(DataDirLock::take(dir.path().string()).ok());
}

// Protects: whoever leaves a directory as it was takes away the file that it made, and no other;
// and a lock on a file that was taken away keeps nobody from nothing: the next one makes its own.
TEST(DataDirLock, LeavesNoTraceOfItsOwn) {
    TempDir dir;
    const std::filesystem::path file = dir.path() / "serve.lock";
    auto made = DataDirLock::take(dir.path().string());
    ASSERT_TRUE(made.ok());
    made->leave_no_trace();
    EXPECT_FALSE(std::filesystem::exists(file));
    auto next = DataDirLock::take(dir.path().string());
    ASSERT_TRUE(next.ok());
    made->leave_no_trace();
    EXPECT_TRUE(std::filesystem::exists(file)) << "that is another one's";
    EXPECT_FALSE(DataDirLock::take(dir.path().string()).ok());
    std::optional<DataDirLock> ended(std::move(*next));
    ended.reset();
    auto found = DataDirLock::take(dir.path().string());
    ASSERT_TRUE(found.ok());
    found->leave_no_trace();
    EXPECT_TRUE(std::filesystem::exists(file)) << "it was there before";
}

// Protects: what can't be a lock file is refused with its path, and neither followed nor waited
// for.
TEST(DataDirLock, NamesAFileThatIsUnusable) {
    TempDir dir;
    std::filesystem::create_symlink("/dev/null", dir.path() / "serve.lock");
    const auto lock = DataDirLock::take(dir.path().string());
    ASSERT_FALSE(lock.ok());
    EXPECT_NE(lock.error().message.find("serve.lock"), std::string::npos);
    EXPECT_FALSE(DataDirLock::take(dir.file("missing")).ok());
}

}  // namespace
}  // namespace sluice::test
