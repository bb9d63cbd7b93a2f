// The tables of titles/postgres_page_store.h.
#include "io/postgres_history.h"
#include "titles/postgres_page_store.h"

#include <array>

namespace sluice::titles {

namespace {

// As the tables of titles/sqlite_page_store.cc are. Who changes something locks the revision first,
// which makes all others that do so wait until it has committed: so revisions come into sight in
// their order, and nobody waits for each other.
constexpr std::array kSteps = {
    io::PostgresMigration{R"sql(
        CREATE TABLE sluice_page (
            id BIGINT PRIMARY KEY,
            title TEXT NOT NULL,
            slug TEXT NOT NULL UNIQUE,
            author TEXT NOT NULL,
            lifecycle TEXT NOT NULL CHECK (lifecycle IN ('active', 'unlisted', 'archived')),
            claimed BIGINT NOT NULL CHECK (claimed IN (0, 1)),
            current_version BIGINT NOT NULL,
            created_at BIGINT NOT NULL,
            updated_at BIGINT NOT NULL,
            changed BIGINT NOT NULL DEFAULT 0
        );
        CREATE INDEX sluice_page_changed ON sluice_page (changed);
        CREATE INDEX sluice_page_newest ON sluice_page (updated_at, id);
        CREATE INDEX sluice_page_by_title ON sluice_page (title COLLATE "C", id);
        CREATE INDEX sluice_candidate_newest ON sluice_page (updated_at, id)
            WHERE lifecycle = 'active' AND claimed = 0;
        CREATE INDEX sluice_candidate_by_title ON sluice_page (title COLLATE "C", id)
            WHERE lifecycle = 'active' AND claimed = 0;
        CREATE TABLE sluice_page_body (
            page BIGINT PRIMARY KEY REFERENCES sluice_page (id) ON DELETE CASCADE,
            markdown TEXT NOT NULL
        );
        CREATE TABLE sluice_page_pin (
            page BIGINT PRIMARY KEY REFERENCES sluice_page (id) ON DELETE CASCADE,
            hash TEXT NOT NULL
        );
        CREATE TABLE sluice_removed_page (
            id BIGINT PRIMARY KEY,
            changed BIGINT NOT NULL,
            last_version BIGINT NOT NULL
        );
        CREATE INDEX sluice_removed_page_changed ON sluice_removed_page (changed);
        CREATE TABLE sluice_page_revision (
            row BIGINT PRIMARY KEY CHECK (row = 1),
            revision BIGINT NOT NULL,
            pages BIGINT NOT NULL,
            candidates BIGINT NOT NULL,
            last_id BIGINT NOT NULL
        );
        INSERT INTO sluice_page_revision VALUES (1, 0, 0, 0, 0);
        CREATE FUNCTION sluice_page_noted() RETURNS trigger LANGUAGE plpgsql AS $body$
        DECLARE
            more BIGINT := 0;
            found BIGINT := 0;
            seen BIGINT;
        BEGIN
            IF TG_OP <> 'INSERT' THEN
                more := more - 1;
                IF OLD.lifecycle = 'active' AND OLD.claimed = 0 THEN found := found - 1; END IF;
            END IF;
            IF TG_OP <> 'DELETE' THEN
                more := more + 1;
                IF NEW.lifecycle = 'active' AND NEW.claimed = 0 THEN found := found + 1; END IF;
            END IF;
            UPDATE sluice_page_revision SET revision = revision + 1, pages = pages + more,
                candidates = candidates + found RETURNING revision INTO seen;
            IF TG_OP = 'DELETE' THEN
                INSERT INTO sluice_removed_page VALUES (OLD.id, seen, OLD.current_version)
                    ON CONFLICT (id) DO UPDATE SET changed = excluded.changed,
                        last_version = excluded.last_version;
                RETURN OLD;
            END IF;
            NEW.changed := seen;
            RETURN NEW;
        END
        $body$;
        CREATE TRIGGER sluice_page_noted BEFORE INSERT OR UPDATE OR DELETE ON sluice_page
            FOR EACH ROW EXECUTE FUNCTION sluice_page_noted();
    )sql"},
    io::kHistoryStep,
    io::PostgresMigration{R"sql(
        DELETE FROM sluice_history WHERE store = 'pages';
        CREATE TRIGGER sluice_page_revision_noted AFTER UPDATE OF revision ON sluice_page_revision
            FOR EACH ROW EXECUTE FUNCTION sluice_note_revision('pages');
        UPDATE sluice_page_revision SET revision = revision + 1;
    )sql"},
    // Restoring a backup from before this step leaves the table in place.
    io::PostgresMigration{R"sql(
        DROP TABLE IF EXISTS sluice_page_pruned;
        CREATE TABLE sluice_page_pruned (
            row BIGINT PRIMARY KEY CHECK (row = 1),
            revision BIGINT NOT NULL,
            id BIGINT NOT NULL,
            version BIGINT NOT NULL
        );
        INSERT INTO sluice_page_pruned VALUES (1, 0, 0, 0);
    )sql"},
};

}  // namespace

io::PostgresSchema postgres_page_schema() {
    return {"pages", kSteps};
}

}  // namespace sluice::titles
