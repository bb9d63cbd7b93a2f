#include "sim/key_books.h"

#include "sim/bounds.h"

#include <algorithm>

namespace sluice::sim {

using web::KeyState;
using web::KeyStatus;

namespace {

constexpr std::size_t kNumberSize = 8;

bool rests(KeyStatus status) {
    return status == KeyStatus::kCooling || status == KeyStatus::kExhausted ||
           status == KeyStatus::kQuarantined;
}

std::string describe(const web::KeyReport& report) {
    return report.record.provider + " " + report.record.id + " is " +
           std::string(to_string(report.health.status));
}

}  // namespace

std::string KeyBooks::secret_of(std::uint64_t number) {
    std::string digits = std::to_string(number);
    SLUICE_ASSERT(digits.size() == kNumberSize);
    return std::string(kSecretMark) + digits;
}

void KeyBooks::add(const web::KeyRecord& record, std::uint64_t number) {
    by_secret_.emplace(std::to_string(number), record.id);
    put(record);
}

void KeyBooks::put(const web::KeyRecord& record) {
    const auto [entry, is_new] = keys_.try_emplace(record.id);
    KeyEntry& key = entry->second;
    if (key.record.quota != record.quota) {
        key.used = 0;  // what was counted under other rules is not held against the new ones
    }
    const bool is_settled = clock_.now() - key.decided_at > kLongestSearch;
    key.bound_before =
        std::max(is_new ? 0 : bound_of(key.record), is_settled ? 0 : key.bound_before);
    key.record = record;
    key.decided_at = clock_.now();
}

void KeyBooks::remove(std::string_view id) {
    KeyEntry& key = keys_.find(id)->second;
    key.removed = true;
    key.decided_at = clock_.now();
}

void KeyBooks::clear_rest(std::string_view id) {
    KeyEntry& key = keys_.find(id)->second;
    key.rests_at_least = Instant::min();
    if (clock_.now() >= key.followed_by) {
        key.rests_at_most = Instant::min();
    }
}

std::size_t KeyBooks::bound_of(const web::KeyRecord& record) const {
    return record.max_in_flight.value_or(config_.max_in_flight);
}

KeyBooks::Call KeyBooks::start_call(std::string_view text) {
    const std::size_t at = text.find(kSecretMark);
    const std::string_view number =
        at == std::string_view::npos ? text : text.substr(at + kSecretMark.size(), kNumberSize);
    const auto named = by_secret_.find(number);
    if (named == by_secret_.end()) {
        violations_.check(false, "a call has a secret that is no key's");
        return {};
    }
    const std::string& id = named->second;
    const auto found = keys_.find(id);
    KeyEntry& key = found->second;
    const Instant now = clock_.now();
    violations_.check(!key.removed, "a deleted key is used", id);
    violations_.check(key.record.state == KeyState::kActive, "a disabled key is used", id);
    violations_.check(now >= key.rests_at_least, "a key is used while it rests", id);
    // Who holds the key since before may go on with it.
    const bool is_settled = now - key.decided_at > kLongestSearch;
    const std::size_t bound = std::max(bound_of(key.record), is_settled ? 0 : key.bound_before);
    violations_.check(key.in_flight < bound, "a key carries more calls than it may", id);
    key.in_flight += 1;
    check_quota(key);
    return {&key, key.period};
}

void KeyBooks::check_quota(KeyEntry& key) {
    if (!key.record.quota) {
        return;
    }
    const WallTime period = web::quota_period_start(key.record.quota->per, clock_.wall_now());
    if (period != key.period) {
        key.period = period;
        key.used = 0;
    }
    key.used += 1;
    violations_.check(key.used <= key.record.quota->limit, "a key is used beyond its quota",
                      key.record.id);
}

void KeyBooks::end_call(const Call& call, Met met) {
    KeyEntry& key = *call.key;
    key.in_flight -= 1;
    const auto& quota = key.record.quota;
    if (met == Met::kNobody && quota && key.used > 0 && call.period == key.period &&
        web::quota_period_start(quota->per, clock_.wall_now()) == key.period) {
        key.used -= 1;
    }
}

void KeyBooks::tell_to_rest(KeyEntry& told, web::Reach reach, Millis least, Millis most,
                            Millis delay) {
    const Instant now = clock_.now();
    told_to_rest_ += 1;
    const auto rest = [&](KeyEntry& key) {
        if (key.removed) {
            return;
        }
        key.rests_at_least = std::max<Instant>(key.rests_at_least, now + least);
        key.rests_at_most = std::max<Instant>(key.rests_at_most, now + most + delay);
        key.followed_by = std::max<Instant>(key.followed_by, now + delay);
    };
    const std::string& account = told.record.account;
    if (reach == web::Reach::kKey || account.empty()) {
        rest(told);
        return;
    }
    for (auto& [id, key] : keys_) {
        if (key.record.provider == told.record.provider && key.record.account == account) {
            rest(key);
        }
    }
}

void KeyBooks::check_remembered(const std::vector<web::KeyReport>& reports) {
    for (const web::KeyReport& report : reports) {
        const KeyEntry& key = keys_.find(report.record.id)->second;
        const auto& quota = key.record.quota;
        if (quota && key.period == web::quota_period_start(quota->per, clock_.wall_now())) {
            violations_.check(report.health.used >= key.used,
                              "a process that dies now forgets calls", describe(report));
        }
    }
}

void KeyBooks::compare(const std::vector<web::KeyReport>& reports) {
    std::size_t there = 0;
    for (const auto& [id, key] : keys_) {
        there += key.removed ? 0 : 1;
    }
    violations_.check(reports.size() == there, "the gateway has other keys than it was given");
    for (const web::KeyReport& report : reports) {
        compare_one(report);
    }
}

void KeyBooks::compare_one(const web::KeyReport& report) {
    const auto found = keys_.find(report.record.id);
    if (found == keys_.end() || found->second.removed) {
        violations_.check(false, "the gateway has a key that it was not given", describe(report));
        return;
    }
    const KeyEntry& key = found->second;
    const Instant now = clock_.now();
    violations_.check(report.health.in_flight >= key.in_flight, "a key's calls are not all counted",
                      describe(report));
    if (key.record.state == KeyState::kDisabled) {
        return;
    }
    const bool is_resting = rests(report.health.status);
    violations_.check(is_resting || now >= key.rests_at_least,
                      "a key that was told to rest does not", describe(report));
    const bool is_used_up = key.record.quota && report.health.used >= key.record.quota->limit;
    violations_.check(!is_resting || now < key.rests_at_most || is_used_up,
                      "a key rests although nobody told it to", describe(report));
}

void KeyBooks::check_idle() {
    for (const auto& [id, key] : keys_) {
        violations_.check(key.in_flight == 0, "a call of a key never ended", id);
    }
}

}  // namespace sluice::sim
