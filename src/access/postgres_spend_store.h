// Spending in a PostgreSQL, each replica under a name of its own, so that it survives with the
// database and a report has what all of them spent.
#pragma once

#include "access/spend_store.h"
#include "io/postgres.h"
#include "io/postgres_schema.h"

#include <cstdint>
#include <string>

namespace sluice::access {

// The tables that PostgresSpendStore expects.
io::PostgresSchema postgres_spend_schema();

// Who has books: each process that takes them over does so under the next number.
struct BooksClaim {
    std::string process = {};
    std::int64_t number = 0;  // 0: it did not yet

    BooksClaim() = default;  // no aggregate: see the rules in base/task.h
};

// Balances are those of one replica's books; usage() and forget_before() are about all books.
class PostgresSpendStore final : public SpendStore {
 public:
    // `client` outlives it; the database has the tables of postgres_spend_schema(). Of two
    // processes under one name, which only copies of a data directory have, the one that loaded or
    // wrote first can write no more from then on, whatever becomes of the other one: kConflict.
    // What it spends after that is written nowhere; what is written is right.
    PostgresSpendStore(io::PostgresClient& client, std::string name);

    Task<Result<std::string>> name() override;
    Task<Result<std::vector<Balance>>> load(UtcDay today) override;
    Task<Status> write(std::vector<SpendRow> rows) override;
    Task<Result<Usage>> usage(UsageQuery query) override;
    Task<Result<std::size_t>> forget_before(UtcDay day) override;

 private:
    io::PostgresClient& client_;
    const std::string name_;
    BooksClaim claim_;  // of this process
};

}  // namespace sluice::access
