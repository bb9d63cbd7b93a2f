#include "app/data_dir.h"

#include "app/restore.h"

#include <filesystem>
#include <system_error>

namespace sluice::app {

namespace fs = std::filesystem;

namespace {

Status make_data_dir(const std::string& data_dir) {
    std::error_code error;
    const bool made = fs::create_directories(data_dir, error);
    if (!error && made) {
        fs::permissions(data_dir, fs::perms::owner_all, error);
    }
    if (!error && !fs::is_directory(data_dir, error)) {
        error = std::make_error_code(std::errc::not_a_directory);
    }
    if (error) {
        return Error{Code::kUnavailable,
                     Blame::kGateway,
                     "cannot use the data directory " + data_dir + ": " + error.message() +
                         "; choose another one with --data-dir",
                     {}};
    }
    return {};
}

}  // namespace

Status use_data_dir(const std::string& data_dir, StoreUse use) {
    if (use == StoreUse::kMake) {
        TRY_STATUS(make_data_dir(data_dir));
        return finish_restore(data_dir);
    }
    std::error_code error;
    if (fs::is_directory(data_dir, error)) {
        return use == StoreUse::kChange ? finish_restore(data_dir) : Status();
    }
    return Error{Code::kNotFound,
                 Blame::kCaller,
                 "there is no data directory " + data_dir +
                     "; name the right one with --data-dir, or make this one with `sluice serve`",
                 {}};
}

bool is_writable_by_others(const std::string& data_dir) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::perms mode = fs::status(data_dir, error).permissions();
    return !error && (mode & (fs::perms::group_write | fs::perms::others_write)) != fs::perms::none;
}

std::string tokens_path(const std::string& data_dir) {
    return data_dir + "/access.db";
}

std::string pages_path(const std::string& data_dir) {
    return data_dir + "/pages.db";
}

std::string usage_path(const std::string& data_dir) {
    return data_dir + "/usage.db";
}

Result<io::SqliteConnection> open_store(const std::string& path, io::SqliteSchema schema,
                                        StoreUse use, const io::SqliteOptions& options) {
    return use == StoreUse::kRead ? io::SqliteConnection::open_to_read(path, schema, options)
                                  : io::SqliteConnection::open(path, schema, options);
}

}  // namespace sluice::app
