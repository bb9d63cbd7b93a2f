#include "access/postgres_spend_store.h"

#include "access/spend_rows.h"

#include <array>
#include <utility>

namespace sluice::access {

namespace {

using io::PostgresRows;
using io::PostgresSession;
using io::PostgresValues;

// As the tables of access/sqlite_spend_store.cc are, with the name of the books before each
// account.
constexpr std::array kSteps = {
    io::PostgresMigration{R"sql(
        CREATE TABLE sluice_spend_day (
            books TEXT NOT NULL,
            purse TEXT NOT NULL,
            id TEXT NOT NULL,
            day BIGINT NOT NULL,
            provider TEXT NOT NULL,
            calls BIGINT NOT NULL,
            units BIGINT NOT NULL,
            micro_usd BIGINT NOT NULL,
            PRIMARY KEY (books, purse, id, day)
        );
        CREATE INDEX sluice_spend_by_day ON sluice_spend_day (day, purse);
        CREATE TABLE sluice_spend_total (
            books TEXT NOT NULL,
            purse TEXT NOT NULL,
            id TEXT NOT NULL,
            provider TEXT NOT NULL,
            calls BIGINT NOT NULL,
            units BIGINT NOT NULL,
            micro_usd BIGINT NOT NULL,
            PRIMARY KEY (books, purse, id)
        );
    )sql"},
    // Restoring a backup from before this step leaves the table in place.
    io::PostgresMigration{R"sql(
        DROP TABLE IF EXISTS sluice_books;
        CREATE TABLE sluice_books (
            books TEXT PRIMARY KEY,
            process TEXT NOT NULL,
            claim BIGINT NOT NULL
        );
    )sql"},
};

// One statement may not change a row twice, so of two rows for one the later is taken.
constexpr std::string_view kWriteDays =
    "INSERT INTO sluice_spend_day (books, purse, id, day, provider, calls, units, micro_usd)"
    " SELECT DISTINCT ON (purse, id, day) $1, purse, id, day, provider, calls, units, micro_usd"
    " FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],"
    " $8::bigint[]) WITH ORDINALITY AS r (purse, id, provider, day, calls, units, micro_usd, at)"
    " ORDER BY purse, id, day, at DESC"
    " ON CONFLICT (books, purse, id, day) DO UPDATE SET calls = excluded.calls,"
    " units = excluded.units, micro_usd = excluded.micro_usd";
constexpr std::string_view kWriteTotals =
    "INSERT INTO sluice_spend_total (books, purse, id, provider, calls, units, micro_usd)"
    " SELECT DISTINCT ON (purse, id) $1, purse, id, provider, calls, units, micro_usd"
    " FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[])"
    " WITH ORDINALITY AS r (purse, id, provider, calls, units, micro_usd, at)"
    " ORDER BY purse, id, at DESC"
    " ON CONFLICT (books, purse, id) DO UPDATE SET calls = excluded.calls,"
    " units = excluded.units, micro_usd = excluded.micro_usd";
constexpr std::string_view kTotals =
    "(SELECT purse, id, provider, calls, units, micro_usd FROM sluice_spend_total"
    " WHERE books = $1 AND purse = 'token' LIMIT $2)"
    " UNION ALL (SELECT purse, id, provider, calls, units, micro_usd FROM sluice_spend_total"
    " WHERE books = $1 AND purse = 'key' LIMIT $2)"
    " UNION ALL SELECT purse, id, provider, calls, units, micro_usd FROM sluice_spend_total"
    " WHERE books = $1 AND purse NOT IN ('token', 'key')";
constexpr std::string_view kDays =
    "SELECT purse, id, provider, calls, units, micro_usd, day FROM sluice_spend_day"
    " WHERE books = $1 AND day >= $2";
constexpr std::string_view kUsageByAccount =
    "SELECT purse, id, max(provider), sum(calls)::bigint, sum(units)::bigint,"
    " sum(micro_usd)::bigint, 0::bigint FROM sluice_spend_day"
    " WHERE purse = $1 AND ($2::text IS NULL OR id = $2) AND day BETWEEN $3 AND $4"
    " GROUP BY purse, id ORDER BY 6 DESC, 4 DESC, id COLLATE \"C\" LIMIT $5";
constexpr std::string_view kUsageByDay =
    "SELECT purse, coalesce($2::text, ''), '', sum(calls)::bigint, sum(units)::bigint,"
    " sum(micro_usd)::bigint, day FROM sluice_spend_day"
    " WHERE purse = $1 AND ($2::text IS NULL OR id = $2) AND day BETWEEN $3 AND $4"
    " GROUP BY purse, day ORDER BY day LIMIT $5";
constexpr std::string_view kUsageSum =
    "SELECT coalesce(sum(calls), 0)::bigint, coalesce(sum(units), 0)::bigint,"
    " coalesce(sum(micro_usd), 0)::bigint FROM sluice_spend_day"
    " WHERE purse = $1 AND ($2::text IS NULL OR id = $2) AND day BETWEEN $3 AND $4";
// Of all books: those of a replica that is gone have nobody else. Who comes second to a row leaves
// it to the first.
constexpr std::string_view kForget =
    "DELETE FROM sluice_spend_day WHERE ctid = ANY (ARRAY("
    "SELECT ctid FROM sluice_spend_day WHERE day < $1 LIMIT $2 FOR UPDATE SKIP LOCKED))";

constexpr std::string_view kTakeBooks =
    "INSERT INTO sluice_books (books, process, claim) VALUES ($1, gen_random_uuid()::text, 1)"
    " ON CONFLICT (books) DO UPDATE SET process = excluded.process,"
    " claim = sluice_books.claim + 1 RETURNING process, claim";
constexpr std::string_view kWhoHasBooks =
    "SELECT process, claim FROM sluice_books WHERE books = $1 FOR UPDATE";
constexpr std::string_view kKeepBooks =
    "INSERT INTO sluice_books (books, process, claim) VALUES ($1, $2, $3)"
    " ON CONFLICT (books) DO UPDATE SET process = excluded.process, claim = excluded.claim";

// One row more than are given out, which tells whether there are more.
constexpr std::size_t kRowsAsked = kMaxUsageRows + 1;

// The three figures of a row, from that column on.
Spent spent_at(const PostgresRows& rows, std::size_t row, std::size_t column) {
    Spent spent;
    spent.calls = rows.integer(row, column);
    spent.units = rows.integer(row, column + 1);
    spent.micro_usd = rows.integer(row, column + 2);
    return spent;
}

Result<AccountName> account_at(const PostgresRows& rows, std::size_t row) {
    return read_account(rows.text(row, 0), rows.text(row, 1), rows.text(row, 2));
}

// Rows as the parameters of either statement.
PostgresValues values_of(const std::string& books, const std::vector<SpendRow>& rows,
                         bool with_day) {
    std::array<std::vector<std::string>, 7> columns;
    for (const SpendRow& row : rows) {
        const Spent& spent = with_day ? row.on_day : row.in_all;
        columns[0].emplace_back(to_string(row.account.purse));
        columns[1].push_back(row.account.id);
        columns[2].push_back(row.account.provider);
        columns[3].push_back(std::to_string(to_stored(row.day)));
        columns[4].push_back(std::to_string(spent.calls));
        columns[5].push_back(std::to_string(spent.units));
        columns[6].push_back(std::to_string(spent.micro_usd));
    }
    PostgresValues values{books};
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (i != 3 || with_day) {
            values.emplace_back(io::postgres_array(columns[i]));
        }
    }
    return values;
}

Error taken_over(const std::string& books) {
    return Error{Code::kConflict, Blame::kGateway,
                 "another process took over the books of replica " + books +
                     ", so its data directory is a copy of this one: stop it, remove the file "
                     "replica there, and start both again",
                 std::nullopt};
}

// From here on whoever had them can't write in them.
Task<Result<BooksClaim>> take_books(PostgresSession& db, std::string books) {
    PostgresValues values{books};
    CO_TRY(const PostgresRows rows, co_await db.query(kTakeBooks, std::move(values)));
    BooksClaim claim;
    claim.process = rows.text(0, 0);
    claim.number = rows.integer(0, 1);
    co_return claim;
}

// For the rest of the transaction nobody else takes them.
Task<Result<BooksClaim>> hold_books(PostgresSession& db, std::string books, BooksClaim claim) {
    if (claim.number == 0) {
        co_return co_await take_books(db, books);
    }
    PostgresValues which{books};
    CO_TRY(const PostgresRows rows, co_await db.query(kWhoHasBooks, std::move(which)));
    if (!rows.empty() && rows.text(0, 0) == claim.process) {
        co_return claim;
    }
    if (!rows.empty() && rows.integer(0, 1) >= claim.number) {
        co_return taken_over(books);
    }
    // The database was restored from before they were taken.
    PostgresValues mine{books, claim.process, claim.number};
    CO_TRY(const PostgresRows kept, co_await db.query(kKeepBooks, std::move(mine)));
    co_return claim;
}

Task<Result<BooksClaim>> write_in_transaction(PostgresSession& db, std::string books,
                                              BooksClaim claim, std::vector<SpendRow> rows) {
    CO_TRY_STATUS(co_await db.begin());
    CO_TRY(BooksClaim held, co_await hold_books(db, books, std::move(claim)));
    PostgresValues days = values_of(books, rows, true);
    CO_TRY(const PostgresRows of_days, co_await db.query(kWriteDays, std::move(days)));
    PostgresValues totals = values_of(books, rows, false);
    CO_TRY(const PostgresRows in_all, co_await db.query(kWriteTotals, std::move(totals)));
    CO_TRY_STATUS(co_await db.commit());
    co_return held;
}

Task<Result<std::vector<Balance>>> load_in_transaction(PostgresSession& db, std::string books,
                                                       UtcDay today) {
    CO_TRY_STATUS(co_await db.begin_snapshot());
    BalanceSheet sheet(today);
    PostgresValues which{books, kMaxAccounts};
    CO_TRY(const PostgresRows totals, co_await db.query(kTotals, std::move(which)));
    for (std::size_t row = 0; row < totals.size(); ++row) {
        CO_TRY(AccountName account, account_at(totals, row));
        sheet.add_total(std::move(account), spent_at(totals, row, 3));
    }
    PostgresValues since{books, to_stored(first_of_month(today))};
    CO_TRY(const PostgresRows days, co_await db.query(kDays, std::move(since)));
    for (std::size_t row = 0; row < days.size(); ++row) {
        CO_TRY(const AccountName account, account_at(days, row));
        sheet.add_day(account, day_from_stored(days.integer(row, 6)), spent_at(days, row, 3));
    }
    CO_TRY_STATUS(co_await db.commit());
    co_return std::move(sheet).take();
}

Task<Result<Usage>> read_usage(PostgresSession& db, UsageQuery query) {
    CO_TRY_STATUS(co_await db.begin_snapshot());
    const bool by_day = query.group == UsageQuery::Group::kDay;
    const std::string purse(to_string(query.purse));
    Usage usage;
    PostgresValues asked{purse, query.id, to_stored(query.since), to_stored(query.until),
                         kRowsAsked};
    CO_TRY(const PostgresRows rows,
           co_await db.query(by_day ? kUsageByDay : kUsageByAccount, std::move(asked)));
    for (std::size_t row = 0; row < rows.size(); ++row) {
        if (row == kMaxUsageRows) {
            usage.truncated = true;
            break;
        }
        UsageRow found;
        CO_TRY(found.account, account_at(rows, row));
        if (by_day) {
            found.day = day_from_stored(rows.integer(row, 6));
        }
        found.spent = spent_at(rows, row, 3);
        usage.rows.push_back(std::move(found));
    }
    PostgresValues all{purse, query.id, to_stored(query.since), to_stored(query.until)};
    CO_TRY(const PostgresRows sum, co_await db.query(kUsageSum, std::move(all)));
    usage.sum = spent_at(sum, 0, 0);
    CO_TRY_STATUS(co_await db.commit());
    co_return usage;
}

Task<Result<std::size_t>> forget(PostgresSession& db, UtcDay day) {
    PostgresValues values{to_stored(day), kForgottenAtOnce};
    CO_TRY(const PostgresRows gone, co_await db.query(kForget, std::move(values)));
    co_return static_cast<std::size_t>(gone.changed());
}

}  // namespace

