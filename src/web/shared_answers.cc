#include "web/shared_answers.h"

#include "base/hash.h"
#include "base/random_hex.h"
#include "guard/backoff.h"
#include "web/answer_codec.h"
#include "web/metrics.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::web {

namespace {

// Changes with every purge; an entry of another one is none.
constexpr std::string_view kPurgeKey = "sluice:purge";
constexpr std::string_view kTrialKey = "sluice:trial";  // nobody reads it
constexpr Millis kTrialLife{1'000};
// What stands for it before the first one, and when Redis was emptied.
constexpr std::string_view kNoPurge = "0";
constexpr std::size_t kLookElements = 5;

// KEYS: entry, purge, lock, failure. ARGV: the stamp of the entry that is known, the token to take
// the turn with (empty: only look), its time to live in ms, that of failures.
// Gives: what became of the turn, the entry unless it is known, its time to live, the failure, the
// purge. Who is given an entry is given no turn, since the entry may be all that is wanted. What no
// replica has written is not there, so that it keeps nobody from a search; a lock that would stay
// for ever, or for much longer than one does since the clock of Redis was put back, gets a time to
// live.
const io::RedisScript& look_script() {
    static const io::RedisScript script(R"(
local function text(...)
  local value = redis.pcall(...)
  return type(value) == 'string' and value or ''
end
local purge = redis.call('GET', KEYS[2]) or '0'
local entry, left = false, 0
local of, stamp = string.match(text('GETRANGE', KEYS[1], 0, 79), '^(%x+):(%x+):')
if of == purge and stamp ~= ARGV[1] then
  entry = redis.call('GET', KEYS[1])
  left = redis.call('PTTL', KEYS[1])
end
if entry or ARGV[2] == '' then
  return {'looked', entry, left, false, purge}
end
local failure, lasts = text('GET', KEYS[4]), redis.call('PTTL', KEYS[4])
if string.find(failure, '{"code":', 1, true) == 1 and lasts > 0 and lasts <= tonumber(ARGV[4]) then
  return {'failed', false, 0, failure, purge}
end
local holder = text('GET', KEYS[3])
if #holder ~= #ARGV[2] or string.find(holder, '%X') then
  redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[3])
  return {'won', false, 0, false, purge}
end
local locked = redis.call('PTTL', KEYS[3])
if locked < 0 or locked > 4 * tonumber(ARGV[3]) then
  redis.call('PEXPIRE', KEYS[3], ARGV[3])
end
return {'held', false, 0, false, purge})");
    return script;
}

// KEYS: entry, purge, lock. ARGV: the entry but for its first field, its time to live in ms, the
// purge that it began after; what came after another one is not kept. The token of the turn that
// ends with it; empty: none. Gives whether it is kept, and whether the turn was still ours.
const io::RedisScript& publish_script() {
    static const io::RedisScript script(R"(
local purge = redis.call('GET', KEYS[2]) or '0'
local kept, ours = 0, 0
if purge == ARGV[3] then
  redis.call('SET', KEYS[1], purge .. ':' .. ARGV[1], 'PX', ARGV[2])
  kept = 1
end
if ARGV[4] ~= '' and redis.pcall('GET', KEYS[3]) == ARGV[4] then
  ours = redis.call('DEL', KEYS[3])
end
return {kept, ours})");
    return script;
}

std::string entry_key(const Fingerprint& key) {
    return "sluice:answer:" + to_hex(key);
}

// Purges, stamps and tokens. As two of them lead an entry, look_script() reads what they take.
std::string new_name(Random& random) {
    return random_hex<16>(random);
}

// An entry is "purge:stamp:age:life:" and the answer. Age (of the answer when the entry was
// written) and life (of the entry) are in milliseconds.
struct Entry {
    Millis age{};
    Millis life{};
    std::string_view answer;
};

std::string_view take_field(std::string_view& text) {
    const std::size_t colon = text.find(':');
    const std::string_view field = text.substr(0, colon);
    text.remove_prefix(colon == std::string_view::npos ? text.size() : colon + 1);
    return field;
}

std::optional<Millis> take_millis(std::string_view& text) {
    constexpr std::int64_t kMost = std::int64_t{400} * 24 * 3600 * 1000;
    const std::string_view field = take_field(text);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
    if (error != std::errc() || end != field.data() + field.size() || number < 0 ||
        number > kMost) {
        return std::nullopt;
    }
    return Millis(number);
}

std::string stamp_of(std::string_view text) {
    take_field(text);
    return std::string(take_field(text));
}

std::optional<Entry> parse_entry(std::string_view text) {
    Entry entry;
    take_field(text);
    take_field(text);
    const auto age = take_millis(text);
    const auto life = take_millis(text);
    if (!age || !life) {
        return std::nullopt;
    }
    entry.age = *age;
    entry.life = *life;
    entry.answer = text;
    return entry;
}

// It is tried again within seconds.
constexpr Millis kRetryWithoutRedis{1'000};

}  // namespace

Error redis_is_away() {
    return Error{Code::kUnavailable, Blame::kGateway,
                 "redis is required and can't be used; searches go on when it is back",
                 kRetryWithoutRedis};
}

struct SharedAnswers::Counters {
    explicit Counters(obs::Metrics& metrics)
        : found(metrics.counter(kSharedCacheEvents, {"found"})),
          absent(metrics.counter(kSharedCacheEvents, {"absent"})),
          store(metrics.counter(kSharedCacheEvents, {"store"})),
          too_large(metrics.counter(kSharedCacheEvents, {"too_large"})),
          unreadable(metrics.counter(kSharedCacheEvents, {"unreadable"})),
          failed(metrics.counter(kSharedCacheEvents, {"failed"})),
          won(metrics.counter(kSharedTurns, {"won"})),
          held(metrics.counter(kSharedTurns, {"held"})),
          warned(metrics.counter(kSharedTurns, {"warned"})),
          unusable(metrics.counter(kSharedTurns, {"unusable"})) {}

