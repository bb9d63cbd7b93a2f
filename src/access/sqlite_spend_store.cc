#include "access/sqlite_spend_store.h"

#include "access/spend_rows.h"

#include <array>
#include <utility>

namespace sluice::access {

namespace {

using io::SqliteConnection;
using io::SqliteStatement;
using io::SqliteTransaction;

// Days are counted from 1970-01-01. The totals have a table of their own since they outlive the
// days that they were made of.
constexpr std::array kSchema = {
    io::SqliteMigration{R"sql(
        CREATE TABLE spend_day (
            day INTEGER NOT NULL,
            purse TEXT NOT NULL,
            id TEXT NOT NULL,
            provider TEXT NOT NULL,
            calls INTEGER NOT NULL,
            units INTEGER NOT NULL,
            micro_usd INTEGER NOT NULL,
            PRIMARY KEY (purse, id, day)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX spend_by_day ON spend_day (day);
        CREATE TABLE spend_total (
            purse TEXT NOT NULL,
            id TEXT NOT NULL,
            provider TEXT NOT NULL,
            calls INTEGER NOT NULL,
            units INTEGER NOT NULL,
            micro_usd INTEGER NOT NULL,
            PRIMARY KEY (purse, id)
        ) STRICT, WITHOUT ROWID;
    )sql"},
    io::SqliteMigration{R"sql(
        CREATE TABLE spend_books (
            row INTEGER PRIMARY KEY CHECK (row = 1),
            name TEXT NOT NULL
        ) STRICT;
        INSERT INTO spend_books VALUES (1, lower(hex(randomblob(8))));
    )sql"},
};

// The three figures of a row, from that column on.
Spent spent_at(const SqliteStatement& row, int column) {
    Spent spent;
    spent.calls = row.integer(column);
    spent.units = row.integer(column + 1);
    spent.micro_usd = row.integer(column + 2);
    return spent;
}

Status write_row(SqliteConnection& db, const SpendRow& row) {
    const std::string_view purse = to_string(row.account.purse);
    TRY_STATUS(
        db.change("INSERT INTO spend_day (day, purse, id, provider, calls, units, micro_usd)"
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (purse, id, day) DO UPDATE SET"
                  " calls = excluded.calls, units = excluded.units, micro_usd = excluded.micro_usd",
                  {to_stored(row.day), purse, row.account.id, row.account.provider,
                   row.on_day.calls, row.on_day.units, row.on_day.micro_usd}));
    TRY_STATUS(
        db.change("INSERT INTO spend_total (purse, id, provider, calls, units, micro_usd)"
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (purse, id) DO UPDATE SET"
                  " calls = excluded.calls, units = excluded.units, micro_usd = excluded.micro_usd",
                  {purse, row.account.id, row.account.provider, row.in_all.calls, row.in_all.units,
                   row.in_all.micro_usd}));
    return {};
}

Status write_in_transaction(SqliteConnection& db, const std::vector<SpendRow>& rows) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kImmediate));
    for (const SpendRow& row : rows) {
        TRY_STATUS(write_row(db, row));
    }
    return transaction.commit();
}

Result<AccountName> account_at(const SqliteStatement& row) {
    return read_account(row.text(0), row.text(1), row.text(2));
}

Result<std::vector<Balance>> load_in_transaction(SqliteConnection& db, UtcDay today) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kDeferred));
    BalanceSheet sheet(today);
    TRY(auto totals,
        db.query("SELECT * FROM (SELECT purse, id, provider, calls, units, micro_usd"
                 " FROM spend_total WHERE purse = 'token' LIMIT ?1)"
                 " UNION ALL SELECT * FROM (SELECT purse, id, provider, calls, units, micro_usd"
                 " FROM spend_total WHERE purse = 'key' LIMIT ?1)"
                 " UNION ALL SELECT purse, id, provider, calls, units, micro_usd"
                 " FROM spend_total WHERE purse NOT IN ('token', 'key')",
                 {kMaxAccounts}));
    for (;;) {
        TRY(const bool row, totals.next());
        if (!row) {
            break;
        }
        TRY(AccountName account, account_at(totals));
        sheet.add_total(std::move(account), spent_at(totals, 3));
    }
    TRY(auto days,
        db.query("SELECT purse, id, provider, day, calls, units, micro_usd FROM spend_day"
                 " WHERE day >= ?1",
                 {to_stored(first_of_month(today))}));
    for (;;) {
        TRY(const bool row, days.next());
        if (!row) {
            return std::move(sheet).take();
        }
        TRY(const AccountName account, account_at(days));
        sheet.add_day(account, day_from_stored(days.integer(3)), spent_at(days, 4));
    }
}

