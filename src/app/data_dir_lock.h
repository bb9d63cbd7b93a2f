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

    // Takes the file away again, if take() made it: for who leaves the directory as it was. The
    // lock is held all the same.
    void leave_no_trace();

    DataDirLock(DataDirLock&& other) noexcept
        : file_(std::exchange(other.file_, -1)), made_(std::exchange(other.made_, {})) {}
    DataDirLock& operator=(DataDirLock&&) = delete;
    ~DataDirLock();

 private:
    DataDirLock(int file, std::string made) : file_(file), made_(std::move(made)) {}

    int file_;
    std::string made_;  // the path of a file that was not there before; empty: it was
};

}  // namespace sluice::app
