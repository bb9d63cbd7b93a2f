// What a store in PostgreSQL did: the mark of each of its last changes. So who knows a revision
// learns whether the database as it is now went through it, or was put in place of another one, as
// restoring a backup does; then only reading everything again helps.
#pragma once

#include "base/result.h"
#include "base/store_revision.h"
#include "base/task.h"
#include "io/postgres.h"
#include "io/postgres_schema.h"

#include <string_view>

namespace sluice::io {

// A step of the schema of each store that has a revision: makes the table of marks that all of them
// share, and the function of the trigger that writes it, where they are not there yet. The store's
// next step has to forget what another database than this one went through, since a backup from
// before these steps that is restored leaves the table in place, make that trigger and mark the
// present:
//
//     DELETE FROM sluice_history WHERE store = '<store>';
//     CREATE TRIGGER ... AFTER UPDATE OF revision ON <table> FOR EACH ROW
//         EXECUTE FUNCTION sluice_note_revision('<store>');
//     UPDATE <table> SET revision = revision + 1;
//
// A change that is more than 10,000 changes ago is forgotten: who is that far behind reads
// everything. Only the one that is too old by now is looked for: to look for older ones, too, would
// pass over all that a long import made and took away again, for each of its pages.
inline constexpr PostgresMigration kHistoryStep{R"sql(
    CREATE TABLE IF NOT EXISTS sluice_history (
        store TEXT NOT NULL,
        revision BIGINT NOT NULL,
        mark TEXT NOT NULL,
        PRIMARY KEY (store, revision)
    );
    CREATE OR REPLACE FUNCTION sluice_note_revision() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN
        INSERT INTO sluice_history VALUES (TG_ARGV[0], NEW.revision, gen_random_uuid()::text)
            ON CONFLICT (store, revision) DO UPDATE SET mark = excluded.mark;
        DELETE FROM sluice_history
            WHERE store = TG_ARGV[0] AND revision = NEW.revision - 10000;
        RETURN NULL;
    END
    $body$;
)sql"};

// `sql` is a constant that selects the number and the mark.
Task<Result<StoreRevision>> read_revision(PostgresSession& session, std::string_view sql);

// Whether the database, which is at `present` now, was at that revision of that store; never of
// number 0, nor of one that is yet to come, nor while the present has no mark: it is of a backup
// from before there were any. In the transaction that reads what changed since.
Task<Result<bool>> has_been_at(PostgresSession& session, std::string_view store,
                               StoreRevision revision, StoreRevision present);

}  // namespace sluice::io
