#include "app/backup.h"

#include "app/data_dir.h"
#include "app/version.h"
#include "base/hash.h"
#include "base/rfc3339.h"
#include "io/archive.h"
#include "io/files.h"
#include "io/sqlite_copy.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::app {

namespace {

Error cannot_write(const std::string& path, int reason) {
    if (reason == EEXIST) {
        return Error{Code::kConflict,
                     Blame::kCaller,
                     path + " is there already, and is never overwritten: name another file",
                     {}};
    }
    return Error{Code::kUnavailable, Blame::kCaller, path + ": " + std::strerror(reason), {}};
}

Error interrupted() {
    return Error{Code::kCancelled, Blame::kCaller, "interrupted: no backup was written", {}};
}

struct FolderLock {
    int descriptor = -1;     // holds it for as long as it is open; -1: there is none
    bool is_others = false;  // another process has it
};
FolderLock lock_folder(const std::string& path) {
    FolderLock lock;
    lock.descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (lock.descriptor >= 0 && ::flock(lock.descriptor, LOCK_EX | LOCK_NB) != 0) {
        lock.is_others = errno == EWOULDBLOCK;
        ::close(std::exchange(lock.descriptor, -1));
    }
    return lock;
}

// Whether the open folder is what others find there.
bool is_at(const std::string& path, int folder) {
    struct stat held = {};
    struct stat found = {};
    return ::fstat(folder, &held) == 0 && ::lstat(path.c_str(), &found) == 0 &&
           held.st_dev == found.st_dev && held.st_ino == found.st_ino;
}

// Of this user, and open to nobody else, as make_private_folder() makes them.
bool is_private_folder(const std::string& path) {
    struct stat found = {};
    return ::lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
           (found.st_mode & 0777) == 0700 && found.st_uid == ::geteuid();
}

// Whether a backup puts files of that name into its folder.
bool is_of_a_backup(std::string_view name) {
    for (const std::string_view side : {"-wal", "-shm", "-journal"}) {
        if (name.ends_with(side)) {
            name.remove_suffix(side.size());
        }
    }
    return name == kArchiveName || find_kept_file(name) != nullptr;
}

// What backups to `path` left that were killed: copies of secrets.key and of the databases. Folders
// with anything else in them are somebody's, and what can't be removed stays.
void remove_abandoned(const std::filesystem::path& path) {
    const std::string prefix = path.filename().string() + ".";
    const std::filesystem::path parent = path.parent_path();
    for (const std::string& name : io::names_in(parent.empty() ? "." : parent.string())) {
        const std::string folder = (parent / name).string();
        if (!name.starts_with(prefix) || name.size() != prefix.size() + io::kPrivateSuffixBytes ||
            !is_private_folder(folder) ||
            !std::ranges::all_of(io::names_in(folder), is_of_a_backup)) {
            continue;
        }
        if (const FolderLock lock = lock_folder(folder); lock.descriptor >= 0) {
            std::error_code ignored;
            std::filesystem::remove_all(folder, ignored);
            ::close(lock.descriptor);
        }
    }
}

constexpr int kTurns = 10;  // of making a folder that is taken away meanwhile

// A folder beside the archive for copies that nobody else may read; gone with this object.
class Workshop {
 public:
    static Result<Workshop> open(const std::string& path) {
        remove_abandoned(path);
        for (int turn = 0; turn < kTurns; ++turn) {
            Result<std::string> folder = io::make_private_folder(path + ".");
            if (!folder.ok()) {
                return name_place(folder.error(), path + ".", path);
            }
            const FolderLock lock = lock_folder(*folder);
            const bool is_ours = lock.descriptor < 0 || is_at(*folder, lock.descriptor);
            Workshop workshop(*std::move(folder), lock.descriptor);
            // Another backup may have taken it for abandoned before it was locked. Where there are
            // no locks none is ever taken for that.
            if (!lock.is_others && is_ours) {
                return workshop;
            }
        }
        return cannot_write(path, EBUSY);
    }
    Workshop(Workshop&& other) noexcept
        : folder_(std::exchange(other.folder_, {})), lock_(std::exchange(other.lock_, -1)) {}
    Workshop& operator=(Workshop&&) = delete;
    ~Workshop() {
        std::error_code ignored;
        if (!folder_.empty()) {
            std::filesystem::remove_all(folder_, ignored);
        }
        if (lock_ >= 0) {
            ::close(lock_);
        }
    }

    const std::string& folder() const { return folder_; }
    std::string file(std::string_view name) const { return folder_ + "/" + std::string(name); }

 private:
    Workshop(std::string folder, int lock) : folder_(std::move(folder)), lock_(lock) {}

    std::string folder_;
    int lock_;  // by it others see that it is in use
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
                            const Clock& clock, const std::function<bool()>& is_interrupted) {
    BackupManifest manifest{
        .version = std::string(kVersion), .made_at = rfc3339(clock.wall_now()), .files = {}};
    for (const KeptFile& kept : kept_files()) {
        if (is_interrupted()) {
            return interrupted();
        }
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
    if (is_interrupted()) {
        return interrupted();
    }
    return manifest;
}

}  // namespace

Result<BackupManifest> write_backup(const std::string& data_dir, const std::string& path,
                                    const Clock& clock,
                                    const std::function<bool()>& is_interrupted) {
    TRY_STATUS(use_data_dir(data_dir, StoreUse::kChange));
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::symlink_status(path, error))) {
        return cannot_write(path, EEXIST);
    }
    TRY(const Workshop workshop, Workshop::open(path));
    Result<BackupManifest> manifest = make(data_dir, workshop, clock, is_interrupted);
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
