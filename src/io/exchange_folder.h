// The folder that exchanges are recorded into: its lock, its modes, its bounds, the names of files.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::io {

// Not thread-safe. One process at a time has a folder open.
class ExchangeFolder {
 public:
    // Makes `path` (mode 0700) unless it is there, and clears away what a crash left half written.
    // kUnavailable when it can't be used, kForbidden when others may read it, kConflict when it is
    // open elsewhere.
    static Result<ExchangeFolder> open(const std::string& path);
    ~ExchangeFolder();
    ExchangeFolder(ExchangeFolder&& other) noexcept;
    ExchangeFolder& operator=(ExchangeFolder&&) = delete;

    // The recordings in it and the bytes that they take.
    std::size_t files() const { return files_; }
    std::size_t bytes() const { return bytes_; }

    // Adds a file, "<next number>-<name>.json", mode 0600, whole or not at all. kUnavailable with
    // the system's reason.
    Status add(std::string_view name, std::string_view text);

 private:
    ExchangeFolder(std::string path, int lock);
    Status look();

    std::string path_;
    int lock_ = -1;  // of the file that says that the folder is in use
    std::size_t files_ = 0;
    std::size_t bytes_ = 0;
    std::uint64_t last_number_ = 0;
};

inline constexpr std::string_view kExchangeSuffix = ".json";

}  // namespace sluice::io
