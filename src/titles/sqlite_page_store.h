// Pages in a SQLite file of their own.
#pragma once

#include "base/clock.h"
#include "io/sqlite_store.h"
#include "titles/page_store.h"

namespace sluice::titles {

// The schema of the file that SqlitePageStore expects.
io::SqliteSchema page_schema();

class SqlitePageStore final : public PageStore {
 public:
    // References outlive it. Both files were opened with page_schema() on the same file. `reads`
    // serves searches and readers, so that an import holds none of them up; it may be the same one.
    // Removals among so many last changes are remembered.
    SqlitePageStore(io::SqliteStore& changes, io::SqliteStore& reads, const Clock& clock,
                    std::size_t remembered_changes = kRememberedChanges);

    Task<Result<PageRecord>> add(NewPage page) override;
    Task<Result<ImportCount>> import(std::vector<NewPage> pages) override;
    Task<Result<PageRecord>> patch(std::int64_t id, PagePatch patch) override;
    Task<Status> remove(std::int64_t id) override;
    Task<Result<PageRecord>> get(std::int64_t id) override;
    Task<Result<PageText>> text(std::int64_t id) override;
    Task<Result<PageText>> text(std::string slug) override;
    Task<Result<std::string>> pin_hash(std::int64_t id) override;
    Task<Result<PageList>> list(PageQuery query) override;
    Task<Result<StoreRevision>> revision() override;
    Task<Result<CandidateSet>> candidates(StoreRevision since) override;

 private:
    io::SqliteStore& changes_;
    io::SqliteStore& reads_;
    const Clock& clock_;
    const std::size_t remembered_changes_;
};

}  // namespace sluice::titles
