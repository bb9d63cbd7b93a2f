#include "web/shared_turn.h"

#include "base/hash.h"
#include "base/json.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace sluice::web {

namespace {

const io::RedisScript& renew_script() {
    static const io::RedisScript script(R"(
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0)");
    return script;
}

// Together with the failure, if there is one, so that nobody takes the turn in between.
const io::RedisScript& give_back_script() {
    static const io::RedisScript script(R"(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
if ARGV[2] ~= '' then
  redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
end
return redis.call('DEL', KEYS[1]))");
    return script;
}

// What a search can fail with that would be no different elsewhere.
constexpr std::array kSharedCodes = {Code::kUpstreamFailed, Code::kTimeout, Code::kQueryRejected,
                                     Code::kDeadlineExceeded};
constexpr std::array kBlames = {Blame::kCaller, Blame::kKey, Blame::kProvider, Blame::kGateway,
                                Blame::kTenant};

constexpr std::size_t kMaxFailureBytes = 16 * 1024;

}  // namespace

// Shared with the tasks that renew it and give it back.
struct SharedTurn::Hold {
    Hold(const Surroundings& surroundings, const Fingerprint& key, std::string secret, Millis time,
         std::shared_ptr<Alarm> waits)
        : in(surroundings),
          lock(lock_key(key)),
          failed(failure_key(key)),
          token(std::move(secret)),
          ttl(time),
          alarm(std::move(waits)) {}

    void lose() {
        if (!std::exchange(is_lost, true)) {
            in.lost.add();
            in.log.warn("lock_lost", {{"ttl_ms", ttl}});
        }
    }

    const Surroundings in;
    const std::string lock;
    const std::string failed;
    const std::string token;
    const Millis ttl;
    const std::shared_ptr<Alarm> alarm;
    std::string failure;
    bool is_over = false;
    bool is_lost = false;
    bool is_finished = false;  // a command gives it back, or perhaps has done so
    bool is_given_back = false;
};

SharedTurn::SharedTurn(const Surroundings& in, const Fingerprint& key, std::string token,
                       Millis ttl)
    : hold_(std::make_shared<Hold>(in, key, std::move(token), ttl,
                                   std::make_shared<Alarm>(in.redis.executor()))) {
    in.redis.tasks().spawn(renew(hold_));
}

SharedTurn::~SharedTurn() {
    end();
    if (!hold_->is_given_back) {
        hold_->in.redis.tasks().spawn(give_back(hold_));
    }
}

void SharedTurn::end() {
    hold_->is_over = true;
    hold_->alarm->ring();
}

const std::string& SharedTurn::finish() {
    end();
    hold_->is_finished = true;
    return hold_->token;
}

void SharedTurn::was_given_back(bool ours) {
    hold_->is_given_back = true;
    if (!ours) {
        hold_->lose();
    }
}

void SharedTurn::withdraw(const Surroundings& in, const Fingerprint& key, std::string token,
                          Millis ttl) {
    auto hold = std::make_shared<Hold>(in, key, std::move(token), ttl, nullptr);
    hold->is_lost = true;  // there may be nothing to lose
    in.redis.tasks().spawn(give_back(std::move(hold)));
}

void SharedTurn::fail(const Error& error) {
    if (std::ranges::find(kSharedCodes, error.code) == kSharedCodes.end()) {
        return;
    }
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.field("code", to_string(error.code)).field("blame", to_string(error.blame));
    json.field("message", error.message);
    if (error.retry_after) {
        json.field("retry_after_ms", error.retry_after->count());
    }
    json.end_object();
    if (text.size() <= kMaxFailureBytes) {
        hold_->failure = std::move(text);
    }
}

Task<void> SharedTurn::renew(std::shared_ptr<Hold> hold) {
    Clock& clock = hold->in.clock;
    while (!hold->is_over) {
        co_await clock.wait(hold->alarm, clock.now() + hold->ttl / 3);
        if (hold->is_over) {
            co_return;
        }
        std::vector<std::string> keys{hold->lock};
        std::vector<std::string> arguments{hold->token, std::to_string(hold->ttl.count())};
        const Result<io::RedisReply> reply = co_await hold->in.redis.run(
            renew_script(), std::move(keys), std::move(arguments), Instant::max());
        // Without an answer it may still be ours: the next one will tell.
        if (!hold->is_over && reply.ok() && reply->integer == 0) {
            hold->lose();
            co_return;
        }
    }
}

Task<void> SharedTurn::give_back(std::shared_ptr<Hold> hold) {
    std::vector<std::string> keys{hold->lock, hold->failed};
    std::vector<std::string> arguments{hold->token, hold->failure,
                                       std::to_string(kFailureTtl.count())};
    const Result<io::RedisReply> reply = co_await hold->in.redis.run(
        give_back_script(), std::move(keys), std::move(arguments), Instant::max());
    if (reply.ok() && reply->integer == 0 && !hold->is_finished) {
        hold->lose();
    }
}

std::string SharedTurn::lock_key(const Fingerprint& key) {
    return "sluice:lock:" + to_hex(key);
}

std::string SharedTurn::failure_key(const Fingerprint& key) {
    return "sluice:failed:" + to_hex(key);
}

std::optional<Error> SharedTurn::read_failure(std::string_view text) {
    JsonReader reader({.max_bytes = kMaxFailureBytes, .max_depth = 4});
    const auto json = reader.parse(text);
    if (!json.ok()) {
        return std::nullopt;
    }
    const auto code = std::ranges::find(kSharedCodes, json->string_at("code"),
                                        [](Code c) { return to_string(c); });
    const auto blame =
        std::ranges::find(kBlames, json->string_at("blame"), [](Blame b) { return to_string(b); });
    if (code == kSharedCodes.end() || blame == kBlames.end()) {
        return std::nullopt;
    }
    Error error{*code, *blame, std::string(json->string_at("message")), {}};
    if (const auto retry = json->find("retry_after_ms")) {
        error.retry_after = Millis(std::max<std::int64_t>(retry->as_integer().value_or(0), 0));
    }
    return error;
}

}  // namespace sluice::web
