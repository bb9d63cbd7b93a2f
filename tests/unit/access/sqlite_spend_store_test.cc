#include "access/sqlite_spend_store.h"

#include "support/run_io.h"
#include "support/temp_dir.h"
#include "unit/access/spend_store_conformance.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <utility>

namespace sluice::access {
namespace {

class SqliteBackend {
 public:
    SpendStore& store() { return store_; }
    template <class T>
    T run(Task<T> task) {
        return test::run_io(io_, std::move(task));
    }

 private:
    test::TempDir dir_;
    obs::Metrics metrics_;
    boost::asio::io_context io_{1};
    io::SqliteStore file_{"usage",
                          io::SqliteConnection::open(dir_.file("usage.db"), spend_schema()).value(),
                          metrics_};
    io::SqliteStore reports_{
        "usage_reports", io::SqliteConnection::open(dir_.file("usage.db"), spend_schema()).value(),
        metrics_};
    SqliteSpendStore store_{file_, reports_};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, SpendStoreConformance, SqliteBackend);

}  // namespace
}  // namespace sluice::access
