// What replicas share of searches, in Redis: answers, fresh and stale, and whose turn it is to ask
// the providers. Nothing here goes by a clock of ours across processes: ages and turns are counted
// by Redis.
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "base/task.h"
#include "guard/ttl_cache.h"
#include "io/redis.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "web/fingerprint.h"
#include "web/shared_turn.h"
#include "web/types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace sluice::web {

// What a search fails with while Redis is required and can't be used.
Error redis_is_away();

// Belongs to the control loop.
class SharedAnswers {
 public:
    // A larger answer is not shared.
    static constexpr std::size_t kMaxAnswerBytes = 1024 * 1024;

    // References outlive it.
    SharedAnswers(io::RedisClient& redis, Clock& clock, Random& random, const obs::Log& log,
                  obs::Metrics& metrics);

    // An answer that another replica may have left; null: there is none.
    struct Kept {
        std::shared_ptr<SearchAnswer> answer;  // with made_at() and keep_until() set
        std::string stamp;                     // of this very entry, readable or not
        // What a search that begins now goes by, for draft(); empty: it is not shared.
        std::string purge = {};
    };

    // The answer to `request`, whose fingerprint is `key`. Whatever goes wrong is no answer.
    Task<Kept> find(const Fingerprint& key, const SearchRequest& request, Instant deadline);

    // Whether this process is the one to ask the providers.
    struct Entrance {
        enum class Turn : std::uint8_t {
            kFound,     // perhaps nobody has to: `kept` is of another stamp than the known one
            kWon,       // yes: `turn` is ours until it is destroyed
            kHeld,      // no, somebody else is
            kFailed,    // somebody else just tried in vain: `failure` says what came of it
            kUnusable,  // Redis can't say
        };
        Turn result = Turn::kUnusable;
        bool is_refused = false;  // of kUnusable: Redis is there, and refuses what it is asked
        std::unique_ptr<SharedTurn> turn;
        Error failure;
        Kept kept;
    };
    // Gives what is there if that is another entry than the one of the stamp `known`, which is
    // empty where find() found none, and nothing where nobody looked before. Else takes the turn if
    // nobody has it, for `ttl` and then for as long as it is renewed. One round trip for both.
    Task<Entrance> enter(const Fingerprint& key, const SearchRequest& request,
                         std::optional<std::string> known, Millis ttl, Instant deadline);

    // An answer as it is left for others.
    struct Draft {
        std::string entry;
        Millis life{};
        std::string purge;
    };
    // Of an answer that nobody else has yet, for `lifetime` from when its provider gave it; `purge`
    // is what Kept or current_purge() said when the search began: no replica is given what began
    // before a purge. Nothing when it is not to be shared.
    std::optional<Draft> draft(const SearchAnswer& answer, guard::Lifetime lifetime,
                               std::string purge);
    // Gives `turn`, which may be null, back with it. Ends when Redis has it, or will not.
    Task<void> publish(const Fingerprint& key, Draft draft, std::unique_ptr<SharedTurn> turn);

    const io::RedisClient& redis() const { return redis_; }
    // How long to wait before look number `looks`, from 0, whether another replica has found
    // something. Not until the same moment as all the others who look.
    Duration pause(std::size_t looks);

    // For a search that begins now without a look. Empty: it is not shared, since Redis can't say.
    Task<std::string> current_purge(Instant deadline);

    // Whether Redis runs a script that writes, which everything that is shared rests on; nothing
    // when it did not say.
    Task<std::optional<bool>> can_write(Instant deadline);

    // From here on every answer that is there now is none. False: Redis could not be told.
    Task<bool> purge(Instant deadline);
    // Whether another replica has done that since the last time that this was asked, or that this
    // one did it. False, too, when Redis can't say.
    Task<bool> was_purged(Instant deadline);

 private:
    struct Counters;
    std::string new_token();
    // Whether Redis is there, and refused what it was asked.
    bool is_refusal(const Result<io::RedisReply>& reply) const;
    Kept read(const io::RedisReply& reply, const SearchRequest& request);
    void count(const Kept& kept);

    io::RedisClient& redis_;
    Clock& clock_;
    Random& random_;
    std::shared_ptr<Counters> counters_;
    SharedTurn::Surroundings turns_;
    // Drawn ahead, since drawing is a system call and most looks win no turn.
    std::array<std::byte, 1024> noise_;
    std::size_t noise_left_ = 0;
    std::optional<std::string> last_purge_;  // that is known of; empty text: there was none
};

}  // namespace sluice::web
