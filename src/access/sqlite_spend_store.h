// Spending in a SQLite file of its own: the store of a single gateway and of `sluice usage`.
#pragma once

#include "access/spend_store.h"
#include "io/sqlite_store.h"

namespace sluice::access {

// The schema of the file that SqliteSpendStore expects.
io::SqliteSchema spend_schema();

class SqliteSpendStore final : public SpendStore {
 public:
    // Both outlive it and were opened with spend_schema() on the same file. `reports` reads for
    // usage(), so that a long report holds nothing up; it may be the same one.
    SqliteSpendStore(io::SqliteStore& store, io::SqliteStore& reports);

    Task<Result<std::string>> name() override;
    Task<Result<std::vector<Balance>>> load(UtcDay today) override;
    Task<Status> write(std::vector<SpendRow> rows) override;
    Task<Result<Usage>> usage(UsageQuery query) override;
    Task<Result<std::size_t>> forget_before(UtcDay day) override;

 private:
    io::SqliteStore& store_;
    io::SqliteStore& reports_;
};

}  // namespace sluice::access
