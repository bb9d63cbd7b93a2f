#include "web/keys.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace sluice::web {

std::string_view to_string(NoKey::Why why) {
    switch (why) {
        case NoKey::Why::kNone:
            return "no key is configured";
        case NoKey::Why::kDisabled:
            return "every key is disabled";
        case NoKey::Why::kResting:
            return "every key is resting";
        case NoKey::Why::kSaturated:
            return "every key is busy";
        case NoKey::Why::kTried:
            return "every other key was tried";
        case NoKey::Why::kGone:
            return "its key was put to rest or taken away before the call began";
        case NoKey::Why::kUnknown:
            return "what replicas share of its keys can't be read";
        case NoKey::Why::kUncounted:
            return "the call can't be written down in its key's quota, and budgets.on_store_loss "
                   "is refuse";
    }
    SLUICE_ASSERT(false && "a NoKey::Why outside its enumeration");
}

namespace detail {

// Apart from the records and by KeyIndex: a lease touches one small slot of it, whatever the number
// of keys. A key that was changed or removed stays here, retired, until its last lease ends.
struct KeyShelf {
    struct Slot {
        std::unique_ptr<const ProviderKey> key;  // null: no key has this index
        std::uint32_t leases = 0;
    };

    explicit KeyShelf(std::shared_ptr<KeyRuntime> r) : runtime(std::move(r)) {}

    void put(KeyIndex index, std::unique_ptr<const ProviderKey> key) {
        if (index >= slots.size()) {
            slots.resize(index + 1);
        }
        Slot& slot = slots[index];
        if (slot.leases > 0 && slot.key) {
            retired.emplace_back(index, std::move(slot.key));
        }
        slot.key = std::move(key);
    }

    void end_lease(KeyIndex index) {
        slots[index].leases -= 1;
        if (slots[index].leases == 0 && !retired.empty()) {
            std::erase_if(retired, [index](const auto& old) { return old.first == index; });
        }
    }

    std::shared_ptr<KeyRuntime> runtime;
    KeyUsageWriter* usage_writer = nullptr;
    std::vector<Slot> slots;
    std::vector<std::pair<KeyIndex, std::unique_ptr<const ProviderKey>>> retired;
};

}  // namespace detail

KeyLease::KeyLease(std::shared_ptr<detail::KeyShelf> shelf, KeyIndex index)
    : shelf_(std::move(shelf)), key_(shelf_->slots[index].key.get()), index_(index) {
    SLUICE_ASSERT(key_ != nullptr);
    period_ = shelf_->runtime->quota_period(index_);
    shelf_->slots[index].leases += 1;
}

KeyLease::KeyLease(KeyLease&& other) noexcept = default;

KeyLease::~KeyLease() {
    if (shelf_) {
        give_back({}, {});
    }
}

void KeyLease::settle(Outcome outcome, std::optional<KeyRest> rest) && {
    give_back(outcome, rest);
}

void KeyLease::refund() && {
    take_back();
    give_back({}, {});
}

bool KeyLease::counts_now() const {
    return is_counted_ && period_ == shelf_->runtime->quota_period(index_);
}

bool KeyLease::may_be_used() const {
    SLUICE_ASSERT(shelf_ != nullptr);
    const KeyRuntime& runtime = *shelf_->runtime;
    return counts_now() ? runtime.may_still_be_used(index_) : runtime.may_be_used_again(index_);
}

bool KeyLease::count() {
    if (counts_now()) {
        return true;
    }
    if (!may_be_used()) {
        return false;
    }
    shelf_->runtime->count_another_call(index_);
    period_ = shelf_->runtime->quota_period(index_);
    is_counted_ = true;
    covered_ = false;
    return true;
}

bool KeyLease::is_covered() const {
    SLUICE_ASSERT(shelf_ != nullptr);
    return counts_now() &&
           (covered_ || shelf_->usage_writer == nullptr || shelf_->runtime->is_vouched_for(index_));
}

void KeyLease::use() {
    SLUICE_ASSERT(shelf_ != nullptr && is_counted_);
    is_counted_ = false;
}

