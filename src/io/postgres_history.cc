#include "io/postgres_history.h"

#include <string>
#include <utility>

namespace sluice::io {

Task<Result<StoreRevision>> read_revision(PostgresSession& session, std::string_view sql) {
    CO_TRY(const PostgresRows rows, co_await session.query_row(sql));
    StoreRevision revision(rows.integer(0, 0), std::string(rows.text(0, 1)));
    co_return revision;
}

Task<Result<bool>> has_been_at(PostgresSession& session, std::string_view store,
                               StoreRevision revision, StoreRevision present) {
    if (revision.number == 0 || revision.number > present.number || present.mark.empty()) {
        co_return false;
    }
    PostgresValues values{store, revision.number, revision.mark};
    CO_TRY(const PostgresRows rows,
           co_await session.query("SELECT count(*) FROM sluice_history"
                                  " WHERE store = $1 AND revision = $2 AND mark = $3",
                                  std::move(values)));
    co_return rows.integer(0, 0) > 0;
}

}  // namespace sluice::io
