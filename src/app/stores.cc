#include "app/stores.h"

#include <filesystem>

namespace sluice::app {

Status require_data_dir(const std::string& data_dir) {
    std::error_code error;
    if (std::filesystem::is_directory(data_dir, error)) {
        return {};
    }
    return Error{Code::kNotFound,
                 Blame::kCaller,
                 "there is no data directory " + data_dir +
                     "; name the right one with --data-dir, or make this one with `sluice serve`",
                 {}};
}

Result<io::SqliteConnection> open_store(const std::string& path, io::SqliteSchema schema,
                                        StoreUse use, const io::SqliteOptions& options) {
    return use == StoreUse::kRead ? io::SqliteConnection::open_to_read(path, schema, options)
                                  : io::SqliteConnection::open(path, schema, options);
}

}  // namespace sluice::app
