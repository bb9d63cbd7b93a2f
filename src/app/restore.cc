#include "app/restore.h"

#include "app/data_dir.h"
#include "app/data_dir_lock.h"
#include "base/hash.h"
#include "io/archive.h"
#include "io/files.h"
#include "io/sqlite_copy.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace sluice::app {

namespace fs = std::filesystem;

namespace {

// What is being checked; of a process that died it is of no use.
constexpr std::string_view kDraftPrefix = "restore-";
// What was checked and decided: from here its files go to their places.
constexpr std::string_view kDecided = "restored";
// SQLite's own, beside a database. Those of the old one would spoil the new one.
constexpr std::string_view kSideFiles[] = {"-wal", "-shm", "-journal"};

Error refusal(Code code, std::string message) {
    return Error{code, Blame::kCaller, std::move(message), {}};
}

std::string below(const std::string& folder, std::string_view name) {
    return folder + "/" + std::string(name);
}

Status checked(const std::string& what, const std::error_code& error) {
    return error ? Status(refusal(Code::kUnavailable, what + ": " + error.message())) : Status();
}

bool holds_something(const std::string& data_dir) {
    return std::ranges::any_of(kept_files(), [&](const KeptFile& kept) {
        std::error_code error;
        return fs::exists(fs::symlink_status(below(data_dir, kept.name), error));
    });
}

// The folders that restores are laid out in.
std::vector<std::string> drafts_in(const std::string& data_dir) {
    std::vector<std::string> drafts;
    for (const std::string& name : io::names_in(data_dir)) {
        std::error_code error;
        std::string draft = below(data_dir, name);
        if (name.starts_with(kDraftPrefix) &&
            name.size() == kDraftPrefix.size() + io::kPrivateSuffixBytes &&
            fs::is_directory(fs::symlink_status(draft, error))) {
            drafts.push_back(std::move(draft));
        }
    }
    return drafts;
}

// Under the lock of the directory.
Status remove_drafts(const std::string& data_dir) {
    for (const std::string& draft : drafts_in(data_dir)) {
        std::error_code error;
        fs::remove_all(draft, error);
        TRY_STATUS(checked(draft, error));
    }
    return {};
}

Error altered(const std::string& path, const std::string& name) {
    return refusal(Code::kInvalidRequest,
                   path + " was altered: " + name + " is not what its list of files says");
}

// Takes one file out of the archive and checks it in all respects.
Status lay_out(io::ArchiveReader& archive, const std::string& path, const BackupFile& file,
               const std::string& draft, const std::string& data_dir) {
    TRY(const auto name, archive.next());
    if (!name || *name != file.name) {
        return altered(path, file.name);
    }
    const std::string to = below(draft, file.name);
    const Status extracted = archive.extract(to, file.bytes);
    if (!extracted.ok()) {
        return name_file(extracted.error(), draft, data_dir);
    }
    TRY(const io::MappedFile content, io::MappedFile::open(to));
    if (content.bytes().size() != file.bytes || to_hex(sha256(content.bytes())) != file.sha256) {
        return altered(path, file.name);
    }
    if (file.schema) {
        TRY(const std::int64_t schema, io::check_copied_database(to));
        if (schema != *file.schema) {
            return altered(path, file.name);
        }
    }
    return {};
}

Result<BackupManifest> lay_out_all(const std::string& path, const std::string& draft,
                                   const std::string& data_dir,
                                   const std::function<bool()>& is_interrupted) {
    TRY(auto archive, io::ArchiveReader::open(path));
    TRY(const auto first, archive.next());
    if (!first || *first != kManifestName) {
        return refusal(Code::kInvalidRequest, path + " is no backup of `sluice backup`");
    }
    TRY(const std::string list, archive.read(kMaxManifestBytes));
    Result<BackupManifest> manifest = parse_manifest(list);
    if (!manifest.ok()) {
        return refusal(manifest.error().code, path + ": " + manifest.error().message);
    }
    for (const BackupFile& file : manifest->files) {
        TRY_STATUS(lay_out(archive, path, file, draft, data_dir));
        if (is_interrupted()) {
            return refusal(Code::kCancelled, "interrupted: " + data_dir + " is as it was");
        }
    }
    TRY(const auto more, archive.next());
    if (more) {
        return refusal(Code::kInvalidRequest, path + " was altered: it holds more than it lists");
    }
    return manifest;
}

// The list goes along, and last, so that an interrupted move is told from a finished one.
Status add_list(const BackupManifest& manifest, const std::string& draft) {
    TRY_STATUS(io::write_new_file(below(draft, kManifestName), render_manifest(manifest)));
    return io::sync_to_disk(draft);
}

Result<BackupManifest> read_list(const std::string& decided) {
    TRY(const io::MappedFile list, io::MappedFile::open(below(decided, kManifestName)));
    return parse_manifest(list.bytes());
}

Status put_in_place(const KeptFile& kept, const BackupManifest& manifest,
                    const std::string& decided, const std::string& data_dir) {
    const std::string to = below(data_dir, kept.name);
    const std::string from = below(decided, kept.name);
    const bool is_listed =
        std::ranges::find(manifest.files, kept.name, &BackupFile::name) != manifest.files.end();
    std::error_code error;
    if (is_listed && !fs::exists(from, error)) {
        return checked(from, error);  // an earlier turn has moved it
    }
    for (const std::string_view side : kSideFiles) {
        fs::remove(to + std::string(side), error);
        TRY_STATUS(checked(to, error));
    }
    if (is_listed) {
        fs::rename(from, to, error);
    } else {
        fs::remove(to, error);
    }
    return checked(to, error);
}

// Under the lock of the directory.
Status finish(const std::string& data_dir) {
    const std::string decided = below(data_dir, kDecided);
    std::error_code error;
    if (!fs::is_directory(decided, error)) {
        return {};
    }
    if (fs::exists(below(decided, kManifestName), error)) {
        TRY(const BackupManifest manifest, read_list(decided));
        for (const KeptFile& kept : kept_files()) {
            TRY_STATUS(put_in_place(kept, manifest, decided, data_dir));
        }
        TRY_STATUS(io::sync_to_disk(data_dir));
    }
    fs::remove_all(decided, error);
    TRY_STATUS(checked(decided, error));
    return io::sync_to_disk(data_dir);
}

// The same.
Result<BackupManifest> restore(const std::string& path, const std::string& data_dir,
                               Overwrite overwrite, const std::function<bool()>& is_interrupted) {
    if (overwrite == Overwrite::kNo && holds_something(data_dir)) {
        return refusal(Code::kConflict, data_dir +
                                            " holds keys, tokens, pages or spending already; "
                                            "--force gives them up");
    }
    TRY_STATUS(remove_drafts(data_dir));
    const Result<std::string> draft = io::make_private_folder(below(data_dir, kDraftPrefix));
    if (!draft.ok()) {
        return name_place(draft.error(), below(data_dir, kDraftPrefix), data_dir);
    }
    Result<BackupManifest> manifest = lay_out_all(path, *draft, data_dir, is_interrupted);
    if (manifest.ok()) {
        const Status listed = add_list(*manifest, *draft);
        if (!listed.ok()) {
            manifest = name_file(listed.error(), *draft, data_dir);
        }
    }
    std::error_code error;
    if (!manifest.ok()) {
        fs::remove_all(*draft, error);
        return name_archive(manifest.error(), *draft, path);
    }
    fs::rename(*draft, below(data_dir, kDecided), error);
    TRY_STATUS(checked(data_dir, error));
    TRY_STATUS(io::sync_to_disk(data_dir));
    TRY_STATUS(finish(data_dir));
    return manifest;
}

}  // namespace