    obs::Counter found;
    obs::Counter absent;
    obs::Counter store;
    obs::Counter too_large;
    obs::Counter unreadable;
    obs::Counter failed;
    obs::Counter won;
    obs::Counter held;
    obs::Counter warned;
    obs::Counter unusable;
};

SharedAnswers::SharedAnswers(io::RedisClient& redis, Clock& clock, Random& random,
                             const obs::Log& log, obs::Metrics& metrics)
    : redis_(redis),
      clock_(clock),
      random_(random),
      counters_(std::make_shared<Counters>(metrics)),
      turns_{redis, clock, log, metrics.counter(kSharedTurns, {"lost"})} {}

Task<SharedAnswers::Kept> SharedAnswers::find(const Fingerprint& key, const SearchRequest& request,
                                              Instant deadline) {
    std::vector<std::string> keys{entry_key(key), std::string(kPurgeKey), SharedTurn::lock_key(key),
                                  SharedTurn::failure_key(key)};
    std::vector<std::string> arguments{"", "", "0", "0"};
    const Result<io::RedisReply> reply =
        co_await redis_.run(look_script(), std::move(keys), std::move(arguments), deadline);
    if (!reply.ok()) {
        counters_->failed.add();
        co_return Kept();
    }
    Kept kept = read(*reply, request);
    count(kept);
    co_return kept;
}

Task<SharedAnswers::Entrance> SharedAnswers::enter(const Fingerprint& key,
                                                   const SearchRequest& request,
                                                   std::optional<std::string> known, Millis ttl,
                                                   Instant deadline) {
    const std::string token = new_token();
    const bool is_first = !known;
    std::vector<std::string> keys{entry_key(key), std::string(kPurgeKey), SharedTurn::lock_key(key),
                                  SharedTurn::failure_key(key)};
    std::vector<std::string> arguments{known.value_or(""), token, std::to_string(ttl.count()),
                                       std::to_string(SharedTurn::kFailureTtl.count())};
    const Result<io::RedisReply> reply =
        co_await redis_.run(look_script(), std::move(keys), std::move(arguments), deadline);
    Entrance entrance;
    if (!reply.ok() || reply->elements.size() != kLookElements) {
        counters_->unusable.add();
        entrance.is_refused = is_refusal(reply);
        SharedTurn::withdraw(turns_, key, token, ttl);
        co_return entrance;
    }
    entrance.kept = read(*reply, request);
    const std::string& result = reply->elements[0].text;
    if (result == "looked") {
        count(entrance.kept);
        entrance.result = Entrance::Turn::kFound;
    } else if (result == "won") {
        counters_->won.add();
        if (is_first) {
            count(entrance.kept);
        }
        entrance.result = Entrance::Turn::kWon;
        entrance.turn = std::make_unique<SharedTurn>(turns_, key, token, ttl);
    } else if (auto failure = SharedTurn::read_failure(reply->elements[3].text)) {
        counters_->warned.add();
        entrance.result = Entrance::Turn::kFailed;
        entrance.failure = *std::move(failure);
    } else {
        counters_->held.add();
        entrance.result = Entrance::Turn::kHeld;
    }
    co_return entrance;
}

// As random_hex() would make it.
std::string SharedAnswers::new_token() {
    constexpr std::size_t kBytes = 16;
    static_assert(sizeof noise_ % kBytes == 0);
    if (noise_left_ == 0) {
        random_.fill(noise_);
        noise_left_ = noise_.size();
    }
    noise_left_ -= kBytes;
    const auto* const bytes = reinterpret_cast<const char*>(noise_.data()) + noise_left_;
    return to_hex(std::string_view(bytes, kBytes));
}

SharedAnswers::Kept SharedAnswers::read(const io::RedisReply& reply, const SearchRequest& request) {
    Kept kept;
    if (reply.elements.size() != kLookElements) {
        return kept;
    }
    kept.purge = reply.elements[4].text;
    if (!reply.elements[1].is_text()) {
        return kept;
    }
    const Millis left(reply.elements[2].integer);
    const auto entry = parse_entry(reply.elements[1].text);
    kept.stamp = stamp_of(reply.elements[1].text);
    if (entry && left > Millis::zero() && left <= entry->life) {
        const Instant now = clock_.now();
        const Instant made_at = now - entry->age - (entry->life - left);
        kept.answer = decode_answer(entry->answer, request, made_at, now + left);
    }
    return kept;
}

// Each look is one of these.
void SharedAnswers::count(const Kept& kept) {
    if (kept.answer) {
        counters_->found.add();
    } else {
        (kept.stamp.empty() ? counters_->absent : counters_->unreadable).add();
    }
}

Task<std::string> SharedAnswers::current_purge(Instant deadline) {
    std::vector<std::string> words{"GET", std::string(kPurgeKey)};
    const Result<io::RedisReply> reply = co_await redis_.command(std::move(words), deadline);
    if (!reply.ok()) {
        co_return std::string();
    }
    co_return reply->is_text() ? reply->text : std::string(kNoPurge);
}

bool SharedAnswers::is_refusal(const Result<io::RedisReply>& reply) const {
    return !reply.ok() && reply.error().code == Code::kUnavailable && redis_.is_up();
}

Task<std::optional<bool>> SharedAnswers::can_write(Instant deadline) {
    constexpr std::string_view kScript = "return redis.call('SET', KEYS[1], '', 'PX', ARGV[1])";
    std::vector<std::string> words{"EVAL", std::string(kScript), "1", std::string(kTrialKey),
                                   std::to_string(kTrialLife.count())};
    const Result<io::RedisReply> reply = co_await redis_.command(std::move(words), deadline);
    if (!reply.ok() && !is_refusal(reply)) {
        co_return std::nullopt;
    }
    co_return reply.ok();
}

std::optional<SharedAnswers::Draft> SharedAnswers::draft(const SearchAnswer& answer,
                                                         guard::Lifetime lifetime,
                                                         std::string purge) {
    if (purge.empty()) {
        return std::nullopt;
    }
    const Instant now = clock_.now();
    const Instant made_at = answer.made_at() == Instant{} ? now : answer.made_at();
    const Duration age = std::max(now - made_at, Duration{});
    Draft draft;
    draft.purge = std::move(purge);
    draft.life = std::chrono::duration_cast<Millis>(lifetime.fresh_for + lifetime.stale_for - age);
    if (draft.life <= Millis::zero()) {
        return std::nullopt;
    }
    draft.entry = new_name(random_) + ":" +
                  std::to_string(std::chrono::duration_cast<Millis>(age).count()) + ":" +
                  std::to_string(draft.life.count()) + ":" + encode_answer(answer);
    if (draft.entry.size() > kMaxAnswerBytes) {
        counters_->too_large.add();
        return std::nullopt;
    }
    return draft;
}

Task<void> SharedAnswers::publish(const Fingerprint& key, Draft draft,
                                  std::unique_ptr<SharedTurn> turn) {
    std::vector<std::string> keys{entry_key(key), std::string(kPurgeKey),
                                  SharedTurn::lock_key(key)};
    std::vector<std::string> arguments{std::move(draft.entry), std::to_string(draft.life.count()),
                                       std::move(draft.purge),
                                       turn ? turn->finish() : std::string()};
    const Result<io::RedisReply> reply = co_await redis_.run(publish_script(), std::move(keys),
                                                             std::move(arguments), Instant::max());
    if (!reply.ok() || reply->elements.size() != 2) {
        counters_->failed.add();
        co_return;
    }
    if (reply->elements[0].integer != 0) {
        counters_->store.add();
    }
    if (turn) {
        turn->was_given_back(reply->elements[1].integer != 0);
    }
}

Duration SharedAnswers::pause(std::size_t looks) {
    constexpr Millis kLeast{5};
    guard::BackoffConfig config;
    config.base = Millis(20);
    config.cap = Millis(200);
    config.jitter = guard::Jitter::kFull;
    return kLeast + guard::backoff_delay(config, looks, random_, std::nullopt);
}

Task<bool> SharedAnswers::purge(Instant deadline) {
    std::string purge = new_name(random_);
    std::vector<std::string> words{"SET", std::string(kPurgeKey), purge};
    const Result<io::RedisReply> reply = co_await redis_.command(std::move(words), deadline);
    if (reply.ok()) {
        last_purge_ = std::move(purge);
    }
    co_return reply.ok();
}

Task<bool> SharedAnswers::was_purged(Instant deadline) {
    std::vector<std::string> words{"GET", std::string(kPurgeKey)};
    const Result<io::RedisReply> reply = co_await redis_.command(std::move(words), deadline);
    if (!reply.ok()) {
        co_return false;
    }
    // A Redis that was emptied has forgotten its answers, and nobody asked us to forget ours.
    const bool is_purge = last_purge_ && reply->is_text() && reply->text != *last_purge_;
    if (!last_purge_ || is_purge) {
        last_purge_ = reply->text;
    }
    co_return is_purge;
}

}  // namespace sluice::web
