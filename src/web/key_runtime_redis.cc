#include "web/key_runtime_redis.h"

#include "io/redis_state.h"
#include "web/key_runtime_redis_parts.h"
#include "web/key_scripts.h"
#include "web/metrics.h"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>

namespace sluice::web {

namespace {

constexpr KeyIndex kNoKey = kNoKeyIndex;
// Keys that a pick names.
constexpr std::size_t kMaxNamed = 64;
// How often a pick is sent again.
constexpr int kMaxAsks = 4;
constexpr Millis kStrangersLoggedEvery{60'000};
constexpr Millis kTroubleLoggedEvery{10'000};

std::int64_t to_stored(WallTime time) {
    return std::chrono::floor<Millis>(time).time_since_epoch().count();
}

// Of a count that is as old as `start`; nothing: it has no end.
std::optional<std::int64_t> period_end(const KeyRules& rules, WallTime start) {
    if (!rules.quota) {
        return std::nullopt;
    }
    if (rules.quota->per == KeyQuota::Per::kWindow) {
        return to_stored(start) + rules.quota->window.count();
    }
    const auto reset = quota_reset(rules.quota->per, start);
    return reset ? std::optional(to_stored(*reset)) : std::nullopt;
}

NoKey::Why why_of(std::string_view word) {
    using Why = NoKey::Why;
    constexpr std::array<std::pair<std::string_view, Why>, 5> kWords = {
        {{"none", Why::kNone},
         {"disabled", Why::kDisabled},
         {"resting", Why::kResting},
         {"saturated", Why::kSaturated},
         {"tried", Why::kTried}}};
    const auto found = std::ranges::find(kWords, word, &std::pair<std::string_view, Why>::first);
    return found == kWords.end() ? Why::kUnknown : found->second;
}

bool is_cancelled(const boost::asio::cancellation_state& state) {
    return state.cancelled() != boost::asio::cancellation_type::none;
}

}  // namespace

RedisKeyRuntime::RedisKeyRuntime(io::RedisClient& redis, Clock& clock, Random& random,
                                 const obs::Log& log, obs::Metrics& metrics,
                                 const RuntimeConfig& config, const Clock* time_of_redis)
    : redis_(redis),
      clock_(clock),
      time_of_redis_(time_of_redis),
      random_(random),
      log_(log),
      shared_picks_(metrics.counter(kKeyPicks, {"shared"})),
      picks_alone_(metrics.counter(kKeyPicks, {"alone"})),
      stranger_lines_(1, kStrangersLoggedEvery),
      alone_lines_(1, kTroubleLoggedEvery),
      lost_lines_(static_cast<int>(provider_names().size()), kTroubleLoggedEvery),
      config_(config),
      local_(clock, config),
      owner_(std::to_string(random.u64())) {
    for (const std::string_view name : provider_names()) {
        pools_.push_back(std::make_unique<Pool>(key_root(name)));
    }
}

RedisKeyRuntime::~RedisKeyRuntime() = default;

RedisKeyRuntime::Pool& RedisKeyRuntime::pool_of(KeyIndex key) {
    return *pools_[keys_[key].rules.provider];
}

std::vector<std::string> RedisKeyRuntime::arguments(const Pool& pool) const {
    std::string time;
    if (time_of_redis_ != nullptr) {
        time = std::to_string(to_stored(time_of_redis_->wall_now()));
    }
    return {std::move(time), pool.epoch};
}

std::string RedisKeyRuntime::new_token() {
    return owner_ + "-" + std::to_string(++reservations_);
}

// A reservation outlives its call by a little.
Millis RedisKeyRuntime::reservation_life() const {
    constexpr Millis kSlack{10'000};
    return config_.longest_call + kSlack;
}

bool RedisKeyRuntime::is_on(KeyIndex key) const {
    return keys_[key].rules.state != KeyState::kDisabled;
}

// Redis is told of no key that is disabled here: it may be another replica's.
void RedisKeyRuntime::mark(KeyIndex key) {
    if (is_on(key) && !std::exchange(keys_[key].is_marked, true)) {
        pool_of(key).marked.push_back(key);
    }
}

// Whether there is nothing to tell Redis, or it is on its way.
bool RedisKeyRuntime::is_told(const Pool& pool) const {
    return !pool.epoch.empty() && pool.connection == redis_.connections() && pool.marked.empty() &&
           pool.let_go.empty();
}

// Whether Redis knows everything. What is on its way may be passed by what is sent after it: a
// script that Redis has forgotten is sent again.
bool RedisKeyRuntime::knows_all(const Pool& pool) const {
    return is_told(pool) && !pool.is_sharing;
}

// Whether the state in Redis is another one than when the script was sent, which leaves the epoch.
bool RedisKeyRuntime::is_stale(Pool& pool, const io::RedisReply& reply, std::string_view epoch) {
    if (kind_of_reply(reply) != "stale") {
        return false;
    }
    if (pool.epoch == epoch) {
        pool.epoch.clear();
        pool.why_lost = io::why_lost(reply);
    }
    return true;
}

// Whether Redis did what it was sent in that epoch. Otherwise notes why not.
bool RedisKeyRuntime::is_done(Pool& pool, const Result<io::RedisReply>& reply,
                              std::string_view epoch) {
    if (!reply.ok()) {
        failure_ = reply.error().message;
        return false;
    }
    return !is_stale(pool, *reply, epoch);
}

void RedisKeyRuntime::configure(const RuntimeConfig& config) {
    config_ = config;
    local_.configure(config);
    for (const auto& pool : pools_) {
        for (const auto& [id, key] : pool->by_id) {
            mark(key);
        }
    }
}

KeyIndex RedisKeyRuntime::add(KeyRules rules) {
    SLUICE_ASSERT(rules.id.find(':') == std::string::npos);
    const KeyIndex key = local_.add(rules);
    if (key >= keys_.size()) {
        keys_.resize(key + 1);
    }
    Pool& pool = *pools_[rules.provider];
    pool.by_id.emplace(rules.id, key);
    pool.let_go.erase(rules.id);
    const std::uint32_t under_way = keys_[key].under_way;  // about who had this index before
    keys_[key] = Key{};
    keys_[key].under_way = under_way;
    keys_[key].rules = std::move(rules);
    mark(key);
    return key;
}

void RedisKeyRuntime::change(KeyIndex key, KeyRules rules) {
    Key& present = keys_[key];
    const bool was_on = is_on(key);
    local_.change(key, rules);
    if (!is_counted_alike(present.rules.quota, rules.quota)) {
        present.known_from = Key::From::kNowhere;
        present.unshared_calls = 0;
    }
    present.rules = std::move(rules);
    if (is_on(key)) {
        pool_of(key).let_go.erase(present.rules.id);
        mark(key);
    } else if (was_on) {
        unmark(key);
        pool_of(key).let_go.insert(present.rules.id);
    }
}

void RedisKeyRuntime::unmark(KeyIndex key) {
    std::erase(pool_of(key).marked, key);
    keys_[key].is_marked = false;
}

void RedisKeyRuntime::remove(KeyIndex key) {
    Pool& pool = pool_of(key);
    // Nobody will say here when the calls of others end.
    KeyStanding standing = local_.standing(key);
    standing.in_flight = static_cast<std::uint32_t>(keys_[key].tokens.size());
    local_.assume(key, standing);
    local_.remove(key);
    const std::string& id = keys_[key].rules.id;
    pool.by_id.erase(id);
    unmark(key);
    keys_[key].is_marked = true;  // nothing is to be said of it any more
    if (is_on(key)) {
        pool.let_go.insert(id);
    }
}

PickStart RedisKeyRuntime::pick(ProviderIndex provider, std::span<const KeyIndex> tried) {
    if (local_.counts(provider).active() == 0) {
        return local_.peek(provider, tried);
    }
    if (!redis_.is_up()) {
        return pick_alone(provider, tried);
    }
    return pick_shared(provider, tried);
}

Task<Pick> RedisKeyRuntime::pick_shared(ProviderIndex provider, std::span<const KeyIndex> tried) {
    Pool& pool = *pools_[provider];
    for (int asks = 0; asks < kMaxAsks && redis_.is_up(); ++asks) {
        const Shared shared = knows_all(pool) ? Shared::kAll : co_await wait_shared(pool);
        if (shared == Shared::kGone) {
            co_return NoKey{NoKey::Why::kGone, {}};
        } else if (shared == Shared::kNotAll) {
            break;
        }
        auto asked = std::make_shared<Ask>();
        asked->token = new_token();
        asked->epoch = pool.epoch;
        std::vector<std::string> words = arguments(pool);
        words.push_back(asked->token);
        words.push_back(std::to_string(reservation_life().count()));
        name_keys(pool, tried, words, *asked);
        if (!redis_.tasks().spawn(ask(pool, std::move(words), asked))) {
            break;
        }
        if (co_await asked->done.wait_until(clock_, Instant::max()) != guard::WaitEnd::kSet) {
            asked->is_abandoned = true;
            co_return NoKey{NoKey::Why::kGone, {}};
        }
        switch (asked->end) {
            case Ask::End::kDecided:
                if (asked->names_own && std::holds_alternative<NoKey>(asked->pick)) {
                    co_return why_none_of_own(provider, tried);
                }
                co_return asked->pick;
            case Ask::End::kFailed:
                co_return pick_alone(provider, tried);
            case Ask::End::kUntold:
                co_await refresh(pool);  // another replica let them go
                if (is_cancelled(co_await boost::asio::this_coro::cancellation_state)) {
                    co_return NoKey{NoKey::Why::kGone, {}};
                }
                break;
            case Ask::End::kStale:
            case Ask::End::kStranger:
                break;
        }
        failure_ = "what redis knows of keys changes too often";
    }
    co_return pick_alone(provider, tried);
}

// All keys but those that were tried; once Redis gave out one that is not here, own keys only:
// where there are many, some of them, others each time.
void RedisKeyRuntime::name_keys(Pool& pool, std::span<const KeyIndex> tried,
                                std::vector<std::string>& words, Ask& ask) const {
    ask.names_own = pool.has_strangers;
    words.emplace_back(ask.names_own ? "of" : "but");
    if (!ask.names_own) {
        for (const KeyIndex key : tried) {
            words.push_back(keys_[key].rules.id);
        }
        return;
    }
    const std::size_t most = words.size() + kMaxNamed;
    const std::size_t count = pool.by_id.size();
    auto next = pool.by_id.begin();
    if (count > kMaxNamed) {
        std::advance(next, static_cast<std::ptrdiff_t>(pool.names_from % count));
        pool.names_from += kMaxNamed;
    }
    for (std::size_t i = 0; i < count && words.size() < most; ++i) {
        const auto& [id, key] = *next;
        if (is_on(key) && std::ranges::find(tried, key) == tried.end()) {
            words.push_back(id);
        }
        next = std::next(next) == pool.by_id.end() ? pool.by_id.begin() : std::next(next);
    }
}

// What Redis says of why there is none is about the keys of all replicas.
NoKey RedisKeyRuntime::why_none_of_own(ProviderIndex provider, std::span<const KeyIndex> tried) {
    const Pick known = local_.peek(provider, tried);
    const auto* none = std::get_if<NoKey>(&known);
    return none != nullptr ? *none : NoKey{NoKey::Why::kSaturated, {}};
}

Task<void> RedisKeyRuntime::ask(Pool& pool, std::vector<std::string> arguments,
                                std::shared_ptr<Ask> ask) {
    std::vector<std::string> keys{pool.root};
    const Result<io::RedisReply> reply = co_await redis_.run(pick_key_script(), std::move(keys),
                                                             std::move(arguments), Instant::max());
    if (!is_done(pool, reply, ask->epoch)) {
        ask->end = reply.ok() ? Ask::End::kStale : Ask::End::kFailed;
    } else {
        read_pick(pool, *reply, *ask);
    }
    ask->done.set();
    const auto* key = std::get_if<KeyIndex>(&ask->pick);
    if (ask->is_abandoned && key != nullptr) {
        settle(*key, KeySettlement{KeySettlement::Call::kNotMade, {}, {}});
    }
}

void RedisKeyRuntime::read_pick(Pool& pool, const io::RedisReply& reply, Ask& ask) {
    const std::string_view kind = kind_of_reply(reply);
    if (kind == "picked" && reply.elements.size() == 4) {
        take(pool, reply, ask);
    } else if (kind == "none" && reply.elements.size() == 3) {
        NoKey none;
        none.why = why_of(reply.elements[1].text);
        if (none.why == NoKey::Why::kNone || none.why == NoKey::Why::kDisabled) {
            ask.end = Ask::End::kUntold;  // this process has one, or would not have asked
            return;
        }
        if (reply.elements[2].integer >= 0) {
            none.back_at = clock_.now() + Millis(reply.elements[2].integer);
        }
        ask.pick = none;
        ask.end = Ask::End::kDecided;
    }
    if (ask.end == Ask::End::kDecided) {
        shared_picks_.add();
        come_back();
    }
}

void RedisKeyRuntime::take(Pool& pool, const io::RedisReply& reply, Ask& ask) {
    const std::string& id = reply.elements[1].text;
    const auto found = pool.by_id.find(id);
    if (found == pool.by_id.end() || !is_on(found->second)) {
        withdraw(pool, id, ask.token);
        note_stranger(pool, id);
        ask.end = Ask::End::kStranger;
        return;
    }
    const KeyIndex key = found->second;
    local_.take(key);
    keys_[key].tokens.push_back({ask.token, true});
    if (const auto record = read_shared_key(reader_, reply.elements[2].text)) {
        adopt(pool, key, *record, reply.elements[3].integer);
    }
    ask.pick = key;
    ask.end = Ask::End::kDecided;
}

// A key that another replica told Redis of, and that this one does not have, or not any more, or
// not yet.
void RedisKeyRuntime::note_stranger(Pool& pool, const std::string& id) {
    pool.has_strangers = true;
    std::uint64_t suppressed = 0;
    if (stranger_lines_.allow(clock_.now(), suppressed)) {
        log_.warn("key_of_another_replica", {{"key_id", id}, {"suppressed", suppressed}});
    }
}

void RedisKeyRuntime::withdraw(Pool& pool, const std::string& id, const std::string& token) {
    std::vector<std::string> words = arguments(pool);
    words.insert(words.end(), {id, token, "0", "", "", "0", ""});
    redis_.tasks().spawn(carry(settle_key_script(), pool, std::move(words), kNoKey, {}));
}

Pick RedisKeyRuntime::pick_alone(ProviderIndex provider, std::span<const KeyIndex> tried) {
    if (redis_.config().required) {
        return NoKey{NoKey::Why::kUnknown, {}};
    }
    go_alone();
    const PickStart start = local_.pick(provider, tried);
    const Pick& pick = std::get<Pick>(start);
    if (const auto* key = std::get_if<KeyIndex>(&pick)) {
        keys_[*key].tokens.push_back({new_token(), false});
        keys_[*key].unshared_calls += 1;
        mark(*key);
        picks_alone_.add();
    }
    return pick;
}

Pick RedisKeyRuntime::peek(ProviderIndex provider, std::span<const KeyIndex> tried) {
    return local_.peek(provider, tried);
}

void RedisKeyRuntime::settle(KeyIndex key, const KeySettlement& settlement) {
    Key& known = keys_[key];
    SLUICE_ASSERT(!known.tokens.empty());
    const Key::Token token = std::move(known.tokens.front());
    known.tokens.pop_front();
    // What was counted in a period that is over is given back to none.
    const bool is_made = settlement.call == KeySettlement::Call::kMade ||
                         settlement.period != local_.quota_period(key);
    local_.settle(key, settlement);
    if (!is_made && !token.is_shared && known.unshared_calls > 0) {
        known.unshared_calls -= 1;
    } else if (!is_made && token.is_shared && known.known.used > 0) {
        known.known.used -= 1;  // as Redis is told; it would be told again as counted
    }
    Untold untold;
    std::string status;
    Millis time{};
    if (const auto& rest = settlement.rest) {
        untold.rest = true;
        untold.account = rest->reach == Reach::kAccount ? known.rules.account : std::string();
        status = to_string(rest->status);
        time = rest->time;
    }
    std::string outcome(settlement.outcome ? to_string(*settlement.outcome) : std::string_view());
    std::vector<std::string> words{known.rules.id,      token.text,
                                   is_made ? "1" : "0", std::move(outcome),
                                   std::move(status),   std::to_string(time.count()),
                                   untold.account};
    tell(settle_key_script(), key, std::move(words), std::move(untold));
}

bool RedisKeyRuntime::may_still_be_used(KeyIndex key) const {
    return local_.may_still_be_used(key);
}

bool RedisKeyRuntime::may_be_used_again(KeyIndex key) const {
    return local_.may_be_used_again(key);
}

void RedisKeyRuntime::count_another_call(KeyIndex key) {
    local_.count_another_call(key);
    Untold untold;
    untold.calls = 1;
    std::vector<std::string> words{keys_[key].rules.id};
    tell(count_call_script(), key, std::move(words), std::move(untold));
}

QuotaPeriod RedisKeyRuntime::quota_period(KeyIndex key) const {
    return local_.quota_period(key);
}

void RedisKeyRuntime::clear_rest(KeyIndex key) {
    local_.clear_rest(key);
    Untold untold;
    untold.ends_rest = true;
    std::vector<std::string> words{keys_[key].rules.id};
    tell(clear_rest_script(), key, std::move(words), std::move(untold));
}

void RedisKeyRuntime::tell(const io::RedisScript& script, KeyIndex key,
                           std::vector<std::string> words, Untold untold) {
    Pool& pool = pool_of(key);
    if (redis_.is_up() && !pool.epoch.empty()) {
        std::vector<std::string> all = arguments(pool);
        all.insert(all.end(), std::make_move_iterator(words.begin()),
                   std::make_move_iterator(words.end()));
        keys_[key].under_way += 1;
        if (redis_.tasks().spawn(carry(script, pool, std::move(all), key, untold))) {
            return;
        }
        keys_[key].under_way -= 1;
    }
    keep(key, untold);
}

Task<void> RedisKeyRuntime::carry(const io::RedisScript& script, Pool& pool,
                                  std::vector<std::string> words, KeyIndex key, Untold untold) {
    const std::string epoch = words[1];
    const std::string id = words[2];
    std::vector<std::string> keys{pool.root};
    const Result<io::RedisReply> reply =
        co_await redis_.run(script, std::move(keys), std::move(words), Instant::max());
    const bool is_carried = is_done(pool, reply, epoch);
    if (key == kNoKey) {
        co_return;
    }
    keys_[key].under_way -= 1;
    if (!is_carried && keys_[key].rules.id == id) {
        keep(key, untold);
    }
}

void RedisKeyRuntime::keep(KeyIndex key, const Untold& untold) {
    if (untold.calls == 0 && !untold.rest && !untold.ends_rest) {
        return;
    }
    const auto note = [&](KeyIndex of) {
        keys_[of].tells_rest = keys_[of].tells_rest || untold.rest;
        mark(of);
    };
    keys_[key].unshared_calls += untold.calls;
    if (untold.ends_rest) {
        keys_[key].ends_rest = true;
        keys_[key].tells_rest = false;
    }
    note(key);
    if (!untold.account.empty()) {
        for (const KeyIndex member : local_.members_of(keys_[key].rules.provider, untold.account)) {
            note(member);
        }
    }
}

KeyCounts RedisKeyRuntime::counts(ProviderIndex provider) {
    return local_.counts(provider);
}

std::optional<Instant> RedisKeyRuntime::back_at(ProviderIndex provider) {
    return local_.back_at(provider);
}

Task<std::vector<KeyHealth>> RedisKeyRuntime::health(std::vector<KeyIndex> keys) {
    std::set<ProviderIndex> providers;
    for (const KeyIndex key : keys) {
        providers.insert(keys_[key].rules.provider);
    }
    for (const ProviderIndex provider : providers) {
        if (redis_.is_up()) {
            co_await refresh(*pools_[provider]);
        }
    }
    co_return co_await local_.health(std::move(keys));
}

void RedisKeyRuntime::restore_usage(KeyIndex key, const KeyUsage& usage) {
    local_.restore_usage(key, usage);
    Key& known = keys_[key];
    known.known_from = Key::From::kStore;
    known.known = {usage.used, period_end(known.rules, usage.period_start), false};
    mark(key);
}

// Each replica has a store of its own, which knows of at least what this process was told.
bool RedisKeyRuntime::is_vouched_for(KeyIndex key) const {
    return local_.is_vouched_for(key);
}

std::vector<KeyUsage> RedisKeyRuntime::begin_usage_write(UsageWrite what) {
    return local_.begin_usage_write(what);
}

void RedisKeyRuntime::end_usage_write(bool written) {
    local_.end_usage_write(written);
}

}  // namespace sluice::web