Status finish_restore(const std::string& data_dir) {
    std::error_code error;
    const bool is_decided = fs::is_directory(below(data_dir, kDecided), error);
    if (!is_decided && drafts_in(data_dir).empty()) {
        return {};
    }
    const Result<DataDirLock> lock = DataDirLock::take(data_dir);
    if (!lock.ok()) {
        // A draft belongs to a restore that goes on, or is removed by whoever has the lock next.
        return is_decided ? Status(lock.error()) : Status();
    }
    // One of another user, as root's, is in nobody's way.
    const Status ignored = remove_drafts(data_dir);
    return finish(data_dir);
}

Result<BackupManifest> restore_backup(const std::string& path, const std::string& data_dir,
                                      Overwrite overwrite,
                                      const std::function<bool()>& is_interrupted) {
    std::error_code error;
    const bool was_there = fs::exists(fs::symlink_status(data_dir, error));
    TRY_STATUS(use_data_dir(data_dir, StoreUse::kMake));
    TRY(DataDirLock lock, DataDirLock::take(data_dir));
    Result<BackupManifest> manifest = restore(path, data_dir, overwrite, is_interrupted);
    if (!manifest.ok()) {
        lock.leave_no_trace();
        if (!was_there) {
            fs::remove(data_dir, error);  // unless there is something in it
        }
    }
    return manifest;
}

}  // namespace sluice::app