// One row more than are given out, which tells whether there are more.
constexpr std::size_t kRowsAsked = kMaxUsageRows + 1;

constexpr std::string_view kUsageByAccount =
    "SELECT purse, id, provider, 0, sum(calls), sum(units), sum(micro_usd) FROM spend_day"
    " WHERE purse = ?1 AND (?2 IS NULL OR id = ?2) AND day BETWEEN ?3 AND ?4"
    " GROUP BY id ORDER BY sum(micro_usd) DESC, sum(calls) DESC, id LIMIT ?5";
constexpr std::string_view kUsageByDay =
    "SELECT purse, coalesce(?2, ''), '', day, sum(calls), sum(units), sum(micro_usd)"
    " FROM spend_day WHERE purse = ?1 AND (?2 IS NULL OR id = ?2) AND day BETWEEN ?3 AND ?4"
    " GROUP BY day ORDER BY day LIMIT ?5";
constexpr std::string_view kUsageSum =
    "SELECT coalesce(sum(calls), 0), coalesce(sum(units), 0), coalesce(sum(micro_usd), 0)"
    " FROM spend_day WHERE purse = ?1 AND (?2 IS NULL OR id = ?2) AND day BETWEEN ?3 AND ?4";

Result<Usage> read_usage(SqliteConnection& db, const UsageQuery& query) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kDeferred));
    const bool by_day = query.group == UsageQuery::Group::kDay;
    const std::string_view purse = to_string(query.purse);
    const std::int64_t since = to_stored(query.since);
    const std::int64_t until = to_stored(query.until);
    Usage usage;
    TRY(auto rows, db.query(by_day ? kUsageByDay : kUsageByAccount,
                            {purse, query.id, since, until, kRowsAsked}));
    for (;;) {
        TRY(const bool found, rows.next());
        if (!found) {
            break;
        }
        if (usage.rows.size() == kMaxUsageRows) {
            usage.truncated = true;
            break;
        }
        UsageRow row;
        TRY(row.account, account_at(rows));
        if (by_day) {
            row.day = day_from_stored(rows.integer(3));
        }
        row.spent = spent_at(rows, 4);
        usage.rows.push_back(std::move(row));
    }
    TRY(auto sum, db.query(kUsageSum, {purse, query.id, since, until}));
    TRY_STATUS(sum.next());
    usage.sum = spent_at(sum, 0);
    return usage;
}

Result<std::string> read_books_name(SqliteConnection& db) {
    TRY(auto rows, db.query("SELECT name FROM spend_books"));
    TRY(const bool found, rows.next());
    SLUICE_ASSERT(found);
    return std::string(rows.text(0));
}

}  // namespace

io::SqliteSchema spend_schema() {
    return kSchema;
}

SqliteSpendStore::SqliteSpendStore(io::SqliteStore& store, io::SqliteStore& reports)
    : store_(store), reports_(reports) {}

Task<Result<std::string>> SqliteSpendStore::name() {
    co_return co_await store_.run(read_books_name);
}

Task<Result<std::vector<Balance>>> SqliteSpendStore::load(UtcDay today) {
    auto work = [today](SqliteConnection& db) { return load_in_transaction(db, today); };
    co_return co_await store_.run(std::move(work));
}

Task<Status> SqliteSpendStore::write(std::vector<SpendRow> rows) {
    auto work = [rows = std::move(rows)](SqliteConnection& db) {
        return write_in_transaction(db, rows);
    };
    co_return co_await store_.run(std::move(work));
}

Task<Result<Usage>> SqliteSpendStore::usage(UsageQuery query) {
    auto work = [query = std::move(query)](SqliteConnection& db) { return read_usage(db, query); };
    co_return co_await reports_.run(std::move(work));
}

Task<Result<std::size_t>> SqliteSpendStore::forget_before(UtcDay day) {
    auto work = [day](SqliteConnection& db) -> Result<std::size_t> {
        TRY(const std::int64_t gone,
            db.change("DELETE FROM spend_day WHERE (purse, id, day) IN"
                      " (SELECT purse, id, day FROM spend_day WHERE day < ?1 LIMIT ?2)",
                      {to_stored(day), kForgottenAtOnce}));
        return static_cast<std::size_t>(gone);
    };
    co_return co_await store_.run(std::move(work));
}

}  // namespace sluice::access
