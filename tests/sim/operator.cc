#include "sim/operator.h"

#include "sim/bounds.h"
#include "web/key_runtime_memory.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace sluice::sim {

using web::KeyQuota;
using web::KeyState;

namespace {

constexpr std::size_t kMaxKeysOfRun = 60;

}  // namespace

Operator::Operator(test::WebHarness& harness, KeyBooks& books, PurseBooks& purses, Network& network,
                   Random& random)
    : harness_(harness),
      books_(books),
      purses_(purses),
      network_(network),
      random_(random),
      key_store_(harness.clock),
      watch_(key_store_, harness.keys, harness.clock, harness.log, harness.metrics),
      usage_(harness.io.get_executor(), harness.keys.runtime(), key_store_, harness.clock,
             harness.log, harness.metrics) {
    harness.keys.keep_usage(&usage_);
}

std::uint32_t Operator::random_weight() {
    return static_cast<std::uint32_t>(1 + random_.below(9));
}

std::optional<std::uint32_t> Operator::random_bound() {
    if (random_.below(2) == 0) {
        return static_cast<std::uint32_t>(1 + random_.below(5));
    }
    return std::nullopt;
}

std::optional<KeyQuota> Operator::random_quota() {
    constexpr KeyQuota::Per kPeriods[] = {KeyQuota::Per::kDay, KeyQuota::Per::kMonth,
                                          KeyQuota::Per::kTotal};
    if (random_.below(4) == 0) {
        return KeyQuota{
            static_cast<std::int64_t>(1 + random_.below(60)), kPeriods[random_.below(3)], {}};
    }
    return std::nullopt;
}

std::string Operator::random_account() {
    return random_.below(3) == 0 ? "" : "team-" + std::to_string(random_.below(3));
}

void Operator::add_key(std::string_view provider) {
    last_number_ += 1;
    web::NewKey key;
    key.provider = provider;
    key.secret = Secret(KeyBooks::secret_of(last_number_));
    key.engine_id = "an-engine";
    key.weight = random_weight();
    key.max_in_flight = random_bound();
    key.quota = random_quota();
    key.account = random_account();
    const Result<web::KeyRecord> added = done(key_store_.add(std::move(key)));
    if (!added.ok()) {
        return;
    }
    records_.push_back(*added);
    books_.add(*added, last_number_);
    watch_keys();
}

web::KeyRecord& Operator::random_key() {
    return records_[static_cast<std::size_t>(random_.below(records_.size()))];
}

void Operator::patch(web::KeyRecord& record, web::KeyPatch patch) {
    const Result<web::KeyRecord> patched = done(key_store_.patch(record.id, std::move(patch)));
    if (!patched.ok()) {
        return;
    }
    record = *patched;
    books_.put(record);
    watch_keys();
}

void Operator::change_key() {
    web::KeyRecord& record = random_key();
    web::KeyPatch change;
    if (random_.below(2) == 0) {
        const bool is_active = record.state == KeyState::kActive;
        change.state = is_active ? KeyState::kDisabled : KeyState::kActive;
    } else {
        change.weight = random_weight();
        change.max_in_flight = random_bound();
        change.quota = random_quota();
        change.account = random_account();
    }
    patch(record, std::move(change));
}

void Operator::remove_key() {
    const std::size_t at = static_cast<std::size_t>(random_.below(records_.size()));
    const std::string id = records_[at].id;
    if (!done(key_store_.remove(id)).ok()) {
        return;
    }
    records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(at));
    books_.remove(id);
    watch_keys();
}

void Operator::trouble_the_key_store() {
    key_store_.away = random_.below(2) == 0;
}

// Its errors are those of a store that is away.
void Operator::watch_keys() {
    if (done(watch_.refresh()).ok()) {
        static_cast<void>(done(usage_.save()).ok());
    }
}

std::vector<web::KeyReport> Operator::what_the_store_says() {
    test::FakeKeyStore copy(harness_.clock, key_store_);
    web::KeyPool later(std::make_shared<web::MemoryKeyRuntime>(
        harness_.clock, harness_.web.config()->keys.runtime));
    later.apply(done(copy.load(0)).value());
    return done(later.report());
}

void Operator::look_into_the_key_store() {
    if (!may_forget_) {
        books_.check_remembered(what_the_store_says());
    }
}

