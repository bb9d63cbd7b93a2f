// A folder of its own for a test that needs real files.
#pragma once

#include "base/result.h"

#include <filesystem>
#include <stdlib.h>
#include <string>
#include <system_error>

namespace sluice::test {

// Made under the system's folder for temporary files and removed with all that is in it.
class TempDir {
 public:
    TempDir() {
        std::string pattern = (std::filesystem::temp_directory_path() / "sluice-XXXXXX").string();
        SLUICE_ASSERT(::mkdtemp(pattern.data()) != nullptr);
        path_ = pattern;
    }
    ~TempDir() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    const std::filesystem::path& path() const { return path_; }
    // The path of a file in it.
    std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
    std::filesystem::path path_;
};

}  // namespace sluice::test
