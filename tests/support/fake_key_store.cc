#include "support/fake_key_store.h"

#include "base/hash.h"

#include <algorithm>
#include <utility>

namespace sluice::test {

namespace {

std::string id_of(const web::NewKey& key) {
    return to_hex(sha256(key.provider + "\n" + std::string(key.secret.reveal()))).substr(0, 12);
}

Error not_found() {
    return {Code::kNotFound, Blame::kCaller, "there is no key of that id", {}};
}

web::StoredKey stored(const web::NewKey& key, WallTime now) {
    web::StoredKey stored;
    stored.record.id = id_of(key);
    stored.record.provider = key.provider;
    stored.record.label = key.label;
    stored.record.account = key.account;
    stored.record.last4 = key.secret.last4();
    stored.record.weight = key.weight;
    stored.record.max_in_flight = key.max_in_flight;
    stored.record.quota = key.quota;
    stored.record.engine_id = key.engine_id;
    stored.record.created_at = now;
    stored.secret = key.secret;
    return stored;
}

}  // namespace

void FakeKeyStore::become(const FakeKeyStore& other) {
    revision_ = other.revision_;
    keys_ = other.keys_;
    changed_ = other.changed_;
    removed_ = other.removed_;
    usage_ = other.usage_;
    mark_ += "restored ";
}

Status FakeKeyStore::check() const {
    if (away) {
        return Error{Code::kUnavailable, Blame::kGateway, "the key store is away", Millis{250}};
    }
    return {};
}

Status FakeKeyStore::check_reads() const {
    if (reads_away) {
        return Error{Code::kUnavailable, Blame::kGateway, "the key store can't be read",
                     Millis{250}};
    }
    return check();
}

Task<Status> FakeKeyStore::unlock() {
    co_return check();
}

Task<Result<web::KeyRecord>> FakeKeyStore::add(web::NewKey key) {
    CO_TRY_STATUS(check());
    CO_TRY_STATUS(validate(key));
    web::StoredKey fresh = stored(key, clock_.wall_now());
    for (const web::StoredKey& kept : keys_) {
        if (kept.record.id == fresh.record.id) {
            co_return Error{Code::kConflict, Blame::kCaller, "it is there already", {}};
        }
    }
    removed_.erase(fresh.record.id);
    changed_[fresh.record.id] = ++revision_;
    keys_.push_back(fresh);
    co_return fresh.record;
}

Task<Result<std::size_t>> FakeKeyStore::seed(std::vector<web::NewKey> keys) {
    CO_TRY_STATUS(check());
    std::size_t added = 0;
    for (web::NewKey& key : keys) {
        if (removed_.contains(id_of(key))) {
            continue;
        }
        const auto result = co_await add(std::move(key));
        added += result.ok() ? 1 : 0;
    }
    co_return added;
}

Task<Result<web::KeyRecord>> FakeKeyStore::patch(std::string id, web::KeyPatch patch) {
    CO_TRY_STATUS(check());
    CO_TRY_STATUS(validate(patch));
    for (web::StoredKey& key : keys_) {
        web::KeyRecord& record = key.record;
        if (record.id != id) {
            continue;
        }
        record.state = patch.state.value_or(record.state);
        record.label = patch.label.value_or(record.label);
        record.account = patch.account.value_or(record.account);
        record.weight = patch.weight.value_or(record.weight);
        record.max_in_flight = patch.max_in_flight.value_or(record.max_in_flight);
        record.quota = patch.quota.value_or(record.quota);
        record.engine_id = patch.engine_id.value_or(record.engine_id);
        changed_[id] = ++revision_;
        co_return record;
    }
    co_return not_found();
}

Task<Status> FakeKeyStore::remove(std::string id) {
    CO_TRY_STATUS(check());
    const auto found = std::find_if(keys_.begin(), keys_.end(),
                                    [&](const auto& key) { return key.record.id == id; });
    if (found == keys_.end()) {
        co_return not_found();
    }
    keys_.erase(found);
    removed_[id] = ++revision_;
    usage_.erase(id);
    co_return Status();
}

Task<Result<web::KeySet>> FakeKeyStore::load(StoreRevision since) {
    CO_TRY_STATUS(check_reads());
    web::KeySet set;
    set.revision = StoreRevision(revision_, mark_);
    set.is_whole = since.number == 0 || since.mark != mark_;
    for (const web::StoredKey& key : keys_) {
        const auto usage = usage_.find(key.record.id);
        if (!set.is_whole && changed_.at(key.record.id) <= since.number) {
            continue;
        }
        set.keys.push_back(key);
        if (usage != usage_.end()) {
            set.usage.push_back(usage->second);
        }
    }
    for (const auto& [id, revision] : removed_) {
        if (!set.is_whole && revision > since.number) {
            set.removed.push_back(id);
        }
    }
    if (meanwhile) {
        auto then = std::exchange(meanwhile, {});
        CO_TRY_STATUS(co_await then());
    }
    co_return set;
}

Task<Result<StoreRevision>> FakeKeyStore::revision() {
    CO_TRY_STATUS(check_reads());
    co_return StoreRevision(revision_, mark_);
}

std::optional<web::KeyUsage> FakeKeyStore::usage_of(const std::string& id) const {
    const auto found = usage_.find(id);
    return found == usage_.end() ? std::nullopt : std::optional(found->second);
}

Task<Status> FakeKeyStore::save_usage(std::vector<web::KeyUsage> usage) {
    if (write_time > Duration::zero()) {
        co_await clock_.sleep_until(clock_.now() + write_time);
    }
    CO_TRY_STATUS(check());
    usage_writes += 1;
    for (web::KeyUsage& one : usage) {
        const bool kept = std::any_of(keys_.begin(), keys_.end(),
                                      [&](const auto& key) { return key.record.id == one.id; });
        if (kept) {
            std::string id = one.id;
            usage_.insert_or_assign(std::move(id), std::move(one));
        }
    }
    co_return Status();
}

}  // namespace sluice::test
