#include "app/lost_databases.h"

#include "app/data_dir.h"
#include "app/key_file.h"

#include <filesystem>
#include <string_view>
#include <system_error>

namespace sluice::app {

namespace {

// A database that SQLite would make anew: not there, or empty with nothing in the log beside it.
bool is_blank(const std::string& database) {
    namespace fs = std::filesystem;
    const auto has_bytes = [](const std::string& path) {
        std::error_code error;
        const auto size = fs::file_size(path, error);
        return !error && size > 0;
    };
    return !has_bytes(database) && !has_bytes(database + "-wal");
}

}  // namespace

void tell_of_new_databases(const std::string& data_dir, const obs::Log& log) {
    const auto tell = [&log](const std::string& path, std::string_view unknown) {
        log.warn("database_new", {{"path", path},
                                  {"unknown", unknown},
                                  {"mend", "if it was lost, stop and restore it from a backup"}});
    };
    const bool knows_tokens = !is_blank(tokens_path(data_dir));
    const bool knows_keys = !is_blank(keys_path(data_dir));
    const bool knows_usage = !is_blank(usage_path(data_dir));
    if (knows_usage && !knows_tokens) {
        tell(tokens_path(data_dir), "tokens: those that were given out are refused");
    }
    if (knows_usage && !knows_keys) {
        tell(keys_path(data_dir), "keys that were added by command");
    }
    if (knows_usage && is_blank(pages_path(data_dir))) {
        tell(pages_path(data_dir), "pages, where some were published");
    }
    if (!knows_usage && knows_tokens && knows_keys) {
        tell(usage_path(data_dir), "what was spent: every budget begins at nothing");
    }
}

}  // namespace sluice::app
