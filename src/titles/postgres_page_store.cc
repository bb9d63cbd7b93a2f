#include "titles/postgres_page_store.h"

#include "io/postgres_history.h"
#include "titles/page_rows.h"
#include "titles/slug.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::titles {

namespace {

using io::PostgresRows;
using io::PostgresSession;
using io::PostgresValues;

constexpr std::string_view kColumns =
    "id, title, slug, author, lifecycle, claimed, current_version, created_at, updated_at,"
    " CASE WHEN claimed = 1 AND EXISTS (SELECT 1 FROM sluice_page_pin"
    " WHERE sluice_page_pin.page = sluice_page.id) THEN 1 ELSE 0 END";

std::string select(std::string_view rest) {
    return std::string("SELECT ").append(kColumns).append(" FROM sluice_page ").append(rest);
}

// A row of kColumns.
Result<PageRecord> read_record(const PostgresRows& rows, std::size_t row) {
    PageRecord record;
    record.id = rows.integer(row, 0);
    record.title = rows.text(row, 1);
    record.slug = rows.text(row, 2);
    record.author = rows.text(row, 3);
    TRY(record.lifecycle, stored_lifecycle(rows.text(row, 4)));
    record.is_claimed = rows.integer(row, 5) != 0;
    record.version = rows.integer(row, 6);
    record.created_at = from_stored(rows.integer(row, 7));
    record.updated_at = from_stored(rows.integer(row, 8));
    record.has_pin = rows.integer(row, 9) != 0;
    return record;
}

Task<Result<std::optional<PageRecord>>> find_one(PostgresSession& db, std::string_view sql,
                                                 PostgresValues values) {
    CO_TRY(const PostgresRows rows, co_await db.query(sql, std::move(values)));
    if (rows.empty()) {
        co_return std::optional<PageRecord>();
    }
    CO_TRY(auto record, read_record(rows, 0));
    co_return std::optional<PageRecord>(std::move(record));
}

Task<Result<std::optional<PageRecord>>> find_by_id(PostgresSession& db, std::int64_t id) {
    static const std::string sql = select("WHERE id = $1");
    PostgresValues values{id};
    return find_one(db, sql, std::move(values));
}

Task<Result<std::optional<PageRecord>>> find_by_slug(PostgresSession& db, std::string slug) {
    static const std::string sql = select("WHERE slug = $1");
    PostgresValues values{slug};
    return find_one(db, sql, std::move(values));
}

Task<Result<std::string>> read_text(PostgresSession& db, std::string_view sql, std::int64_t page) {
    PostgresValues values{page};
    CO_TRY(const PostgresRows rows, co_await db.query(sql, std::move(values)));
    co_return rows.empty() ? std::string() : std::string(rows.text(0, 0));
}

constexpr std::string_view kBody = "SELECT markdown FROM sluice_page_body WHERE page = $1";
constexpr std::string_view kPin = "SELECT hash FROM sluice_page_pin WHERE page = $1";

Task<Status> change(PostgresSession& db, std::string_view sql, PostgresValues values) {
    CO_TRY(const PostgresRows changed, co_await db.query(sql, std::move(values)));
    co_return Status();
}

Task<Status> write_body(PostgresSession& db, std::int64_t page, std::string body) {
    PostgresValues values{page, body};
    return change(db,
                  "INSERT INTO sluice_page_body (page, markdown) VALUES ($1, $2)"
                  " ON CONFLICT (page) DO UPDATE SET markdown = excluded.markdown",
                  std::move(values));
}

Task<Status> write_pin(PostgresSession& db, std::int64_t page, std::string hash) {
    if (hash.empty()) {
        PostgresValues values{page};
        return change(db, "DELETE FROM sluice_page_pin WHERE page = $1", std::move(values));
    }
    PostgresValues values{page, hash};
    return change(db,
                  "INSERT INTO sluice_page_pin (page, hash) VALUES ($1, $2)"
                  " ON CONFLICT (page) DO UPDATE SET hash = excluded.hash",
                  std::move(values));
}

Task<Result<std::string>> free_slug(PostgresSession& db, std::string slug) {
    SlugSearch search(std::move(slug));
    while (!search.done()) {
        PostgresValues values{search.next()};
        CO_TRY(const PostgresRows found,
               co_await db.query("SELECT 1 FROM sluice_page WHERE slug = $1", std::move(values)));
        search.answer(!found.empty());
    }
    co_return search.next();
}

// From here on nobody else changes anything, until this transaction ends.
Task<Status> lock_revision(PostgresSession& db) {
    CO_TRY_STATUS(co_await db.begin());
    CO_TRY(const PostgresRows rows,
           co_await db.query_row("SELECT revision FROM sluice_page_revision FOR UPDATE"));
    co_return Status();
}

// An id that was given away is never given again.
Task<Result<std::int64_t>> take_id(PostgresSession& db, std::optional<std::int64_t> wanted) {
    PostgresValues values{wanted};
    CO_TRY(const PostgresRows rows,
           co_await db.query_row("UPDATE sluice_page_revision SET last_id ="
                                 " greatest(last_id, coalesce($1::bigint, last_id + 1))"
                                 " RETURNING last_id",
                                 std::move(values)));
    co_return wanted.value_or(rows.integer(0, 0));
}

// The revision is locked.
Task<Result<PageRecord>> insert_page(PostgresSession& db, NewPage page, WallTime now) {
    CO_TRY(const PostgresRows kept,
           co_await db.query_row("SELECT pages FROM sluice_page_revision"));
    if (kept.integer(0, 0) >= static_cast<std::int64_t>(kMaxPages)) {
        co_return too_many_pages();
    }
    PageRecord record = record_of(page, now);
    if (record.slug.empty()) {
        CO_TRY(record.slug, co_await free_slug(db, slug_of(page.title)));
    } else {
        CO_TRY(const auto other, co_await find_by_slug(db, record.slug));
        if (other) {
            co_return slug_is_taken(record.slug);
        }
    }
    if (page.id) {
        PostgresValues before{*page.id};
        CO_TRY(const PostgresRows last,
               co_await db.query("SELECT coalesce("
                                 "(SELECT last_version FROM sluice_removed_page WHERE id = $1),"
                                 " (SELECT version FROM sluice_page_pruned WHERE id >= $1), 0)",
                                 std::move(before)));
        record.version = std::max(record.version, last.integer(0, 0) + 1);
    }
    CO_TRY(record.id, co_await take_id(db, page.id));
    PostgresValues values{record.id,
                          record.title,
                          record.slug,
                          record.author,
                          to_string(record.lifecycle),
                          record.is_claimed ? 1 : 0,
                          record.version,
                          to_stored(now)};
    CO_TRY_STATUS(co_await change(
        db,
        "INSERT INTO sluice_page (id, title, slug, author, lifecycle, claimed, current_version,"
        " created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)",
        std::move(values)));
    PostgresValues back{record.id};
    CO_TRY_STATUS(
        co_await change(db, "DELETE FROM sluice_removed_page WHERE id = $1", std::move(back)));
    CO_TRY_STATUS(co_await write_body(db, record.id, std::move(page.body)));
    if (!page.pin_hash.empty()) {
        CO_TRY_STATUS(co_await write_pin(db, record.id, std::move(page.pin_hash)));
    }
    co_return record;
}

struct UpdatedPage {
    PageRecord record;
    bool differs = false;  // from what it was, but for the PIN
};

Task<Result<UpdatedPage>> update_page(PostgresSession& db, PageRecord record, PagePatch patch,
                                      std::optional<std::int64_t> version, WallTime now) {
    std::string body;
    if (patch.body) {
        CO_TRY(body, co_await read_text(db, kBody, record.id));
    }
    CO_TRY(PageChange made, change_of(record, body, patch, version, now));
    if (made.pin_hash) {
        CO_TRY_STATUS(co_await write_pin(db, record.id, *made.pin_hash));
    }
    UpdatedPage updated{std::move(made.after), made.differs};
    if (!updated.differs) {
        co_return updated;
    }
    const PageRecord& after = updated.record;
    if (made.has_new_slug) {
        CO_TRY(const auto other, co_await find_by_slug(db, after.slug));
        if (other) {
            co_return slug_is_taken(after.slug);
        }
    }
    PostgresValues values{after.id,
                          after.title,
                          after.slug,
                          after.author,
                          to_string(after.lifecycle),
                          after.is_claimed ? 1 : 0,
                          after.version,
                          to_stored(now)};
    CO_TRY_STATUS(co_await change(
        db,
        "UPDATE sluice_page SET title = $2, slug = $3, author = $4, lifecycle = $5, claimed = $6,"
        " current_version = $7, updated_at = $8 WHERE id = $1",
        std::move(values)));
    if (made.has_new_body) {
        CO_TRY_STATUS(co_await write_body(db, after.id, *std::move(patch.body)));
    }
    co_return updated;
}

Task<Result<PageRecord>> add_in_transaction(PostgresSession& db, NewPage page, WallTime now) {
    CO_TRY_STATUS(co_await lock_revision(db));
    if (page.id) {
        CO_TRY(const auto other, co_await find_by_id(db, *page.id));
        if (other) {
            co_return id_is_taken(*page.id);
        }
    }
    CO_TRY(auto record, co_await insert_page(db, std::move(page), now));
    CO_TRY_STATUS(co_await db.commit());
    co_return record;
}

Task<Status> import_page(PostgresSession& db, NewPage page, WallTime now, ImportCount& count) {
    std::optional<PageRecord> known;
    if (page.id) {
        CO_TRY(known, co_await find_by_id(db, *page.id));
    } else if (!page.slug.empty()) {
        CO_TRY(known, co_await find_by_slug(db, page.slug));
    }
    if (!known) {
        CO_TRY(const PageRecord added, co_await insert_page(db, std::move(page), now));
        count.added += 1;
        co_return Status();
    }
    PagePatch patch = patch_of(page);
    CO_TRY(const UpdatedPage updated,
           co_await update_page(db, *std::move(known), std::move(patch), page.version, now));
    (updated.differs ? count.changed : count.same) += 1;
    co_return Status();
}

Task<Result<ImportCount>> import_in_transaction(PostgresSession& db, std::vector<NewPage> pages,
                                                WallTime now) {
    CO_TRY_STATUS(co_await lock_revision(db));
    ImportCount count;
    for (std::size_t i = 0; i < pages.size(); ++i) {
        const Status done = co_await import_page(db, std::move(pages[i]), now, count);
        if (!done.ok()) {
            co_return at_place(i, done.error());
        }
    }
    CO_TRY_STATUS(co_await db.commit());
    co_return count;
}

Task<Result<PageRecord>> patch_in_transaction(PostgresSession& db, std::int64_t id, PagePatch patch,
                                              WallTime now) {
    CO_TRY_STATUS(co_await lock_revision(db));
    CO_TRY(auto record, co_await find_by_id(db, id));
    if (!record) {
        co_return no_such_page();
    }
    CO_TRY(UpdatedPage updated,
           co_await update_page(db, *std::move(record), std::move(patch), std::nullopt, now));
    CO_TRY_STATUS(co_await db.commit());
    co_return std::move(updated.record);
}

// Forgets the oldest of the pages that were removed before the last `kept` changes, some at a time,
// but for what has to be known of all of them.
Task<Status> prune(PostgresSession& db, std::size_t kept) {
    PostgresValues bounds{kept, kForgottenRemovals};
    CO_TRY(const PostgresRows rows,
           co_await db.query("SELECT coalesce(max(changed), 0) FROM ("
                             "SELECT changed FROM sluice_removed_page WHERE changed <="
                             " (SELECT revision FROM sluice_page_revision) - $1::bigint"
                             " ORDER BY changed LIMIT $2) AS oldest",
                             std::move(bounds)));
    if (rows.integer(0, 0) == 0) {
        co_return Status();
    }
    PostgresValues last{rows.integer(0, 0)};
    CO_TRY_STATUS(co_await change(
        db,
        "UPDATE sluice_page_pruned SET revision = greatest(revision, $1::bigint),"
        " id = greatest(id, (SELECT max(id) FROM sluice_removed_page WHERE changed <= $1)),"
        " version = greatest(version,"
        " (SELECT max(last_version) FROM sluice_removed_page WHERE changed <= $1))",
        std::move(last)));
    PostgresValues same{rows.integer(0, 0)};
    co_return co_await change(db, "DELETE FROM sluice_removed_page WHERE changed <= $1",
                              std::move(same));
}

Task<Result<bool>> remove_page(PostgresSession& db, std::int64_t id,
                               std::size_t remembered_changes) {
    CO_TRY_STATUS(co_await lock_revision(db));
    PostgresValues values{id};
    CO_TRY(const PostgresRows removed,
           co_await db.query("DELETE FROM sluice_page WHERE id = $1", std::move(values)));
    if (removed.changed() == 0) {
        co_return no_such_page();
    }
    CO_TRY_STATUS(co_await prune(db, remembered_changes));
    CO_TRY_STATUS(co_await db.commit());
    co_return true;
}

Task<Result<PageRecord>> read_one(PostgresSession& db, std::int64_t id) {
    CO_TRY(auto record, co_await find_by_id(db, id));
    if (!record) {
        co_return no_such_page();
    }
    co_return *std::move(record);
}

// `find` is find_by_id or find_by_slug.
template <class Find, class Name>
Task<Result<PageText>> read_page(PostgresSession& db, Find find, Name name) {
    CO_TRY_STATUS(co_await db.begin_snapshot());
    CO_TRY(auto record, co_await find(db, std::move(name)));
    if (!record) {
        co_return no_such_page();
    }
    PageText page;
    CO_TRY(page.body, co_await read_text(db, kBody, record->id));
    CO_TRY_STATUS(co_await db.commit());
    page.record = *std::move(record);
    co_return page;
}

Task<Result<std::string>> read_pin(PostgresSession& db, std::int64_t id) {
    CO_TRY_STATUS(co_await db.begin_snapshot());
    CO_TRY(const auto record, co_await find_by_id(db, id));
    if (!record) {
        co_return no_such_page();
    }
    CO_TRY(auto hash, co_await read_text(db, kPin, id));
    CO_TRY_STATUS(co_await db.commit());
    co_return hash;
}

const std::string& list_statement(const PageQuery& query, bool is_backward) {
    const auto statement = [](bool only_candidates, std::string_view order) {
        return select(
            std::string(only_candidates ? "WHERE lifecycle = 'active' AND claimed = 0 " : "")
                .append("ORDER BY ")
                .append(order)
                .append(" LIMIT $1 OFFSET $2"));
    };
    static const auto all =
        list_statements(statement, "title COLLATE \"C\", id", "title COLLATE \"C\" DESC, id DESC");
    return all.at(list_statement_number(query, is_backward));
}

Task<Result<PageList>> read_list(PostgresSession& db, PageQuery query) {
    CO_TRY_STATUS(co_await db.begin_snapshot());
    PageList list;
    CO_TRY(const PostgresRows counted,
           co_await db.query_row("SELECT pages, candidates FROM sluice_page_revision"));
    list.total = static_cast<std::size_t>(counted.integer(0, query.only_candidates ? 1 : 0));
    const ListWalk walk = walk_of(query, list.total);
    if (walk.limit == 0) {
        co_return list;
    }
    PostgresValues values{walk.limit, walk.offset};
    CO_TRY(const PostgresRows rows,
           co_await db.query(list_statement(query, walk.is_backward), std::move(values)));
    CO_TRY_STATUS(co_await db.commit());
    for (std::size_t row = 0; row < rows.size(); ++row) {
        CO_TRY(auto record, read_record(rows, row));
        list.pages.push_back(std::move(record));
    }
    if (walk.is_backward) {
        std::ranges::reverse(list.pages);
    }
    co_return list;
}

Task<Result<StoreRevision>> read_revision(PostgresSession& db) {
    return io::read_revision(
        db,
        "SELECT r.revision, coalesce(h.mark, '') FROM sluice_page_revision r"
        " LEFT JOIN sluice_history h ON h.store = 'pages' AND h.revision = r.revision");
}

// Of one statement's result, which the control loop reads in one go.
constexpr std::size_t kRowsAtOnce = 500;
constexpr std::string_view kCandidates =
    "SELECT id, current_version, title, slug, author, updated_at,"
    " CASE WHEN lifecycle = 'active' AND claimed = 0 THEN 1 ELSE 0 END"
    " FROM sluice_page WHERE changed > $1 AND id > $2 ORDER BY id LIMIT $3";

void add_candidates(const PostgresRows& rows, CandidateSet& set) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
        if (rows.integer(row, 6) == 0) {
            if (!set.is_whole) {
                set.gone.push_back(rows.integer(row, 0));
            }
            continue;
        }
        Candidate candidate;
        candidate.id = rows.integer(row, 0);
        candidate.version = rows.integer(row, 1);
        candidate.title = rows.text(row, 2);
        candidate.slug = rows.text(row, 3);
        candidate.author = rows.text(row, 4);
        candidate.updated_at = from_stored(rows.integer(row, 5));
        set.candidates.push_back(std::move(candidate));
    }
}

