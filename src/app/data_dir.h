// Opening what a data directory holds: to serve from it and to change it, or only to look at it.
#pragma once

#include "base/result.h"
#include "io/sqlite.h"

#include <cstdint>
#include <string>

namespace sluice::app {

enum class StoreUse : std::uint8_t {
    kMake,    // makes the directory and what is missing in it, and brings schemas up to date
    kChange,  // the same in a directory that is there, since what is to be changed is there
    kRead,    // leaves the directory and its files as they are; what is missing is empty
};

// The directory is there, or was made (mode 0700) where `use` makes it, and unless it is only read,
// an interrupted restore was finished. Before its lock is taken. Errors say what to do: kNotFound
// when there is none, kUnavailable when it can't be made or is no directory.
Status use_data_dir(const std::string& data_dir, StoreUse use);

// Whether others than its owner may put files of theirs in place of its own.
bool is_writable_by_others(const std::string& data_dir);

// Where its tokens are, where it is written down what was spent, and where its pages are.
std::string tokens_path(const std::string& data_dir);
std::string usage_path(const std::string& data_dir);
std::string pages_path(const std::string& data_dir);

// Errors as SqliteConnection::open() and open_to_read() have them.
Result<io::SqliteConnection> open_store(const std::string& path, io::SqliteSchema schema,
                                        StoreUse use, const io::SqliteOptions& options = {});

}  // namespace sluice::app
