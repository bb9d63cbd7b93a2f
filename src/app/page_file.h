// The pages of a data directory, for one command. A running gateway notices a change at the next
// search, so commands work the same beside one and without one.
#pragma once

#include "app/private_loop.h"
#include "app/stores.h"
#include "base/clock.h"
#include "base/result.h"
#include "io/sqlite_store.h"
#include "obs/metrics.h"
#include "titles/sqlite_page_store.h"

#include <memory>
#include <string>
#include <utility>

namespace sluice::app {

// Belongs to one thread.
class PageFile {
 public:
    // Errors as the functions of app/stores.h have them.
    static Result<std::unique_ptr<PageFile>> open(const std::string& data_dir, StoreUse use);

    // To its end.
    template <class T>
    T run(Task<T> task) {
        return loop_.run(std::move(task));
    }

    titles::PageStore& pages() { return pages_; }

 private:
    explicit PageFile(io::SqliteConnection connection);

    SystemClock clock_;
    obs::Metrics metrics_;
    PrivateLoop loop_;
    io::SqliteStore file_;
    titles::SqlitePageStore pages_;
};

// How a connection for changes waits for those of other processes: an import's batch may take a
// while.
io::SqliteOptions page_file_options();

}  // namespace sluice::app
