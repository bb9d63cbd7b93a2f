#include "app/page_file.h"

#include "app/wire.h"

#include <chrono>

namespace sluice::app {

io::SqliteOptions page_file_options() {
    io::SqliteOptions options;
    options.busy_timeout = std::chrono::seconds(5);
    return options;
}

Result<std::unique_ptr<PageFile>> PageFile::open(const std::string& data_dir, StoreUse use) {
    TRY_STATUS(use_data_dir(data_dir, use));
    TRY(auto connection,
        open_store(pages_path(data_dir), titles::page_schema(), use, page_file_options()));
    return std::unique_ptr<PageFile>(new PageFile(std::move(connection)));
}

PageFile::PageFile(io::SqliteConnection connection)
    : file_("pages", std::move(connection), metrics_), pages_(file_, file_, clock_) {}

}  // namespace sluice::app
