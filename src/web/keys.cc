#include "web/keys.h"

#include "base/hash.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sluice::web {

namespace {

// Hexadecimal digits of a key's id: enough to tell a few thousand keys apart, few enough to read.
constexpr std::size_t kKeyIdDigits = 12;

}  // namespace

struct KeyPool::Entry {
    ProviderKey key;
    KeyStatus status = KeyStatus::kAvailable;
    Instant until{};  // of a status other than kAvailable
    Instant last_used{};
    std::uint32_t in_flight = 0;

    // Every penalty is time-boxed: it ends by itself.
    KeyStatus status_at(Instant now) const { return now < until ? status : KeyStatus::kAvailable; }
};

std::string_view to_string(KeyStatus status) {
    switch (status) {
        case KeyStatus::kAvailable:
            return "available";
        case KeyStatus::kCooling:
            return "cooling";
        case KeyStatus::kExhausted:
            return "exhausted";
        case KeyStatus::kQuarantined:
            return "quarantined";
    }
    SLUICE_ASSERT(false && "a KeyStatus outside its enumeration");
}

KeyPool::KeyPool() = default;
KeyPool::~KeyPool() = default;

std::string KeyPool::add(std::string_view provider, Secret secret) {
    std::string material = "sluice key id\n";
    material.append(provider).append("\n").append(secret.reveal());
    std::string id = to_hex(sha256(material)).substr(0, kKeyIdDigits);
    auto& entries = keys_[std::string(provider)];
    const bool known = std::any_of(entries.begin(), entries.end(),
                                   [&](const auto& entry) { return entry->key.id == id; });
    if (!known) {
        auto entry = std::make_shared<Entry>();
        entry->key = ProviderKey{id, std::move(secret)};
        entries.push_back(std::move(entry));
    }
    return id;
}

std::optional<KeyLease> KeyPool::lease(std::string_view provider,
                                       const std::vector<std::string>& tried, Instant now) {
    const auto found = keys_.find(provider);
    if (found == keys_.end()) {
        return std::nullopt;
    }
    std::shared_ptr<Entry> best;
    for (const std::shared_ptr<Entry>& entry : found->second) {
        if (entry->status_at(now) != KeyStatus::kAvailable ||
            std::find(tried.begin(), tried.end(), entry->key.id) != tried.end()) {
            continue;
        }
        if (!best || std::tie(entry->in_flight, entry->last_used) <
                         std::tie(best->in_flight, best->last_used)) {
            best = entry;
        }
    }
    if (!best) {
        return std::nullopt;
    }
    best->last_used = now;
    return KeyLease(std::move(best));
}

std::optional<Instant> KeyPool::back_at(std::string_view provider, Instant now) const {
    const auto found = keys_.find(provider);
    std::optional<Instant> first;
    if (found == keys_.end()) {
        return first;
    }
    for (const auto& entry : found->second) {
        if (entry->status_at(now) != KeyStatus::kAvailable && (!first || entry->until < *first)) {
            first = entry->until;
        }
    }
    return first;
}

std::map<std::string, KeyPool::Counts> KeyPool::counts(Instant now) const {
    std::map<std::string, Counts> result;
    for (const auto& [provider, entries] : keys_) {
        result[provider] = counts_of(provider, now);
    }
    return result;
}

KeyPool::Counts KeyPool::counts_of(std::string_view provider, Instant now) const {
    Counts counts;
    const auto found = keys_.find(provider);
    if (found == keys_.end()) {
        return counts;
    }
    for (const auto& entry : found->second) {
        counts.in_flight += entry->in_flight;
        switch (entry->status_at(now)) {
            case KeyStatus::kAvailable:
                counts.available += 1;
                break;
            case KeyStatus::kCooling:
                counts.cooling += 1;
                break;
            case KeyStatus::kExhausted:
                counts.exhausted += 1;
                break;
            case KeyStatus::kQuarantined:
                counts.quarantined += 1;
                break;
        }
    }
    return counts;
}

KeyLease::KeyLease(std::shared_ptr<KeyPool::Entry> entry) : entry_(std::move(entry)) {
    entry_->in_flight += 1;
}

KeyLease::~KeyLease() {
    if (entry_) {
        entry_->in_flight -= 1;
    }
}

const ProviderKey& KeyLease::key() const {
    return entry_->key;
}

void KeyLease::penalise(KeyStatus status, Instant until) {
    if (until <= entry_->until) {
        return;
    }
    entry_->status = status;
    entry_->until = until;
}

}  // namespace sluice::web
