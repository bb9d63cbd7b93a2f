// Opening what a data directory holds: to serve from it and to change it, or only to look at it.
#pragma once

#include "base/result.h"
#include "io/sqlite.h"

#include <cstdint>
#include <string>

namespace sluice::app {

enum class StoreUse : std::uint8_t {
    kChange,  // makes what is missing and brings schemas up to date
    kRead,    // leaves the directory and its files as they are; what is missing is empty
};

// kNotFound, with what to do about it, when there is no such directory.
Status require_data_dir(const std::string& data_dir);

// Errors as SqliteConnection::open() and open_to_read() have them.
Result<io::SqliteConnection> open_store(const std::string& path, io::SqliteSchema schema,
                                        StoreUse use, const io::SqliteOptions& options = {});

}  // namespace sluice::app