Task<Status> read_gone(PostgresSession& db, std::int64_t since, std::vector<std::int64_t>& gone) {
    std::int64_t last = 0;
    for (std::size_t got = kRowsAtOnce; got == kRowsAtOnce;) {
        PostgresValues values{since, last, kRowsAtOnce};
        CO_TRY(const PostgresRows rows,
               co_await db.query("SELECT id FROM sluice_removed_page WHERE changed > $1 AND id > $2"
                                 " ORDER BY id LIMIT $3",
                                 std::move(values)));
        for (std::size_t row = 0; row < rows.size(); ++row) {
            gone.push_back(rows.integer(row, 0));
        }
        got = rows.size();
        last = got > 0 ? gone.back() : last;
    }
    co_return Status();
}

Task<Result<CandidateSet>> read_candidates(PostgresSession& db, StoreRevision known) {
    // One snapshot: a revision with another one's pages would hide a change.
    CO_TRY_STATUS(co_await db.begin_snapshot());
    CandidateSet set;
    CO_TRY(set.revision, co_await read_revision(db));
    CO_TRY(const bool has_been, co_await io::has_been_at(db, "pages", known, set.revision));
    CO_TRY(const PostgresRows pruned,
           co_await db.query_row("SELECT revision FROM sluice_page_pruned"));
    set.is_whole = !has_been || known.number < pruned.integer(0, 0);
    const std::int64_t since = set.is_whole ? 0 : known.number;
    std::int64_t last = 0;
    for (std::size_t got = kRowsAtOnce; got == kRowsAtOnce;) {
        PostgresValues values{since, last, kRowsAtOnce};
        CO_TRY(const PostgresRows rows, co_await db.query(kCandidates, std::move(values)));
        add_candidates(rows, set);
        got = rows.size();
        last = got > 0 ? rows.integer(got - 1, 0) : last;
    }
    if (!set.is_whole) {
        CO_TRY_STATUS(co_await read_gone(db, since, set.gone));
    }
    CO_TRY_STATUS(co_await db.commit());
    co_return set;
}

}  // namespace

