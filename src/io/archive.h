// A compressed tar archive of a few files, as backups are. Not thread-safe; calls block.
// Errors: kUnavailable, and what each call says. Messages name the archive.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct archive;

namespace sluice::io {

class ArchiveWriter {
 public:
    // A new file (mode 0600). kConflict when there is one.
    static Result<ArchiveWriter> create(const std::string& path);

    Status add(std::string_view name, std::string_view bytes);
    // Writes all of it to the disk. Once, as the last call.
    Status finish();

 private:
    struct Close {
        void operator()(archive* writer) const;
    };
    struct File;
    ArchiveWriter(std::string path, std::shared_ptr<const File> file);
    Error failure() const;

    std::string path_;
    std::shared_ptr<const File> file_;  // open as long as the archive is
    std::unique_ptr<archive, Close> archive_;
};

class ArchiveReader {
 public:
    // kNotFound when there is no such file.
    static Result<ArchiveReader> open(const std::string& path);

    // The name of the next file, or nothing after the last one; then the archive was whole.
    // kInvalidRequest for what is no archive, an altered one, or one with anything but plain files.
    Result<std::optional<std::string>> next();
    // What is in it, at most `most` bytes: kPayloadTooLarge beyond. After next(), once.
    Result<std::string> read(std::size_t most);
    // The same into a new file (mode 0600), and to the disk.
    Status extract(const std::string& to, std::size_t most);

 private:
    struct Close {
        void operator()(archive* reader) const;
    };
    explicit ArchiveReader(std::string path);
    Error failure() const;
    Result<std::size_t> read_some(char* to, std::size_t size);

    std::string path_;
    std::unique_ptr<archive, Close> archive_;
};

}  // namespace sluice::io