void KeyLease::give_back(std::optional<Outcome> outcome, std::optional<KeyRest> rest) {
    SLUICE_ASSERT(shelf_ != nullptr);
    const std::shared_ptr<detail::KeyShelf> shelf = std::exchange(shelf_, nullptr);
    const auto call = is_counted_ ? KeySettlement::Call::kNotMade : KeySettlement::Call::kMade;
    shelf->runtime->settle(index_, KeySettlement{call, period_, outcome, rest});
    shelf->end_lease(index_);
}

KeyPool::KeyPool(std::shared_ptr<KeyRuntime> runtime)
    : shelf_(std::make_shared<detail::KeyShelf>(std::move(runtime))) {}
KeyPool::~KeyPool() = default;

KeyRuntime& KeyPool::runtime() {
    return *shelf_->runtime;
}

void KeyPool::keep_usage(KeyUsageWriter* writer) {
    shelf_->usage_writer = writer;
}

KeyUsageWriter* KeyPool::usage_writer() const {
    return shelf_->usage_writer;
}

Task<guard::WriteEnd> KeyPool::cover(KeyLease& lease, Instant deadline) {
    SLUICE_ASSERT(usage_writer() != nullptr);
    const guard::WriteEnd end = co_await usage_writer()->cover(deadline);
    if (end == guard::WriteEnd::kWritten) {
        lease.set_covered();
    }
    co_return end;
}

std::optional<Instant> KeyPool::back_at(ProviderIndex provider) {
    return runtime().back_at(provider);
}

KeyCounts KeyPool::counts_of(ProviderIndex provider) {
    return runtime().counts(provider);
}

LeaseResult KeyPool::to_lease(const Pick& pick) const {
    if (const auto* none = std::get_if<NoKey>(&pick)) {
        return *none;
    }
    return KeyLease(shelf_, std::get<KeyIndex>(pick));
}

LeaseStart KeyPool::lease(ProviderIndex provider, std::span<const KeyIndex> tried) {
    PickStart start = runtime().pick(provider, tried);
    if (const auto* pick = std::get_if<Pick>(&start)) {
        return to_lease(*pick);
    }
    return lease_later(std::get<Task<Pick>>(std::move(start)));
}

Task<LeaseResult> KeyPool::lease_later(Task<Pick> pick) {
    const Pick picked = co_await std::move(pick);
    co_return to_lease(picked);
}

std::variant<std::string, NoKey> KeyPool::peek(ProviderIndex provider,
                                               std::span<const KeyIndex> tried) {
    const Pick pick = runtime().peek(provider, tried);
    if (const auto* none = std::get_if<NoKey>(&pick)) {
        return *none;
    }
    return records_[std::get<KeyIndex>(pick)].id;
}

NoKey KeyPool::why_none(ProviderIndex provider) {
    const Pick pick = runtime().peek(provider, {});
    if (const auto* none = std::get_if<NoKey>(&pick)) {
        return *none;
    }
    NoKey tried;
    tried.why = NoKey::Why::kTried;
    return tried;
}

std::map<std::string, KeyCounts> KeyPool::counts() {
    std::map<std::string, KeyCounts> result;
    ProviderIndex index = 0;
    for (const Provider* provider : all_providers()) {
        const KeyCounts counts = runtime().counts(index++);
        if (counts.active() + counts.disabled > 0) {
            result.emplace(provider->spec().name, counts);
        }
    }
    return result;
}

void KeyPool::apply(const KeySet& changes) {
    std::set<std::string_view> fresh;
    for (const StoredKey& stored : changes.keys) {
        const auto provider = find_provider_index(stored.record.provider);
        if (provider && put(stored, *provider) == Applied::kNew) {
            fresh.insert(stored.record.id);
        }
    }
    for (const KeyUsage& counted : changes.usage) {
        if (fresh.contains(counted.id)) {
            runtime().restore_usage(by_id_.find(counted.id)->second, counted);
        }
    }
    for (const std::string& id : changes.is_whole ? missing_in(changes) : changes.removed) {
        const auto found = by_id_.find(id);
        if (found != by_id_.end()) {
            runtime().remove(found->second);
            shelf_->put(found->second, nullptr);
            records_[found->second] = KeyRecord{};
            by_id_.erase(found);
        }
    }
}

