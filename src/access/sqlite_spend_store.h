// Spending in a SQLite file of its own: the store of a single gateway and of `sluice usage`.
#pragma once

#include "access/spend_store.h"
#include "io/sqlite_store.h"

namespace sluice::access {

// The schema of the file that SqliteSpendStore expects.
io::SqliteSchema spend_schema();

class SqliteSpendStore final : public SpendStore {
 public:
    // `store` outlives it and was opened with spend_schema().
    explicit SqliteSpendStore(io::SqliteStore& store);

    Task<Result<std::vector<Balance>>> load(UtcDay today) override;
    Task<Status> write(std::vector<SpendRow> rows) override;
    Task<Result<Usage>> usage(UsageQuery query) override;
    Task<Status> forget_before(UtcDay day) override;

 private:
    io::SqliteStore& store_;
};

}  // namespace sluice::access
