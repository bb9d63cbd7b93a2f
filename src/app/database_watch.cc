#include "app/database_watch.h"

#include "app/data_dir.h"
#include "app/key_file.h"
#include "app/stores.h"

#include <string_view>
#include <sys/stat.h>

namespace sluice::app {

std::vector<std::string> database_files(const Config& config) {
    const std::string dir = state_dir(config);
    std::vector<std::string> paths;
    if (!has_shared_tokens(config)) {
        paths.push_back(tokens_path(config.data_dir));
    }
    if (!has_shared_keys(config)) {
        paths.push_back(usage_path(dir));
        paths.push_back(keys_path(dir));
    }
    if (!has_shared_pages(config)) {
        paths.push_back(pages_path(config.data_dir));
    }
    if (config.titles.enabled) {
        paths.push_back(search_budget_path(config));
    }
    return paths;
}

DatabaseWatch::DatabaseWatch(const std::vector<std::string>& paths, Clock& clock,
                             const obs::Log& log)
    : clock_(clock), log_(log) {
    for (const std::string& path : paths) {
        struct stat found{};
        if (::stat(path.c_str(), &found) == 0) {
            files_.push_back({path, found.st_dev, found.st_ino});
        }
    }
}

Task<void> DatabaseWatch::run() {
    for (;;) {
        co_await clock_.sleep_until(clock_.now() + kEvery);
        look();
    }
}

void DatabaseWatch::look() {
    for (File& file : files_) {
        struct stat found{};
        const bool is_there = ::stat(file.path.c_str(), &found) == 0;
        const bool is_in_place =
            is_there && found.st_dev == file.device && found.st_ino == file.inode;
        if (is_in_place == file.is_in_place) {
            continue;
        }
        file.is_in_place = is_in_place;
        if (is_in_place) {
            log_.info("database_back", {{"path", file.path}});
            continue;
        }
        const std::string_view found_there = is_there ? "another file" : "nothing";
        log_.error("database_moved",
                   {{"path", file.path},
                    {"found", found_there},
                    {"meaning",
                     "what was opened is read and written as before, and what is written is lost "
                     "when this process ends"},
                    {"mend",
                     "move the file back; if it is gone, stop, restore it where a backup has it, "
                     "and start"}});
    }
}

}  // namespace sluice::app