std::vector<std::string> KeyPool::missing_in(const KeySet& all) const {
    std::unordered_set<std::string_view> kept;
    for (const StoredKey& stored : all.keys) {
        kept.insert(stored.record.id);
    }
    std::vector<std::string> missing;
    for (const auto& [id, unused] : by_id_) {
        if (!kept.contains(id)) {
            missing.push_back(id);
        }
    }
    return missing;
}

const std::string& KeyPool::account_of(const KeyRecord& record, ProviderIndex provider) const {
    const bool has_own = !record.account.empty() || provider >= default_accounts_.size();
    return has_own ? record.account : default_accounts_[provider];
}

KeyRules KeyPool::rules_of(const KeyRecord& record, ProviderIndex provider) const {
    return {provider,     record.id,     account_of(record, provider),
            record.state, record.weight, record.max_in_flight,
            record.quota};
}

void KeyPool::set_default_accounts(std::vector<std::string> accounts) {
    const std::vector<std::string> before = std::exchange(default_accounts_, std::move(accounts));
    if (before == default_accounts_) {
        return;
    }
    for (const auto& [id, index] : by_id_) {
        const KeyRecord& record = records_[index];
        const ProviderIndex provider = *find_provider_index(record.provider);
        const std::string& account = account_of(record, provider);
        const ProviderKey& present = *shelf_->slots[index].key;
        if (present.account != account) {
            auto key = std::make_unique<ProviderKey>(present);
            key->account = account;
            runtime().change(index, rules_of(record, provider));
            shelf_->put(index, std::move(key));
        }
    }
}

KeyPool::Applied KeyPool::put(const StoredKey& stored, ProviderIndex provider) {
    const KeyRecord& record = stored.record;
    const auto found = by_id_.find(record.id);
    const bool is_new = found == by_id_.end();
    if (!is_new && records_[found->second] == record) {
        return Applied::kAsBefore;
    }
    KeyIndex index = 0;
    if (!is_new) {
        index = found->second;
        runtime().change(index, rules_of(record, provider));
    } else {
        index = runtime().add(rules_of(record, provider));
        by_id_.emplace(record.id, index);
    }
    if (index >= records_.size()) {
        records_.resize(index + 1);
    }
    auto key = std::make_unique<ProviderKey>(record.id, stored.secret);
    key->account = account_of(record, provider);
    key->engine_id = record.engine_id;
    shelf_->put(index, std::move(key));
    records_[index] = record;
    return is_new ? Applied::kNew : Applied::kChanged;
}

const KeyRecord* KeyPool::find(std::string_view id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &records_[found->second];
}

std::optional<ProviderKey> KeyPool::secret_of(std::string_view id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? std::nullopt : std::optional(*shelf_->slots[found->second].key);
}

bool KeyPool::names_engine(ProviderIndex provider) const {
    const std::string_view name = all_providers()[provider]->spec().name;
    return std::ranges::any_of(by_id_, [&](const auto& entry) {
        const KeyRecord& record = records_[entry.second];
        return record.provider == name && record.state == KeyState::kActive &&
               !record.engine_id.empty();
    });
}

bool KeyPool::clear_rest(std::string_view id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) {
        return false;
    }
    runtime().clear_rest(found->second);
    return true;
}

Task<std::vector<KeyReport>> KeyPool::report() {
    std::vector<KeyIndex> indices;
    std::vector<KeyReport> reports;
    for (const auto& [id, index] : by_id_) {
        indices.push_back(index);
        reports.push_back({records_[index], {}});
    }
    const std::vector<KeyHealth> health = co_await runtime().health(std::move(indices));
    for (std::size_t i = 0; i < reports.size(); ++i) {
        reports[i].health = health[i];
    }
    std::sort(reports.begin(), reports.end(), [](const KeyReport& a, const KeyReport& b) {
        return std::tie(a.record.created_at, a.record.id) <
               std::tie(b.record.created_at, b.record.id);
    });
    co_return reports;
}

Task<std::optional<KeyReport>> KeyPool::report_one(std::string id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) {
        co_return std::nullopt;
    }
    KeyReport report{records_[found->second], {}};
    std::vector<KeyIndex> one{found->second};
    const std::vector<KeyHealth> health = co_await runtime().health(std::move(one));
    report.health = health.front();
    co_return report;
}

}  // namespace sluice::web