PostgresPageStore::PostgresPageStore(io::PostgresClient& client, const Clock& clock,
                                     std::size_t remembered_changes)
    : client_(client), clock_(clock), remembered_changes_(remembered_changes) {}

Task<Result<PageRecord>> PostgresPageStore::add(NewPage page) {
    CO_TRY_STATUS(validate(page));
    auto work = [page = std::move(page), now = stored_now(clock_)](PostgresSession& db) {
        return add_in_transaction(db, page, now);
    };
    co_return co_await client_.run(std::move(work));
}

Task<Result<ImportCount>> PostgresPageStore::import(std::vector<NewPage> pages) {
    CO_TRY_STATUS(validate(pages));
    auto work = [pages = std::move(pages), now = stored_now(clock_)](PostgresSession& db) {
        return import_in_transaction(db, pages, now);
    };
    co_return co_await client_.run(std::move(work));
}

Task<Result<PageRecord>> PostgresPageStore::patch(std::int64_t id, PagePatch patch) {
    CO_TRY_STATUS(validate(patch));
    auto work = [id, patch = std::move(patch), now = stored_now(clock_)](PostgresSession& db) {
        return patch_in_transaction(db, id, patch, now);
    };
    co_return co_await client_.run(std::move(work));
}

Task<Status> PostgresPageStore::remove(std::int64_t id) {
    auto work = [id, remembered = remembered_changes_](PostgresSession& db) {
        return remove_page(db, id, remembered);
    };
    const Result<bool> removed = co_await client_.run(std::move(work));
    co_return removed.ok() ? Status() : Status(removed.error());
}

