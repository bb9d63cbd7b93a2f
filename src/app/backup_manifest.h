// What a backup is made of, and the list of it that is the first file of every archive.
#pragma once

#include "base/result.h"
#include "io/sqlite.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::app {

// A file of a data directory that a backup keeps.
struct KeptFile {
    std::string_view name;
    io::SqliteSchema schema;  // empty: it is no database
};

// All of them. What is not among them is made anew by the next start, or can't be kept.
std::span<const KeptFile> kept_files();
const KeptFile* find_kept_file(std::string_view name);  // null: none of that name

inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr std::size_t kMaxManifestBytes = std::size_t{16} * 1024;

struct BackupFile {
    std::string name;
    std::uint64_t bytes = 0;
    std::string sha256;                  // lower-case hexadecimal
    std::optional<std::int64_t> schema;  // the version, of a database
};

struct BackupManifest {
    std::string version;  // of the program that made it
    std::string made_at;  // RFC 3339
    std::vector<BackupFile> files;
};

std::string render_manifest(const BackupManifest& manifest);

// kInvalidRequest for what is no manifest: each of its files is one of kept_files(), and none is
// there twice. kConflict when this program is too old for its format or for the schema of a file.
Result<BackupManifest> parse_manifest(std::string_view json);

// What the archive is called in the folder that it is made in.
inline constexpr std::string_view kArchiveName = "archive";

// An error of `file`, or of one in it, as one of `other`.
Error name_file(Error error, const std::string& file, const std::string& other);

// An error of a file in `folder`, which nobody knows and which is gone when somebody reads of it,
// in words of the archive: its own path, or "keys.db of" it.
Error name_archive(Error error, const std::string& folder, const std::string& archive);

// The same of such a folder that could not be made: its name would have begun with `prefix`.
Error name_place(Error error, const std::string& prefix, const std::string& place);

}  // namespace sluice::app
