#include "titles/sqlite_page_store.h"

#include "titles/page_rows.h"
#include "titles/slug.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::titles {

namespace {

using io::SqliteConnection;
using io::SqliteStatement;
using io::SqliteTransaction;

// Bodies and PIN hashes have tables of their own, which what reads candidates never opens. One row
// holds the revision and what is counted, so that whether anything changed is one read; triggers
// keep it, so that no writer can forget to; `changed` is the revision of a row's last change, so
// that a change is read without the rest. Instants are milliseconds since 1970. AUTOINCREMENT: no
// id is used twice.
constexpr std::array kSchema = {
    io::SqliteMigration{R"sql(
        CREATE TABLE page (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            title TEXT NOT NULL,
            slug TEXT NOT NULL UNIQUE,
            author TEXT NOT NULL,
            lifecycle TEXT NOT NULL CHECK (lifecycle IN ('active', 'unlisted', 'archived')),
            claimed INTEGER NOT NULL CHECK (claimed IN (0, 1)),
            current_version INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL,
            changed INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX page_changed ON page (changed);
        CREATE INDEX page_newest ON page (updated_at, id);
        CREATE INDEX page_by_title ON page (title, id);
        CREATE INDEX candidate_newest ON page (updated_at, id)
            WHERE lifecycle = 'active' AND claimed = 0;
        CREATE INDEX candidate_by_title ON page (title, id)
            WHERE lifecycle = 'active' AND claimed = 0;
        CREATE TABLE page_body (
            page INTEGER PRIMARY KEY REFERENCES page (id) ON DELETE CASCADE,
            markdown TEXT NOT NULL
        ) STRICT;
        CREATE TABLE page_pin (
            page INTEGER PRIMARY KEY REFERENCES page (id) ON DELETE CASCADE,
            hash TEXT NOT NULL
        ) STRICT;
        CREATE TABLE removed_page (
            id INTEGER PRIMARY KEY,
            changed INTEGER NOT NULL,
            last_version INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX removed_page_changed ON removed_page (changed);
        CREATE TABLE page_revision (
            row INTEGER PRIMARY KEY CHECK (row = 1),
            revision INTEGER NOT NULL,
            pages INTEGER NOT NULL,
            candidates INTEGER NOT NULL
        ) STRICT;
        INSERT INTO page_revision VALUES (1, 0, 0, 0);
        CREATE TRIGGER page_added AFTER INSERT ON page BEGIN
            UPDATE page_revision SET revision = revision + 1, pages = pages + 1,
                candidates = candidates + (new.lifecycle = 'active' AND new.claimed = 0);
            UPDATE page SET changed = (SELECT revision FROM page_revision) WHERE id = new.id;
        END;
        CREATE TRIGGER page_changed AFTER UPDATE OF
            title, slug, author, lifecycle, claimed, current_version, updated_at ON page BEGIN
            UPDATE page_revision SET revision = revision + 1,
                candidates = candidates + (new.lifecycle = 'active' AND new.claimed = 0)
                    - (old.lifecycle = 'active' AND old.claimed = 0);
            UPDATE page SET changed = (SELECT revision FROM page_revision) WHERE id = new.id;
        END;
        CREATE TRIGGER page_removed AFTER DELETE ON page BEGIN
            UPDATE page_revision SET revision = revision + 1, pages = pages - 1,
                candidates = candidates - (old.lifecycle = 'active' AND old.claimed = 0);
            INSERT OR REPLACE INTO removed_page
                VALUES (old.id, (SELECT revision FROM page_revision), old.current_version);
        END;
    )sql"},
    // Of removed pages that are no longer remembered: the last change, the highest id and version.
    io::SqliteMigration{R"sql(
        CREATE TABLE page_pruned (
            row INTEGER PRIMARY KEY CHECK (row = 1),
            revision INTEGER NOT NULL,
            id INTEGER NOT NULL,
            version INTEGER NOT NULL
        ) STRICT;
        INSERT INTO page_pruned VALUES (1, 0, 0, 0);
    )sql"},
};

// Whether there is a PIN, not what it is; the ledger, whose pages nobody claimed, does not look.
constexpr std::string_view kColumns =
    "id, title, slug, author, lifecycle, claimed, current_version, created_at, updated_at,"
    " claimed = 1 AND EXISTS (SELECT 1 FROM page_pin WHERE page_pin.page = page.id)";

std::string select(std::string_view rest) {
    return std::string("SELECT ").append(kColumns).append(" FROM page ").append(rest);
}

// The columns of kColumns.
Result<PageRecord> read_record(const SqliteStatement& row) {
    PageRecord record;
    record.id = row.integer(0);
    record.title = row.text(1);
    record.slug = row.text(2);
    record.author = row.text(3);
    TRY(record.lifecycle, stored_lifecycle(row.text(4)));
    record.is_claimed = row.integer(5) != 0;
    record.version = row.integer(6);
    record.created_at = from_stored(row.integer(7));
    record.updated_at = from_stored(row.integer(8));
    record.has_pin = row.integer(9) != 0;
    return record;
}

Result<std::optional<PageRecord>> find_by_id(SqliteConnection& db, std::int64_t id) {
    static const std::string sql = select("WHERE id = ?1");
    TRY(auto rows, db.query(sql, {id}));
    TRY(const bool found, rows.next());
    if (!found) {
        return std::optional<PageRecord>();
    }
    TRY(auto record, read_record(rows));
    return std::optional<PageRecord>(std::move(record));
}

Result<std::optional<PageRecord>> find_by_slug(SqliteConnection& db, std::string_view slug) {
    static const std::string sql = select("WHERE slug = ?1");
    TRY(auto rows, db.query(sql, {slug}));
    TRY(const bool found, rows.next());
    if (!found) {
        return std::optional<PageRecord>();
    }
    TRY(auto record, read_record(rows));
    return std::optional<PageRecord>(std::move(record));
}

Result<std::string> read_text(SqliteConnection& db, std::string_view sql, std::int64_t page) {
    TRY(auto rows, db.query(sql, {page}));
    TRY(const bool found, rows.next());
    return found ? std::string(rows.text(0)) : std::string();
}

constexpr std::string_view kBody = "SELECT markdown FROM page_body WHERE page = ?1";
constexpr std::string_view kPin = "SELECT hash FROM page_pin WHERE page = ?1";

Status write_body(SqliteConnection& db, std::int64_t page, std::string_view body) {
    TRY_STATUS(
        db.change("INSERT INTO page_body (page, markdown) VALUES (?1, ?2)"
                  " ON CONFLICT (page) DO UPDATE SET markdown = excluded.markdown",
                  {page, body}));
    return {};
}

Status write_pin(SqliteConnection& db, std::int64_t page, std::string_view hash) {
    if (hash.empty()) {
        TRY_STATUS(db.change("DELETE FROM page_pin WHERE page = ?1", {page}));
        return {};
    }
    TRY_STATUS(
        db.change("INSERT INTO page_pin (page, hash) VALUES (?1, ?2)"
                  " ON CONFLICT (page) DO UPDATE SET hash = excluded.hash",
                  {page, hash}));
    return {};
}

Result<std::string> free_slug(SqliteConnection& db, std::string slug) {
    SlugSearch search(std::move(slug));
    while (!search.done()) {
        const std::string candidate = search.next();
        TRY(const std::int64_t found,
            db.integer("SELECT count(*) FROM page WHERE slug = ?1", {candidate}));
        search.answer(found > 0);
    }
    return search.next();
}

Result<PageRecord> insert_page(SqliteConnection& db, const NewPage& page, WallTime now) {
    TRY(const std::int64_t kept, db.integer("SELECT pages FROM page_revision"));
    if (kept >= static_cast<std::int64_t>(kMaxPages)) {
        return too_many_pages();
    }
    PageRecord record = record_of(page, now);
    if (record.slug.empty()) {
        TRY(record.slug, free_slug(db, slug_of(page.title)));
    } else {
        TRY(const auto other, find_by_slug(db, record.slug));
        if (other) {
            return slug_is_taken(record.slug);
        }
    }
    if (page.id) {
        TRY(const std::int64_t last,
            db.integer("SELECT coalesce((SELECT last_version FROM removed_page WHERE id = ?1),"
                       " (SELECT version FROM page_pruned WHERE id >= ?1), 0)",
                       {*page.id}));
        record.version = std::max(record.version, last + 1);
    }
    TRY(record.id,
        db.integer("INSERT INTO page (id, title, slug, author, lifecycle, claimed, current_version,"
                   " created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)"
                   " RETURNING id",
                   {page.id, record.title, record.slug, record.author, to_string(record.lifecycle),
                    record.is_claimed ? 1 : 0, record.version, to_stored(now)}));
    TRY_STATUS(db.change("DELETE FROM removed_page WHERE id = ?1", {record.id}));
    TRY_STATUS(write_body(db, record.id, page.body));
    if (!page.pin_hash.empty()) {
        TRY_STATUS(write_pin(db, record.id, page.pin_hash));
    }
    return record;
}

// What a page becomes. False when it is that already.
Result<bool> update_page(SqliteConnection& db, PageRecord& record, const PagePatch& patch,
                         std::optional<std::int64_t> version, WallTime now) {
    std::string body;
    if (patch.body) {
        TRY(body, read_text(db, kBody, record.id));
    }
    TRY(PageChange change, change_of(record, body, patch, version, now));
    if (change.pin_hash) {
        TRY_STATUS(write_pin(db, record.id, *change.pin_hash));
        record.has_pin = change.after.has_pin;
    }
    if (!change.differs) {
        return false;
    }
    const PageRecord& after = change.after;
    if (change.has_new_slug) {
        TRY(const auto other, find_by_slug(db, after.slug));
        if (other) {
            return slug_is_taken(after.slug);
        }
    }
    TRY_STATUS(
        db.change("UPDATE page SET title = ?2, slug = ?3, author = ?4, lifecycle = ?5,"
                  " claimed = ?6, current_version = ?7, updated_at = ?8 WHERE id = ?1",
                  {after.id, after.title, after.slug, after.author, to_string(after.lifecycle),
                   after.is_claimed ? 1 : 0, after.version, to_stored(now)}));
    if (change.has_new_body) {
        TRY_STATUS(write_body(db, after.id, *patch.body));
    }
    record = std::move(change.after);
    return true;
}

Result<PageRecord> add_in_transaction(SqliteConnection& db, const NewPage& page, WallTime now) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kImmediate));
    if (page.id) {
        TRY(const auto other, find_by_id(db, *page.id));
        if (other) {
            return id_is_taken(*page.id);
        }
    }
    TRY(auto record, insert_page(db, page, now));
    TRY_STATUS(transaction.commit());
    return record;
}

