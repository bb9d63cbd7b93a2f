// The stores of one configuration: where keys, tokens, spending and pages are kept. Whether that is
// a file of the data directory or a PostgreSQL that replicas share (database.url) is decided here
// and nowhere else.
#pragma once

#include "access/spend_store.h"
#include "access/token_store.h"
#include "app/config.h"
#include "app/data_dir.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/random.h"
#include "base/result.h"
#include "base/task.h"
#include "io/postgres.h"
#include "io/postgres_schema.h"
#include "io/sqlite_store.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "titles/page_store.h"
#include "web/key_store.h"

#include <functional>
#include <memory>
#include <vector>

namespace sluice::app {

// Whether keys (and spending with them), tokens and pages of that configuration are in a
// PostgreSQL. While recordings are played keys and spending are in files all the same, since
// neither is real then.
bool has_shared_keys(const Config& config);
bool has_shared_tokens(const Config& config);
bool has_shared_pages(const Config& config);

// Belongs to the thread of its executor, but for what says otherwise.
class Stores {
 public:
    // References outlive it.
    Stores(const Config& config, const Environment& environment, Executor executor, Clock& clock,
           Random& random, const obs::Log& log, obs::Metrics& metrics);
    ~Stores();
    Stores(const Stores&) = delete;
    Stores& operator=(const Stores&) = delete;

    // What is needed, before start(), on any thread while nothing runs: opens files, or makes what
    // `use` makes of them; of a PostgreSQL nothing is asked yet. Errors say what to do.
    Status open_tokens(StoreUse use);
    Status open_keys(StoreUse use);
    Status open_spending(StoreUse use);
    Status open_pages(StoreUse use);

    // Each after its open_...().
    access::TokenStore& tokens() { return *tokens_; }
    web::KeyStore& keys() { return *keys_; }
    access::SpendStore& spending() { return *spending_; }
    titles::PageStore& pages() { return *pages_; }

    // Called on the executor when somebody may have changed tokens or keys, as far as the store
    // tells. Before start().
    void on_change(std::function<void()> tokens, std::function<void()> keys);

    // Before anything is asked of the stores: connects, brings tables up to date as StoreUse says,
    // and unlocks the keys. May be called again after an error. Errors are those of io/postgres.h
    // and io/postgres_schema.h and of web::KeyStore::unlock().
    Task<Status> start();
    // Whether an error of start() may end by itself.
    bool may_come_back(const Error& error) const;
    // What is asked of a database from then on, or takes longer, fails. After start(), once.
    void leave_by(Instant end);
    // At the end, when nobody asks any more.
    Task<void> stop();

    // Null: everything is in files.
    const io::PostgresClient* database() const { return database_.get(); }

 private:
    Task<Status> prepare(io::PostgresSchema schema, StoreUse use);

    struct Tables {
        io::PostgresSchema schema;
        StoreUse use;
    };

    const Config& config_;
    const Environment& environment_;
    Clock& clock_;
    Random& random_;
    obs::Metrics& metrics_;
    std::unique_ptr<io::PostgresClient> database_;
    bool is_connecting_ = false;
    std::vector<Tables> tables_;
    std::unique_ptr<io::SqliteStore> token_file_;
    std::unique_ptr<io::SqliteStore> usage_file_;
    std::unique_ptr<io::SqliteStore> usage_reports_;
    std::unique_ptr<io::SqliteStore> key_file_;
    std::unique_ptr<access::TokenStore> tokens_;
    std::unique_ptr<access::SpendStore> spending_;
    std::unique_ptr<web::KeyStore> keys_;
    std::unique_ptr<io::SqliteStore> page_file_;
    std::unique_ptr<io::SqliteStore> page_reads_;
    std::unique_ptr<titles::PageStore> pages_;
};

}  // namespace sluice::app
