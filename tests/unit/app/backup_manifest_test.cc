// The list of files in a backup: what is written reads back, and nothing else is believed.
#include "app/backup_manifest.h"

#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::app {
namespace {

using testing::HasSubstr;

const std::string kSum(64, 'a');

BackupManifest sample() {
    return {.version = "0.1.0",
            .made_at = "2026-12-01T01:00:00Z",
            .files = {{.name = "access.db", .bytes = 4096, .sha256 = kSum, .schema = 1},
                      {.name = "secrets.key", .bytes = 65, .sha256 = kSum, .schema = {}}}};
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    SLUICE_ASSERT(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

TEST(BackupManifestTest, ReadsBackWhatWasWritten) {
    const std::string text = render_manifest(sample());
    const auto read = parse_manifest(text);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(render_manifest(*read), text);
    EXPECT_EQ(read->files[0].schema, 1);
    EXPECT_EQ(read->files[1].schema, std::nullopt);
}

// A file of any of these would be restored wrongly, or somewhere else.
TEST(BackupManifestTest, RefusesWhatWasNotWrittenByABackup) {
    const std::string good = render_manifest(sample());
    for (const std::string& text : {
             std::string("{"),
             std::string(R"({"format":1,"files":[]})"),
             replaced(good, "\"format\":1", "\"format\":0"),
             replaced(good, "access.db", "../access.db"),
             replaced(good, "access.db", "secrets.key"),
             replaced(good, "4096", "-1"),
             replaced(good, kSum, std::string(64, 'A')),
             replaced(good, kSum, std::string(63, 'a')),
             replaced(good, "\"schema\":1", "\"schema\":-1"),
             replaced(good, "\"schema\":1", "\"skema\":1"),
             replaced(good, "\"bytes\":65", "\"schema\":1,\"bytes\":65"),
             replaced(good, "\"version\":\"0.1.0\"", "\"version\":\"\\u001b[2J\""),
         }) {
        const auto read = parse_manifest(text);
        ASSERT_FALSE(read.ok()) << text;
        EXPECT_EQ(read.error().code, Code::kInvalidRequest) << text;
        EXPECT_TRUE(std::ranges::all_of(read.error().message, is_printable_ascii)) << text;
    }
}

// It would lose what the newer program keeps there.
TEST(BackupManifestTest, ANewerProgramIsNeededForItsBackups) {
    const std::string good = render_manifest(sample());
    const auto schema = parse_manifest(replaced(good, "\"schema\":1", "\"schema\":99"));
    ASSERT_FALSE(schema.ok());
    EXPECT_EQ(schema.error().code, Code::kConflict);
    EXPECT_THAT(schema.error().message, HasSubstr("access.db has schema version 99"));
    const auto format = parse_manifest(replaced(good, "\"format\":1", "\"format\":2"));
    ASSERT_FALSE(format.ok());
    EXPECT_EQ(format.error().code, Code::kConflict);
    EXPECT_THAT(format.error().message, HasSubstr("sluice 0.1.0"));
}

}  // namespace
}  // namespace sluice::app
