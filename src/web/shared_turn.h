// The lock that keeps replicas from asking the providers the same thing at once. It is held by a
// token that nobody can guess, kept while its holder works, and given back only if it is still the
// holder's.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "io/redis.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "web/fingerprint.h"

#include <memory>
#include <optional>
#include <string>

namespace sluice::web {

// Belongs to the control loop. Destroying it gives the turn back, in the background.
class SharedTurn {
 public:
    // How long other replicas believe that somebody tried in vain.
    static constexpr Millis kFailureTtl{1'000};

    // Outlives every turn.
    struct Surroundings {
        io::RedisClient& redis;
        Clock& clock;
        const obs::Log& log;
        obs::Counter lost;
    };

    // `token` has just been written to the lock of `key` with `ttl`. Renews it at a third of that
    // from now on; says `lock_lost` when it is found to be somebody else's or gone.
    SharedTurn(const Surroundings& in, const Fingerprint& key, std::string token, Millis ttl);
    ~SharedTurn();
    SharedTurn(const SharedTurn&) = delete;
    SharedTurn& operator=(const SharedTurn&) = delete;

    // Gives back what may have been written with `token` by a command whose reply never came.
    static void withdraw(const Surroundings& in, const Fingerprint& key, std::string token,
                         Millis ttl);

    // Others are told of this failure for a moment, so that they don't repeat it one after another.
    void fail(const Error& error);

    // For who gives it back by a command of its own: from here on it is not renewed. Returns the
    // token that its lock has to have.
    const std::string& finish();
    // The reply to that command; `ours`: the lock had the token. Without one it is given back as
    // ever, and nobody is told that it is gone.
    void was_given_back(bool ours);

    // The names under which a lock and a failure are kept.
    static std::string lock_key(const Fingerprint& key);
    static std::string failure_key(const Fingerprint& key);
    // What a failure is to others. Nothing: no failure that this version wrote.
    static std::optional<Error> read_failure(std::string_view text);

 private:
    struct Hold;
    void end();
    static Task<void> renew(std::shared_ptr<Hold> hold);
    static Task<void> give_back(std::shared_ptr<Hold> hold);

    std::shared_ptr<Hold> hold_;
};

}  // namespace sluice::web