Task<Result<PageRecord>> PostgresPageStore::get(std::int64_t id) {
    auto work = [id](PostgresSession& db) { return read_one(db, id); };
    co_return co_await client_.run(std::move(work));
}

Task<Result<PageText>> PostgresPageStore::text(std::string slug) {
    auto work = [slug = std::move(slug)](PostgresSession& db) {
        return read_page(db, find_by_slug, slug);
    };
    co_return co_await client_.run(std::move(work));
}

Task<Result<PageText>> PostgresPageStore::text(std::int64_t id) {
    auto work = [id](PostgresSession& db) { return read_page(db, find_by_id, id); };
    co_return co_await client_.run(std::move(work));
}

Task<Result<std::string>> PostgresPageStore::pin_hash(std::int64_t id) {
    auto work = [id](PostgresSession& db) { return read_pin(db, id); };
    co_return co_await client_.run(std::move(work));
}

Task<Result<PageList>> PostgresPageStore::list(PageQuery query) {
    auto work = [query](PostgresSession& db) { return read_list(db, query); };
    co_return co_await client_.run(std::move(work));
}

Task<Result<StoreRevision>> PostgresPageStore::revision() {
    co_return co_await client_.run(read_revision);
}

Task<Result<CandidateSet>> PostgresPageStore::candidates(StoreRevision since) {
    auto work = [since = std::move(since)](PostgresSession& db) {
        return read_candidates(db, since);
    };
    co_return co_await client_.run(std::move(work));
}

}  // namespace sluice::titles
