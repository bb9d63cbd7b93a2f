// Spending in a PostgreSQL, each replica under a name of its own, so that it survives with the
// database and a report has what all of them spent.
#pragma once

#include "access/spend_store.h"
#include "io/postgres.h"
#include "io/postgres_schema.h"

#include <string>

namespace sluice::access {

// The tables that PostgresSpendStore expects.
io::PostgresSchema postgres_spend_schema();

// Balances are those of one replica's books; usage() and forget_before() are about all books.
class PostgresSpendStore final : public SpendStore {
 public:
    // `client` outlives it; the database has the tables of postgres_spend_schema(). No other
    // process writes under the same name at the same time.
    PostgresSpendStore(io::PostgresClient& client, std::string name);

    Task<Result<std::string>> name() override;
    Task<Result<std::vector<Balance>>> load(UtcDay today) override;
    Task<Status> write(std::vector<SpendRow> rows) override;
    Task<Result<Usage>> usage(UsageQuery query) override;
    Task<Result<std::size_t>> forget_before(UtcDay day) override;

 private:
    io::PostgresClient& client_;
    const std::string name_;
};

}  // namespace sluice::access
