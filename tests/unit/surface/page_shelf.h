// Pages in a real file, for the doors that show them.
#pragma once

#include "io/sqlite_store.h"
#include "obs/metrics.h"
#include "support/manual_clock.h"
#include "support/temp_dir.h"
#include "titles/compute_threads.h"
#include "titles/sqlite_page_store.h"

namespace sluice::surface {

struct PageShelf {
    explicit PageShelf(const Clock& clock)
        : file("pages",
               io::SqliteConnection::open(dir.file("pages.db"), titles::page_schema()).value(),
               metrics),
          store(file, file, clock) {}

    test::TempDir dir;
    obs::Metrics metrics;
    io::SqliteStore file;
    titles::SqlitePageStore store;
    titles::ComputeThreads hashing{"pins", 1};
};

}  // namespace sluice::surface
