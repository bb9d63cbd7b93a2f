#include "sim/operator.h"

#include "sim/bounds.h"

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
    : harness_(harness), books_(books), purses_(purses), network_(network), random_(random) {}

void Operator::randomise(web::KeyRecord& record) {
    record.weight = static_cast<std::uint32_t>(1 + random_.below(9));
    record.max_in_flight.reset();
    if (random_.below(2) == 0) {
        record.max_in_flight = static_cast<std::uint32_t>(1 + random_.below(5));
    }
    record.quota.reset();
    if (random_.below(4) == 0) {
        constexpr KeyQuota::Per kPeriods[] = {KeyQuota::Per::kDay, KeyQuota::Per::kMonth,
                                              KeyQuota::Per::kTotal};
        record.quota =
            KeyQuota{static_cast<std::int64_t>(1 + random_.below(60)), kPeriods[random_.below(3)]};
    }
    record.account = random_.below(3) == 0 ? "" : "team-" + std::to_string(random_.below(3));
}

void Operator::publish(const web::KeyRecord& record) {
    books_.put(record);
    harness_.apply_keys();
}

void Operator::add_key(std::string_view provider) {
    last_id_ += 1;
    web::StoredKey key;
    key.record.id = std::to_string(last_id_);
    key.record.provider = provider;
    key.record.engine_id = "an-engine";
    key.secret = Secret(KeyBooks::secret_of(key.record.id));
    randomise(key.record);
    const web::KeyRecord record = key.record;
    harness_.stored_keys.push_back(std::move(key));
    publish(record);
}

web::StoredKey& Operator::random_key() {
    return harness_
        .stored_keys[static_cast<std::size_t>(random_.below(harness_.stored_keys.size()))];
}

void Operator::change_key() {
    web::StoredKey& key = random_key();
    if (random_.below(2) == 0) {
        const bool is_active = key.record.state == KeyState::kActive;
        key.record.state = is_active ? KeyState::kDisabled : KeyState::kActive;
    } else {
        randomise(key.record);
    }
    publish(key.record);
}

void Operator::remove_key() {
    const std::size_t at = static_cast<std::size_t>(random_.below(harness_.stored_keys.size()));
    const std::string id = harness_.stored_keys[at].record.id;
    harness_.stored_keys.erase(harness_.stored_keys.begin() + static_cast<std::ptrdiff_t>(at));
    harness_.apply_keys({id});
    books_.remove(id);
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
            if (harness_.stored_keys.size() < kMaxKeysOfRun) {
                const auto& providers = web::all_providers();
                add_key(providers[random_.below(providers.size())]->spec().name);
            }
            return;
        case 3:
        case 4:
            change_key();
            return;
        case 5: {
            const std::string id = random_key().record.id;
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
            } else if (harness_.stored_keys.size() > 3) {
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
    for (const web::Provider* provider : web::all_providers()) {
        add_key(provider->spec().name);
        web::KeyRecord& record = harness_.stored_keys.back().record;
        record.quota.reset();
        publish(record);
    }
}

}  // namespace sluice::sim
