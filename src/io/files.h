// Files as backups need them: what is in one, and that it stays on the disk. Calls block. Errors
// are kUnavailable, and kNotFound for a file that is not there.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {

// The bytes of a file that nobody changes meanwhile.
class MappedFile {
 public:
    static Result<MappedFile> open(const std::string& path);
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&&) = delete;
    ~MappedFile();

    // As long as this object lives.
    std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
    MappedFile(void* data, std::size_t size) : data_(data), size_(size) {}

    void* data_;
    std::size_t size_;
};

// A new file (mode 0600), and to the disk. kConflict when there is one.
Status write_new_file(const std::string& path, std::string_view bytes);

// The same whole or not at all; of several who make it at once the first one's stays, which is no
// error.
Status make_file_once(const std::string& path, std::string_view bytes);

// A power cut from now on leaves the file, or what is made, renamed and removed in the folder, as
// it is.
Status sync_to_disk(const std::string& path);

// What is in a folder, without its path; nothing where it can't be read.
std::vector<std::string> names_in(const std::string& folder);

inline constexpr std::size_t kPrivateSuffixBytes = 6;
// A new folder (mode 0700) whose name is `prefix` and kPrivateSuffixBytes characters.
Result<std::string> make_private_folder(const std::string& prefix);

}  // namespace sluice::io