Status import_page(SqliteConnection& db, const NewPage& page, WallTime now, ImportCount& count) {
    std::optional<PageRecord> known;
    if (page.id) {
        TRY(known, find_by_id(db, *page.id));
    } else if (!page.slug.empty()) {
        TRY(known, find_by_slug(db, page.slug));
    }
    if (!known) {
        TRY_STATUS(insert_page(db, page, now));
        count.added += 1;
        return {};
    }
    TRY(const bool changed, update_page(db, *known, patch_of(page), page.version, now));
    (changed ? count.changed : count.same) += 1;
    return {};
}

Result<ImportCount> import_in_transaction(SqliteConnection& db, const std::vector<NewPage>& pages,
                                          WallTime now) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kImmediate));
    ImportCount count;
    for (std::size_t i = 0; i < pages.size(); ++i) {
        if (Status done = import_page(db, pages[i], now, count); !done.ok()) {
            return at_place(i, done.error());
        }
    }
    TRY_STATUS(transaction.commit());
    return count;
}

Result<PageRecord> patch_in_transaction(SqliteConnection& db, std::int64_t id,
                                        const PagePatch& patch, WallTime now) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kImmediate));
    TRY(auto record, find_by_id(db, id));
    if (!record) {
        return no_such_page();
    }
    TRY_STATUS(update_page(db, *record, patch, std::nullopt, now));
    TRY_STATUS(transaction.commit());
    return *std::move(record);
}