void Operator::check_usage_is_kept(Violations& violations) {
    key_store_.away = false;
    watch_keys();
    violations.check(done(usage_.stop()).ok(), "what keys were used can't be written at the end");
    const std::vector<web::KeyReport> now = done(harness_.keys.report());
    const std::vector<web::KeyReport> then = what_the_store_says();
    violations.check(now.size() == then.size(), "after a restart there are other keys");
    for (std::size_t i = 0; i < std::min(now.size(), then.size()); ++i) {
        violations.check(now[i].record == then[i].record, "a key is another after a restart",
                         now[i].record.id);
        violations.check(now[i].health.used == then[i].health.used,
                         "a restart forgets what a key was used", now[i].record.id);
    }
}

void Operator::reload() {
    web::WebConfig config = *harness_.web.config();
    config.cache.ttl = Millis(static_cast<std::int64_t>(random_.below(3'000)));
    config.cache.negative_ttl = Millis(static_cast<std::int64_t>(random_.below(1'000)));
    config.merge.wait = Millis(static_cast<std::int64_t>(random_.below(500)));
    config.merge.providers = 1 + static_cast<std::size_t>(random_.below(5));
    config.hedge.max_extra_ratio = random_.unit();
    std::swap(config.route_fast, config.route_deep);
    for (auto& [name, provider] : config.providers) {
        provider.enabled = random_.below(6) != 0;
        if (random_.below(4) == 0) {
            provider.rate.tokens = static_cast<std::int64_t>(random_.below(4)) * 3;
        }
    }
    network_.set_rates(config, kLongestSearch);
    harness_.web.reconfigure(std::move(config));
}

void Operator::set_random_budgets() {
    const auto limits = [this](std::int64_t most) {
        return random_.below(2) == 0 ? random_limits(random_, most) : access::Limits();
    };
    access::BudgetConfig config;
    config.providers.resize(web::all_providers().size());
    if (random_.below(3) == 0) {
        config.gateway = limits(400);
        config.anonymous = limits(200);
        config.token_default = limits(200);
        config.key_default = limits(30);
        for (access::Limits& provider : config.providers) {
            provider = limits(80);
        }
    }
    config.on_store_loss =
        random_.below(2) == 0 ? access::OnStoreLoss::kRefuse : access::OnStoreLoss::kAllow;
    may_forget_ = may_forget_ || config.on_store_loss == access::OnStoreLoss::kAllow;
    purses_.set(config);
    harness_.budgets.reconfigure(std::move(config));
}

void Operator::trouble_the_disk() {
    harness_.spend_store.away = random_.below(3) == 0;
    harness_.spend_store.write_time = Millis(random_.below(2) == 0 ? 0 : random_.below(400));
}

void Operator::change_something() {
    switch (random_.below(9)) {
        case 0:
        case 1:
        case 2:
            if (records_.size() < kMaxKeysOfRun) {
                const auto& providers = web::all_providers();
                add_key(providers[random_.below(providers.size())]->spec().name);
            }
            return;
        case 3:
        case 4:
            change_key();
            return;
        case 5: {
            const std::string id = random_key().id;
            books_.clear_rest(id);
            harness_.keys.clear_rest(id);
            return;
        }
        case 6:
            set_random_budgets();
            return;
        case 7:
            if (random_.below(3) == 0) {
                harness_.web.purge_cache();
            } else if (records_.size() > 3) {
                remove_key();
            }
            return;
        default:
            reload();
    }
}

void Operator::set_everything_right() {
    harness_.spend_store.away = false;
    harness_.spend_store.write_time = Millis(0);
    access::BudgetConfig no_budgets;
    no_budgets.providers.resize(web::all_providers().size());
    purses_.set(no_budgets);
    harness_.budgets.reconfigure(std::move(no_budgets));
    web::WebConfig config = *harness_.web.config();
    for (auto& [name, provider] : config.providers) {
        provider.enabled = true;
        provider.rate.tokens = 0;
    }
    network_.set_rates(config, Millis(0));
    harness_.web.reconfigure(std::move(config));
    key_store_.away = false;
    for (const web::Provider* provider : web::all_providers()) {
        add_key(provider->spec().name);
        web::KeyPatch without_quota;
        without_quota.quota = std::optional<KeyQuota>();
        patch(records_.back(), std::move(without_quota));
    }
}

}  // namespace sluice::sim
