// How a replica tells Redis what it knows of keys, and hears what others know.
#include "base/random_hex.h"
#include "web/key_runtime_redis.h"
#include "web/key_runtime_redis_parts.h"
#include "web/key_scripts.h"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice::web {

namespace {

// Keys that a script is told of, or tells of, at once: a few milliseconds of Redis's time.
constexpr std::size_t kKeysAtOnce = 500;
// Keys that are walked over at once: less than a tenth of a millisecond.
constexpr std::size_t kKeysInOneGo = 250;
// An epoch that ends while it is told is begun again so often.
constexpr int kMaxTries = 4;

}  // namespace

// kNotAll: Redis does not know everything, by now or at all. kGone: whoever waited has left.
Task<RedisKeyRuntime::Shared> RedisKeyRuntime::wait_shared(Pool& pool) {
    auto over = std::make_shared<guard::Event>();
    pool.waiting.push_back(over);
    if (!std::exchange(pool.is_sharing, true) && !redis_.tasks().spawn(share(pool))) {
        pool.is_sharing = false;
        pool.waiting.clear();
        co_return Shared::kNotAll;
    }
    const guard::WaitEnd end =
        co_await over->wait_until(clock_, clock_.now() + redis_.config().timeout);
    if (end == guard::WaitEnd::kCancelled) {
        co_return Shared::kGone;
    } else if (end == guard::WaitEnd::kDeadline) {
        failure_ = "redis could not be told everything in time";
    }
    co_return knows_all(pool) ? Shared::kAll : Shared::kNotAll;
}

Task<void> RedisKeyRuntime::share(Pool& pool) {
    for (int tries = 0; tries < kMaxTries && !is_told(pool) && redis_.is_up(); ++tries) {
        if (pool.epoch.empty() && !co_await join(pool)) {
            break;
        }
        if (pool.connection != redis_.connections()) {
            tell_again(pool);
        }
        if (!pool.epoch.empty() && co_await share_let_go(pool)) {
            co_await share_changed(pool);
        }
    }
    pool.is_sharing = false;
    for (const auto& waiter : std::exchange(pool.waiting, {})) {
        waiter->set();
    }
}

Task<bool> RedisKeyRuntime::join(Pool& pool) {
    std::vector<std::string> keys{pool.root};
    std::vector<std::string> words{arguments(pool).front(), random_hex<8>(random_),
                                   std::to_string(kKeptFor.count())};
    const Result<io::RedisReply> reply =
        co_await redis_.run(join_keys_script(), std::move(keys), std::move(words), Instant::max());
    if (!is_done(pool, reply, pool.epoch)) {
        co_return reply.ok();  // what can't be read is gone now
    }
    if (kind_of_reply(*reply) != "joined" || reply->elements.size() != 2) {
        co_return false;
    }
    begin_epoch(pool, reply->elements[1].text);
    co_return true;
}

void RedisKeyRuntime::begin_epoch(Pool& pool, std::string epoch) {
    pool.epoch = std::move(epoch);
    if (pool.epoch == pool.last_epoch) {
        return;
    }
    std::uint64_t suppressed = 0;
    if (!pool.last_epoch.empty() && lost_lines_.allow(clock_.now(), suppressed)) {
        log_.warn(
            "key_state_lost",
            {{"keys", pool.by_id.size()}, {"reason", pool.why_lost}, {"suppressed", suppressed}});
    }
    pool.last_epoch = pool.epoch;
    pool.era += 1;
    pool.let_go.clear();
    tell_again(pool);
}

// Everything that this process knows, as no less than what Redis has.
void RedisKeyRuntime::tell_again(Pool& pool) {
    pool.connection = redis_.connections();
    pool.since = 0;
    for (const auto& [id, key] : pool.by_id) {
        keys_[key].tells_rest = true;
        for (Key::Token& token : keys_[key].tokens) {
            token.is_shared = false;
        }
        mark(key);
    }
}

Task<bool> RedisKeyRuntime::share_let_go(Pool& pool) {
    if (pool.let_go.empty()) {
        co_return true;
    }
    std::vector<std::string> words = arguments(pool);
    const std::string epoch = words[1];
    std::set<std::string> ids = std::exchange(pool.let_go, {});
    words.insert(words.end(), ids.begin(), ids.end());
    std::vector<std::string> keys{pool.root};
    const Result<io::RedisReply> reply = co_await redis_.run(let_keys_go_script(), std::move(keys),
                                                             std::move(words), Instant::max());
    if (is_done(pool, reply, epoch)) {
        co_return true;
    }
    for (const std::string& id : ids) {
        const auto found = pool.by_id.find(id);
        if (found == pool.by_id.end() || !is_on(found->second)) {
            pool.let_go.insert(id);
        }
    }
    co_return false;
}

