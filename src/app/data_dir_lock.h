// Who spends from a data directory: one process, since two would each spend what its budgets leave,
// and write over each other's figures.
#pragma once

#include "base/result.h"

#include <string>
#include <utility>

namespace sluice::app {

// Held for as long as this object lives, and given up by the kernel however the process ends.
class DataDirLock {
 public:
    // Takes the lock of an existing `data_dir`, on a file of its own in there. kUnavailable, with
    // the process that holds it, when another one does, or when the file can't be used.
    static Result<DataDirLock> take(const std::string& data_dir);

    DataDirLock(DataDirLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
    DataDirLock& operator=(DataDirLock&&) = delete;
    ~DataDirLock();

 private:
    explicit DataDirLock(int file) : file_(file) {}

    int file_;
};

}  // namespace sluice::app