// Forgets the oldest of the pages that were removed before the last `kept` changes, some at a time,
// but for what has to be known of all of them.
Status prune(SqliteConnection& db, std::size_t kept) {
    TRY(const std::int64_t last,
        db.integer("SELECT coalesce(max(changed), 0) FROM (SELECT changed FROM removed_page"
                   " WHERE changed <= (SELECT revision FROM page_revision) - ?1"
                   " ORDER BY changed LIMIT ?2)",
                   {kept, kForgottenRemovals}));
    if (last == 0) {
        return {};
    }
    TRY_STATUS(
        db.change("UPDATE page_pruned SET revision = max(revision, ?1),"
                  " id = max(id, (SELECT max(id) FROM removed_page WHERE changed <= ?1)),"
                  " version = max(version,"
                  " (SELECT max(last_version) FROM removed_page WHERE changed <= ?1))",
                  {last}));
    TRY_STATUS(db.change("DELETE FROM removed_page WHERE changed <= ?1", {last}));
    return {};
}

Status remove_page(SqliteConnection& db, std::int64_t id, std::size_t remembered_changes) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kImmediate));
    TRY(const std::int64_t removed, db.change("DELETE FROM page WHERE id = ?1", {id}));
    if (removed == 0) {
        return no_such_page();
    }
    TRY_STATUS(prune(db, remembered_changes));
    return transaction.commit();
}