Task<bool> RedisKeyRuntime::share_changed(Pool& pool) {
    while (!pool.marked.empty()) {
        std::vector<std::string> words = arguments(pool);
        const std::string epoch = words[1];
        words.emplace_back(to_string(config_.rotation));
        words.push_back(std::to_string(reservation_life().count()));
        std::vector<Told> told;
        while (!pool.marked.empty() && told.size() < kKeysAtOnce) {
            words.push_back(entry_of(pool, pool.marked.front(), told));
            pool.marked.pop_front();
        }
        std::vector<std::string> keys{pool.root};
        const Result<io::RedisReply> reply = co_await redis_.run(
            share_keys_script(), std::move(keys), std::move(words), Instant::max());
        const bool is_shared = is_done(pool, reply, epoch);
        for (const Told& entry : told) {
            const auto found = pool.by_id.find(entry.id);
            if (found == pool.by_id.end() || found->second != entry.key) {
                continue;  // removed meanwhile
            }
            if (is_shared) {
                note_shared(pool, entry);
            } else {
                note_not_shared(entry);
            }
        }
        if (!is_shared) {
            co_return false;
        }
    }
    co_return true;
}

// From here on nothing of it is still to be said, unless it does not get through.
std::string RedisKeyRuntime::entry_of(Pool& pool, KeyIndex key, std::vector<Told>& told) {
    Key& known = keys_[key];
    const KeyStanding standing = local_.standing(key);
    const Instant now = clock_.now();
    SharedEntry entry{.rules = known.rules};
    Told& note = told.emplace_back();
    note.key = key;
    note.id = known.rules.id;
    entry.max_in_flight = known.rules.max_in_flight.value_or(config_.max_in_flight);
    if (known.known_from != Key::From::kNowhere) {
        entry.known = known.known;
        entry.known->is_of_another_epoch =
            known.known_from == Key::From::kRedis && known.known_in != pool.era;
    }
    entry.calls_to_add = note.calls = std::min(known.unshared_calls, standing.used);
    entry.ends_rest = note.ends_rest = std::exchange(known.ends_rest, false);
    note.rest = std::exchange(known.tells_rest, false);
    if (note.rest && standing.rest_until > now) {
        entry.rest = SharedEntry::Rest{standing.rest_status,
                                       std::chrono::ceil<Millis>(standing.rest_until - now)};
    }
    for (Key::Token& token : known.tokens) {
        if (!std::exchange(token.is_shared, true)) {
            note.tokens.push_back(token.text);
        }
    }
    entry.tokens.assign(note.tokens.begin(), note.tokens.end());
    known.unshared_calls = 0;
    known.is_marked = false;
    return write_entry(entry);
}

void RedisKeyRuntime::note_shared(Pool& pool, const Told& told) {
    Key& known = keys_[told.key];
    known.known_in = pool.era;
    if (known.known_from == Key::From::kStore) {
        known.known_from = Key::From::kNowhere;
    }
}

void RedisKeyRuntime::note_not_shared(const Told& told) {
    Key& known = keys_[told.key];
    known.unshared_calls += told.calls;
    known.tells_rest = known.tells_rest || told.rest;
    known.ends_rest = known.ends_rest || told.ends_rest;
    for (Key::Token& token : known.tokens) {
        if (std::ranges::find(told.tokens, token.text) != told.tokens.end()) {
            token.is_shared = false;
        }
    }
    mark(told.key);
}

Task<void> RedisKeyRuntime::run() {
    for (;;) {
        co_await refresh();
        co_await clock_.sleep_until(clock_.now() + kRefreshEvery);
    }
}

Task<void> RedisKeyRuntime::refresh() {
    for (const auto& pool : pools_) {
        const bool is_concerned = !pool->by_id.empty() || !pool->let_go.empty();
        if (is_concerned && redis_.is_up()) {
            pool->has_strangers = false;
            co_await refresh(*pool);
        }
    }
}

Task<void> RedisKeyRuntime::refresh(Pool& pool) {
    for (int tries = 0; tries < kMaxTries; ++tries) {
        if (!knows_all(pool) && co_await wait_shared(pool) != Shared::kAll) {
            co_return;
        }
        Heard heard = Heard::kSome;
        while (heard == Heard::kSome) {
            heard = co_await hear(pool);
        }
        if (heard != Heard::kStale && is_told(pool)) {
            co_return;
        }
        if (heard == Heard::kFailed) {
            co_return;
        }
    }
}