io::PostgresSchema postgres_spend_schema() {
    return {"spending", kSteps};
}

PostgresSpendStore::PostgresSpendStore(io::PostgresClient& client, std::string name)
    : client_(client), name_(std::move(name)) {}

Task<Result<std::string>> PostgresSpendStore::name() {
    co_return name_;
}

Task<Result<std::vector<Balance>>> PostgresSpendStore::load(UtcDay today) {
    if (!name_.empty()) {
        auto take = [name = name_](PostgresSession& db) { return take_books(db, name); };
        CO_TRY(claim_, co_await client_.run(std::move(take)));
    }
    auto work = [name = name_, today](PostgresSession& db) {
        return load_in_transaction(db, name, today);
    };
    co_return co_await client_.run(std::move(work));
}

Task<Status> PostgresSpendStore::write(std::vector<SpendRow> rows) {
    auto work = [name = name_, claim = claim_, rows = std::move(rows)](PostgresSession& db) {
        return write_in_transaction(db, name, claim, rows);
    };
    CO_TRY(claim_, co_await client_.run(std::move(work)));
    co_return Status();
}

Task<Result<Usage>> PostgresSpendStore::usage(UsageQuery query) {
    auto work = [query = std::move(query)](PostgresSession& db) { return read_usage(db, query); };
    co_return co_await client_.run(std::move(work));
}

Task<Result<std::size_t>> PostgresSpendStore::forget_before(UtcDay day) {
    auto work = [day](PostgresSession& db) { return forget(db, day); };
    co_return co_await client_.run(std::move(work));
}

}  // namespace sluice::access
