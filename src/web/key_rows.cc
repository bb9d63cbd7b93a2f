#include "web/key_rows.h"

#include <chrono>
#include <utility>

namespace sluice::web {

namespace {

// Hexadecimal digits of a key's id: enough to tell 20,000 keys apart, few enough to read.
constexpr std::size_t kKeyIdDigits = 12;

// What is sealed to notice another secrets key, and for what.
constexpr std::string_view kMarkText = "the keys of this gateway";
constexpr std::string_view kMarkPurpose = "vault";

using Stamp = std::chrono::time_point<std::chrono::system_clock, Millis>;

}  // namespace

std::int64_t to_stored(WallTime time) {
    return std::chrono::floor<Millis>(time).time_since_epoch().count();
}

WallTime from_stored(std::int64_t milliseconds) {
    return Stamp(Millis(milliseconds));
}

std::string_view bytes_of(const Sha256& digest) {
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

KeyState stored_state(std::string_view word) {
    return word == "disabled" ? KeyState::kDisabled : KeyState::kActive;
}

StoredQuota to_stored(const std::optional<KeyQuota>& quota) {
    StoredQuota stored;
    if (quota) {
        stored.limit = quota->limit;
        stored.per = period_text(*quota);
    }
    return stored;
}

KeyRecord record_of(const NewKey& key, const Sha256& digest, WallTime now) {
    KeyRecord record;
    record.id = to_hex(digest).substr(0, kKeyIdDigits);
    record.provider = key.provider;
    record.label = key.label;
    record.account = key.account;
    record.last4 = key.secret.last4();
    record.weight = key.weight;
    record.max_in_flight = key.max_in_flight;
    record.quota = key.quota;
    record.engine_id = key.engine_id;
    record.created_at = std::chrono::floor<Millis>(now);
    return record;
}

void apply_patch(KeyRecord& record, const KeyPatch& patch) {
    record.state = patch.state.value_or(record.state);
    record.label = patch.label.value_or(record.label);
    record.account = patch.account.value_or(record.account);
    record.weight = patch.weight.value_or(record.weight);
    record.max_in_flight = patch.max_in_flight.value_or(record.max_in_flight);
    record.quota = patch.quota.value_or(record.quota);
    record.engine_id = patch.engine_id.value_or(record.engine_id);
}

Error no_such_key() {
    return Error{Code::kNotFound, Blame::kCaller, "there is no key of that id", {}};
}

Error key_is_there(const KeyRecord& record) {
    return Error{Code::kConflict,
                 Blame::kCaller,
                 "this key of " + record.provider + " is there already, as " + record.id,
                 {}};
}

Error too_many_keys() {
    return Error{
        Code::kConflict,
        Blame::kCaller,
        "there are " + std::to_string(kMaxKeys) + " keys, which is the most; remove one first",
        {}};
}

Error unreadable_key(const std::string& id, const std::string& place, const Error& reason) {
    return Error{Code::kUnavailable,
                 Blame::kGateway,
                 "the key " + id + " in " + place + " can't be read: " + reason.message,
                 {}};
}

std::string seal_vault_mark(const KeyVault& vault, Random& random) {
    return vault.seal(Secret(std::string(kMarkText)), kMarkPurpose, random);
}

Status check_vault_mark(const KeyVault& vault, const std::string& key_id, std::string_view mark,
                        const std::string& place, std::string_view advice) {
    if (key_id == vault.key_id() && vault.open(mark, kMarkPurpose).ok()) {
        return {};
    }
    return Error{Code::kConflict,
                 Blame::kCaller,
                 place + ": the keys in it were encrypted with the secrets key " + key_id +
                     ", and this one is " + vault.key_id() +
                     "; give the right one (setting secrets.key), or " + std::string(advice),
                 {}};
}

}  // namespace sluice::web
