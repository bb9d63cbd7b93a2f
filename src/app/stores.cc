#include "app/stores.h"

#include "access/postgres_spend_store.h"
#include "access/postgres_token_store.h"
#include "access/sqlite_spend_store.h"
#include "access/sqlite_token_store.h"
#include "app/key_file.h"
#include "app/replica_name.h"
#include "titles/postgres_page_store.h"
#include "titles/sqlite_page_store.h"
#include "web/postgres_key_store.h"
#include "web/sqlite_key_store.h"

#include <string>
#include <utility>

namespace sluice::app {

namespace {

constexpr Millis kPatienceWithImports{5'000};

// What the system trusts: libpq looks for a file of the user's otherwise.
constexpr const char* kSystemRoots = "/etc/ssl/certs/ca-certificates.crt";

// Only where the certificate is checked at all: with a file of roots libpq checks it also for who
// asked for no more than encryption.
std::string root_certificate(const Config& config) {
    if (!config.database.postgres.target->ssl_mode.starts_with("verify")) {
        return {};
    }
    return config.upstream.ca_file.empty() ? kSystemRoots : config.upstream.ca_file;
}

}  // namespace

bool has_shared_tokens(const Config& config) {
    return config.database.postgres.enabled();
}

bool has_shared_pages(const Config& config) {
    return config.database.postgres.enabled();
}

bool has_shared_keys(const Config& config) {
    return config.database.postgres.enabled() && config.replay.dir.empty();
}

Stores::Stores(const Config& config, const Environment& environment, Executor executor,
               Clock& clock, Random& random, const obs::Log& log, obs::Metrics& metrics)
    : config_(config),
      environment_(environment),
      clock_(clock),
      random_(random),
      metrics_(metrics) {
    if (config.database.postgres.enabled()) {
        database_ = std::make_unique<io::PostgresClient>(
            std::move(executor), config.database.postgres, root_certificate(config), clock, random,
            log, metrics);
    }
}

Stores::~Stores() = default;

Status Stores::open_tokens(StoreUse use) {
    if (has_shared_tokens(config_)) {
        tables_.push_back({access::postgres_token_schema(), use});
        tokens_ = std::make_unique<access::PostgresTokenStore>(*database_, clock_, random_);
        return {};
    }
    TRY(auto connection, open_store(tokens_path(config_.data_dir), access::token_schema(), use));
    token_file_ = std::make_unique<io::SqliteStore>("access", std::move(connection), metrics_);
    tokens_ = std::make_unique<access::SqliteTokenStore>(*token_file_, clock_, random_);
    return {};
}

Status Stores::open_keys(StoreUse use) {
    if (has_shared_keys(config_)) {
        tables_.push_back({web::postgres_key_schema(), use});
        auto vault = [this, use](bool needs_it) {
            return open_vault(config_, "the database", needs_it, environment_, random_, use);
        };
        using Use = web::PostgresKeyStore::Use;
        keys_ = std::make_unique<web::PostgresKeyStore>(
            *database_, std::move(vault), use == StoreUse::kRead ? Use::kRead : Use::kChange,
            clock_, random_);
        return {};
    }
    TRY(KeyFile opened, open_key_file(config_, environment_, random_, use));
    key_file_ = std::make_unique<io::SqliteStore>("keys", std::move(opened.connection), metrics_);
    keys_ =
        std::make_unique<web::SqliteKeyStore>(*key_file_, std::move(opened.vault), clock_, random_);
    return {};
}

Status Stores::open_spending(StoreUse use) {
    if (has_shared_keys(config_)) {
        tables_.push_back({access::postgres_spend_schema(), use});
        std::string name;
        if (use != StoreUse::kRead) {  // who only reads has no books of its own
            TRY(name, replica_name(config_.data_dir, environment_, random_));
        }
        spending_ = std::make_unique<access::PostgresSpendStore>(*database_, std::move(name));
        return {};
    }
    const std::string path = usage_path(state_dir(config_));
    TRY(auto connection, open_store(path, access::spend_schema(), use));
    usage_file_ = std::make_unique<io::SqliteStore>("usage", std::move(connection), metrics_);
    // A connection of its own, so that a long report holds no call up that waits for a write.
    TRY(auto reports, open_store(path, access::spend_schema(), use));
    usage_reports_ =
        std::make_unique<io::SqliteStore>("usage_reports", std::move(reports), metrics_);
    spending_ = std::make_unique<access::SqliteSpendStore>(*usage_file_, *usage_reports_);
    return {};
}

Status Stores::open_pages(StoreUse use) {
    if (has_shared_pages(config_)) {
        tables_.push_back({titles::postgres_page_schema(), use});
        pages_ = std::make_unique<titles::PostgresPageStore>(*database_, clock_);
        return {};
    }
    const std::string path = pages_path(config_.data_dir);
    // An import's batch may take a while, and other processes' changes wait for it.
    io::SqliteOptions patient;
    patient.busy_timeout = kPatienceWithImports;
    TRY(auto connection, open_store(path, titles::page_schema(), use, patient));
    page_file_ = std::make_unique<io::SqliteStore>("pages", std::move(connection), metrics_);
    // A connection of its own, so that nobody who reads waits for an import.
    TRY(auto reads, open_store(path, titles::page_schema(), use));
    page_reads_ = std::make_unique<io::SqliteStore>("pages_reads", std::move(reads), metrics_);
    pages_ = std::make_unique<titles::SqlitePageStore>(*page_file_, *page_reads_, clock_);
    return {};
}

void Stores::on_change(std::function<void()> tokens, std::function<void()> keys) {
    if (!database_) {
        return;
    }
    database_->listen(access::kTokenChannel, std::move(tokens));
    if (has_shared_keys(config_)) {
        database_->listen(web::kKeyChannel, std::move(keys));
    }
}

Task<Status> Stores::start() {
    if (database_ && !tables_.empty()) {
        if (!std::exchange(is_connecting_, true)) {
            CO_TRY_STATUS(co_await database_->start());
        }
        for (const Tables& tables : tables_) {
            CO_TRY_STATUS(co_await prepare(tables.schema, tables.use));
        }
    }
    if (keys_) {
        CO_TRY_STATUS(co_await keys_->unlock());
    }
    co_return Status();
}

Task<Status> Stores::prepare(io::PostgresSchema schema, StoreUse use) {
    auto work = [schema, use](io::PostgresSession& session) {
        return use == StoreUse::kRead ? io::require_version(session, schema)
                                      : io::migrate(session, schema);
    };
    return database_->run(std::move(work));
}

bool Stores::may_come_back(const Error& error) const {
    return database_ && (error.code == Code::kUnavailable || error.code == Code::kOverloaded);
}

void Stores::leave_by(Instant end) {
    if (is_connecting_) {
        database_->leave_by(end);
    }
}

Task<void> Stores::stop() {
    if (is_connecting_) {
        co_await database_->stop();
    }
}

}  // namespace sluice::app
