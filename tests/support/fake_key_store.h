// A KeyStore in memory that a test takes away.
#pragma once

#include "base/clock.h"
#include "web/key_store.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::test {

// Belongs to one executor.
class FakeKeyStore final : public web::KeyStore {
 public:
    explicit FakeKeyStore(Clock& clock) : clock_(clock) {}
    // One that holds what `other` holds at this moment, as after a crash, and works.
    FakeKeyStore(Clock& clock, const FakeKeyStore& other)
        : clock_(clock),
          revision_(other.revision_),
          keys_(other.keys_),
          changed_(other.changed_),
          removed_(other.removed_),
          usage_(other.usage_) {}

    Task<Status> unlock() override;
    Task<Result<web::KeyRecord>> add(web::NewKey key) override;
    Task<Result<std::size_t>> seed(std::vector<web::NewKey> keys) override;
    Task<Result<web::KeyRecord>> patch(std::string id, web::KeyPatch patch) override;
    Task<Status> remove(std::string id) override;
    Task<Result<web::KeySet>> load(StoreRevision since) override;
    Task<Result<StoreRevision>> revision() override;
    Task<Status> save_usage(std::vector<web::KeyUsage> usage) override;

    // As when a database is restored from a backup, which `other` is: it counts on from there, on
    // another way than this one came.
    void become(const FakeKeyStore& other);

    bool away = false;        // every call fails
    bool reads_away = false;  // load() and revision() fail
    Duration write_time{};    // before usage is written
    std::size_t usage_writes = 0;
    std::function<Task<Status>()> meanwhile;  // before the next load() is told

    // What it says now of one key; nothing of one that was not used.
    std::optional<web::KeyUsage> usage_of(const std::string& id) const;

 private:
    Status check() const;
    Status check_reads() const;

    Clock& clock_;
    std::int64_t revision_ = 0;
    std::string mark_ = {};  // of the present past
    std::vector<web::StoredKey> keys_;
    std::map<std::string, std::int64_t> changed_;  // by id, the revision of the last change
    std::map<std::string, std::int64_t> removed_;  // the same
    std::map<std::string, web::KeyUsage> usage_;
};

}  // namespace sluice::test