// Takes over some of what changed.
Task<RedisKeyRuntime::Heard> RedisKeyRuntime::hear(Pool& pool) {
    std::vector<std::string> words = arguments(pool);
    const std::string epoch = words[1];
    words.insert(words.end(), {std::to_string(pool.since), std::to_string(kKeysAtOnce),
                               std::to_string(kKeptFor.count())});
    std::vector<std::string> keys{pool.root};
    const Result<io::RedisReply> reply = co_await redis_.run(changed_keys_script(), std::move(keys),
                                                             std::move(words), Instant::max());
    if (reply.ok() && (!is_done(pool, reply, epoch) || pool.epoch != epoch)) {
        co_return Heard::kStale;
    }
    if (!reply.ok() || kind_of_reply(*reply) != "changes" || reply->elements.size() < 3) {
        co_return Heard::kFailed;
    }
    if (is_alone_) {
        come_back();
        co_return Heard::kSome;  // from the beginning
    }
    const std::vector<io::RedisReply>& parts = reply->elements;
    for (std::size_t i = 3; i + 1 < parts.size(); i += 2) {
        const auto found = pool.by_id.find(parts[i].text);
        const auto record = read_shared_key(reader_, parts[i + 1].text);
        if (found != pool.by_id.end() && record) {
            adopt(pool, found->second, *record, parts[1].integer);
            if (record->is_let_go) {
                mark(found->second);
            }
        }
    }
    pool.since = std::max(pool.since, parts[2].integer);
    co_return (parts.size() - 3) / 2 < kKeysAtOnce ? Heard::kAll : Heard::kSome;
}

void RedisKeyRuntime::go_alone() {
    if (std::exchange(is_alone_, true)) {
        return;
    }
    std::uint64_t suppressed = 0;
    is_said_ = alone_lines_.allow(clock_.now(), suppressed);
    if (is_said_) {
        const std::string reason(redis_.is_up() ? failure_ : redis_.view().reason);
        log_.warn("keys_not_shared", {{"reason", reason}, {"suppressed", suppressed}});
    }
    forget_calls_of_others(0);
    if (keys_.size() > kKeysInOneGo) {
        redis_.tasks().spawn(forget_calls_of_others_later());
    }
}

// Nobody will say when they end. Of some keys, so that the loop is not held up.
void RedisKeyRuntime::forget_calls_of_others(std::size_t from) {
    const std::size_t end = std::min(from + kKeysInOneGo, keys_.size());
    for (std::size_t i = from; i < end; ++i) {
        const auto key = static_cast<KeyIndex>(i);
        const Pool& pool = pool_of(key);
        const auto found = pool.by_id.find(keys_[key].rules.id);
        if (found == pool.by_id.end() || found->second != key) {
            continue;  // removed
        }
        KeyStanding standing = local_.standing(key);
        standing.in_flight = static_cast<std::uint32_t>(keys_[key].tokens.size());
        local_.assume(key, standing);
    }
}

// Until it got to a key, that one may seem busier than it is.
Task<void> RedisKeyRuntime::forget_calls_of_others_later() {
    for (std::size_t from = kKeysInOneGo; is_alone_ && from < keys_.size(); from += kKeysInOneGo) {
        co_await boost::asio::post(use_task);
        forget_calls_of_others(from);
    }
}

void RedisKeyRuntime::come_back() {
    if (!std::exchange(is_alone_, false)) {
        return;
    }
    if (is_said_) {
        log_.info("keys_shared_again");
    }
    for (const auto& pool : pools_) {
        pool->since = 0;
    }
}

void RedisKeyRuntime::adopt(const Pool& pool, KeyIndex key, const SharedKey& shared,
                            std::int64_t redis_now) {
    Key& known = keys_[key];
    if (known.is_marked) {
        return;  // Redis does not know all of it
    }
    known.known_from = Key::From::kRedis;
    known.known_in = pool.era;
    known.known = {shared.used, shared.period_ends, false};
    if (known.under_way > 0) {
        return;  // it is about to change in the way that it did here
    }
    const Instant now = clock_.now();
    KeyStanding standing;
    standing.in_flight =
        std::max(shared.in_flight, static_cast<std::uint32_t>(known.tokens.size()));
    standing.used = shared.used;
    if (shared.period_ends) {
        standing.quota_until = now + Millis(*shared.period_ends - redis_now);
    }
    if (shared.rests_until) {
        standing.rest_until = now + Millis(*shared.rests_until - redis_now);
        standing.rest_status = shared.rest_status;
    }
    standing.last_outcome = shared.last_outcome;
    local_.assume(key, standing);
}

}  // namespace sluice::web
