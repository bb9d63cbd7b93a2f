#include "app/backup.h"

#include "app/data_dir.h"
#include "app/version.h"
#include "base/hash.h"
#include "base/rfc3339.h"
#include "io/archive.h"
#include "io/files.h"
#include "io/sqlite_copy.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace sluice::app {

namespace {

Error cannot_write(const std::string& path, int reason) {
    return Error{reason == EEXIST ? Code::kConflict : Code::kUnavailable,
                 Blame::kCaller,
                 path + ": " + std::strerror(reason),
                 {}};
}

// A folder beside the archive for copies that nobody else may read; gone with this object.
class Workshop {
 public:
    static Result<Workshop> open(const std::string& path) {
        Result<std::string> folder = io::make_private_folder(path + ".");
        if (!folder.ok()) {
            return name_place(folder.error(), path + ".", path);
        }
        return Workshop(*std::move(folder));
    }
    Workshop(Workshop&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
    Workshop& operator=(Workshop&&) = delete;
    ~Workshop() {
        std::error_code ignored;
        if (!folder_.empty()) {
            std::filesystem::remove_all(folder_, ignored);
        }
    }

    const std::string& folder() const { return folder_; }
    std::string file(std::string_view name) const { return folder_ + "/" + std::string(name); }

 private:
    explicit Workshop(std::string folder) : folder_(std::move(folder)) {}

    std::string folder_;
};

// Copies the file, if the data directory has it, and describes the copy.
Result<std::optional<BackupFile>> copy(const KeptFile& kept, const std::string& data_dir,
                                       const Workshop& workshop) {
    const std::string from = data_dir + "/" + std::string(kept.name);
    const std::string to = workshop.file(kept.name);
    BackupFile file{.name = std::string(kept.name), .bytes = 0, .sha256 = {}, .schema = {}};
    std::error_code error;
    if (!std::filesystem::exists(from, error)) {
        return std::optional<BackupFile>();
    }
    if (kept.schema.empty()) {
        TRY(const io::MappedFile content, io::MappedFile::open(from));
        TRY_STATUS(io::write_new_file(to, content.bytes()));
    } else {
        TRY_STATUS(io::copy_database(from, to));
        const Result<std::int64_t> schema = io::check_copied_database(to);
        if (!schema.ok()) {  // as damaged as what it was copied from
            return name_file(schema.error(), to, from);
        }
        file.schema = *schema;
    }
    TRY(const io::MappedFile content, io::MappedFile::open(to));
    file.bytes = content.bytes().size();
    file.sha256 = to_hex(sha256(content.bytes()));
    return std::optional(std::move(file));
}

Status pack(const BackupManifest& manifest, const Workshop& workshop, const std::string& archive) {
    TRY(auto writer, io::ArchiveWriter::create(archive));
    TRY_STATUS(writer.add(kManifestName, render_manifest(manifest)));
    for (const BackupFile& file : manifest.files) {
        TRY(const io::MappedFile content, io::MappedFile::open(workshop.file(file.name)));
        TRY_STATUS(writer.add(file.name, content.bytes()));
    }
    return writer.finish();
}

// Makes the archive in the workshop.
Result<BackupManifest> make(const std::string& data_dir, const Workshop& workshop,
                            const Clock& clock) {
    BackupManifest manifest{
        .version = std::string(kVersion), .made_at = rfc3339(clock.wall_now()), .files = {}};
    for (const KeptFile& kept : kept_files()) {
        TRY(auto file, copy(kept, data_dir, workshop));
        if (file) {
            manifest.files.push_back(*std::move(file));
        }
    }
    if (manifest.files.empty()) {
        return Error{Code::kNotFound,
                     Blame::kCaller,
                     data_dir +
                         " holds nothing that a backup keeps; name the right data directory "
                         "with --data-dir",
                     {}};
    }
    TRY_STATUS(pack(manifest, workshop, workshop.file(kArchiveName)));
    return manifest;
}

}  // namespace

Result<BackupManifest> write_backup(const std::string& data_dir, const std::string& path,
                                    const Clock& clock) {
    TRY_STATUS(use_data_dir(data_dir, StoreUse::kChange));
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::symlink_status(path, error))) {
        return cannot_write(path, EEXIST);
    }
    TRY(const Workshop workshop, Workshop::open(path));
    Result<BackupManifest> manifest = make(data_dir, workshop, clock);
    if (!manifest.ok()) {
        return name_archive(manifest.error(), workshop.folder(), path);
    }
    // Unlike a rename, a link never takes the place of a file that came meanwhile.
    if (::link(workshop.file(kArchiveName).c_str(), path.c_str()) != 0) {
        return cannot_write(path, errno);
    }
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    TRY_STATUS(io::sync_to_disk(folder.empty() ? "." : folder.string()));
    return manifest;
}

}  // namespace sluice::app
