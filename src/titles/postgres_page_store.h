// Pages in a PostgreSQL that replicas share.
#pragma once

#include "base/clock.h"
#include "io/postgres.h"
#include "io/postgres_schema.h"
#include "titles/page_store.h"

namespace sluice::titles {

// The tables that PostgresPageStore expects.
io::PostgresSchema postgres_page_schema();

class PostgresPageStore final : public PageStore {
 public:
    // References outlive it; the database has the tables of postgres_page_schema(). Removals among
    // so many last changes are remembered.
    PostgresPageStore(io::PostgresClient& client, const Clock& clock,
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
    io::PostgresClient& client_;
    const Clock& clock_;
    const std::size_t remembered_changes_;
};

}  // namespace sluice::titles
