// Copies of databases, for backups: made while others write to the original, and checked before
// anybody relies on them. Errors as in io/sqlite.h.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <string>

namespace sluice::io {

// Copies what is committed in `from` at one moment to the new file `to` (mode 0600), a single file
// without a log beside it. The original is not changed, and whoever writes to it does not wait.
// Blocks for as long as that takes. kNotFound when there is no `from`. An error names the file that
// it is of: `to` where the copy can't be written.
Status copy_database(const std::string& from, const std::string& to);

// Reads the whole file, which nobody may be changing. Returns the version of its schema.
// kUnavailable with the first finding when it is damaged.
Result<std::int64_t> check_copied_database(const std::string& path);

}  // namespace sluice::io