// `find` is find_by_id or find_by_slug.
template <class Find, class Name>
Result<PageText> read_page(SqliteConnection& db, Find find, const Name& name) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kDeferred));
    TRY(auto record, find(db, name));
    if (!record) {
        return no_such_page();
    }
    PageText page;
    TRY(page.body, read_text(db, kBody, record->id));
    page.record = *std::move(record);
    return page;
}

Result<std::string> read_pin(SqliteConnection& db, std::int64_t id) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kDeferred));
    TRY(const auto record, find_by_id(db, id));
    if (!record) {
        return no_such_page();
    }
    return read_text(db, kPin, id);
}

const std::string& list_statement(const PageQuery& query, bool is_backward) {
    const auto statement = [](bool only_candidates, std::string_view order) {
        return select(
            std::string(only_candidates ? "WHERE lifecycle = 'active' AND claimed = 0 " : "")
                .append("ORDER BY ")
                .append(order)
                .append(" LIMIT ?1 OFFSET ?2"));
    };
    static const auto all = list_statements(statement, "title, id", "title DESC, id DESC");
    return all.at(list_statement_number(query, is_backward));
}

Result<PageList> read_list(SqliteConnection& db, const PageQuery& query) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kDeferred));
    PageList list;
    TRY(const std::int64_t total, query.only_candidates
                                      ? db.integer("SELECT candidates FROM page_revision")
                                      : db.integer("SELECT pages FROM page_revision"));
    list.total = static_cast<std::size_t>(total);
    const ListWalk walk = walk_of(query, list.total);
    if (walk.limit == 0) {
        return list;
    }
    TRY(auto rows, db.query(list_statement(query, walk.is_backward), {walk.limit, walk.offset}));
    for (;;) {
        TRY(const bool row, rows.next());
        if (!row) {
            break;
        }
        TRY(auto record, read_record(rows));
        list.pages.push_back(std::move(record));
    }
    if (walk.is_backward) {
        std::ranges::reverse(list.pages);
    }
    return list;
}

Result<StoreRevision> read_revision(SqliteConnection& db) {
    TRY(const std::int64_t number, db.integer("SELECT revision FROM page_revision"));
    return StoreRevision(number);
}

Status read_gone(SqliteConnection& db, std::int64_t since, CandidateSet& set) {
    TRY(auto rows, db.query("SELECT id FROM removed_page WHERE changed > ?1", {since}));
    for (;;) {
        TRY(const bool row, rows.next());
        if (!row) {
            return {};
        }
        set.gone.push_back(rows.integer(0));
    }
}

Result<CandidateSet> read_candidates(SqliteConnection& db, std::int64_t known) {
    // One snapshot: a revision with another one's pages would hide a change.
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kDeferred));
    CandidateSet set;
    TRY(set.revision, read_revision(db));
    TRY(const std::int64_t pruned, db.integer("SELECT revision FROM page_pruned"));
    set.is_whole = known == 0 || known > set.revision.number || known < pruned;
    const std::int64_t since = set.is_whole ? 0 : known;
    TRY(auto rows, db.query("SELECT id, current_version, title, slug, author, updated_at,"
                            " lifecycle = 'active' AND claimed = 0 FROM page WHERE changed > ?1",
                            {since}));
    for (;;) {
        TRY(const bool row, rows.next());
        if (!row) {
            break;
        }
        if (rows.integer(6) == 0) {
            if (!set.is_whole) {
                set.gone.push_back(rows.integer(0));
            }
            continue;
        }
        Candidate candidate;
        candidate.id = rows.integer(0);
        candidate.version = rows.integer(1);
        candidate.title = rows.text(2);
        candidate.slug = rows.text(3);
        candidate.author = rows.text(4);
        candidate.updated_at = from_stored(rows.integer(5));
        set.candidates.push_back(std::move(candidate));
    }
    if (!set.is_whole) {
        TRY_STATUS(read_gone(db, since, set));
    }
    return set;
}

}  // namespace

io::SqliteSchema page_schema() {
    return kSchema;
}

SqlitePageStore::SqlitePageStore(io::SqliteStore& changes, io::SqliteStore& reads,
                                 const Clock& clock, std::size_t remembered_changes)
    : changes_(changes), reads_(reads), clock_(clock), remembered_changes_(remembered_changes) {}

Task<Result<PageRecord>> SqlitePageStore::add(NewPage page) {
    CO_TRY_STATUS(validate(page));
    auto work = [page = std::move(page), now = stored_now(clock_)](SqliteConnection& db) {
        return add_in_transaction(db, page, now);
    };
    co_return co_await changes_.run(std::move(work));
}

Task<Result<ImportCount>> SqlitePageStore::import(std::vector<NewPage> pages) {
    CO_TRY_STATUS(validate(pages));
    auto work = [pages = std::move(pages), now = stored_now(clock_)](SqliteConnection& db) {
        return import_in_transaction(db, pages, now);
    };
    co_return co_await changes_.run(std::move(work));
}

Task<Result<PageRecord>> SqlitePageStore::patch(std::int64_t id, PagePatch patch) {
    CO_TRY_STATUS(validate(patch));
    auto work = [id, patch = std::move(patch), now = stored_now(clock_)](SqliteConnection& db) {
        return patch_in_transaction(db, id, patch, now);
    };
    co_return co_await changes_.run(std::move(work));
}

Task<Status> SqlitePageStore::remove(std::int64_t id) {
    auto work = [id, remembered = remembered_changes_](SqliteConnection& db) {
        return remove_page(db, id, remembered);
    };
    co_return co_await changes_.run(std::move(work));
}

Task<Result<PageRecord>> SqlitePageStore::get(std::int64_t id) {
    auto work = [id](SqliteConnection& db) -> Result<PageRecord> {
        TRY(auto record, find_by_id(db, id));
        if (!record) {
            return no_such_page();
        }
        return *std::move(record);
    };
    co_return co_await reads_.run(std::move(work));
}

Task<Result<PageText>> SqlitePageStore::text(std::string slug) {
    auto work = [slug = std::move(slug)](SqliteConnection& db) {
        return read_page(db, find_by_slug, slug);
    };
    co_return co_await reads_.run(std::move(work));
}

Task<Result<PageText>> SqlitePageStore::text(std::int64_t id) {
    auto work = [id](SqliteConnection& db) { return read_page(db, find_by_id, id); };
    co_return co_await reads_.run(std::move(work));
}

Task<Result<std::string>> SqlitePageStore::pin_hash(std::int64_t id) {
    auto work = [id](SqliteConnection& db) { return read_pin(db, id); };
    co_return co_await reads_.run(std::move(work));
}

Task<Result<PageList>> SqlitePageStore::list(PageQuery query) {
    auto work = [query](SqliteConnection& db) { return read_list(db, query); };
    co_return co_await reads_.run(std::move(work));
}

Task<Result<StoreRevision>> SqlitePageStore::revision() {
    co_return co_await reads_.run(read_revision);
}

Task<Result<CandidateSet>> SqlitePageStore::candidates(StoreRevision since) {
    auto work = [since = since.number](SqliteConnection& db) { return read_candidates(db, since); };
    co_return co_await reads_.run(std::move(work));
}

}  // namespace sluice::titles
