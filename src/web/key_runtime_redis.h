// The keys' runtime state in Redis, shared by replicas: one script filters, picks and reserves, so
// that each pick is one round trip and no two replicas decide by half of what there is to know.
// Whatever else is asked comes from what this process knows, which each reply and a refresh keep up
// to date. A Redis that is away, restarted or emptied stops nothing: see docs/replicas.md.
#pragma once

#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "io/redis.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "web/key_runtime.h"
#include "web/key_runtime_memory.h"
#include "web/shared_key.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::web {

class RedisKeyRuntime final : public KeyRuntime {
 public:
    // What others changed is known here after this time at the latest, and the time of a command.
    static constexpr Millis kRefreshEvery{1'000};
    // How long Redis keeps the state of a provider of which no replica asks.
    static constexpr Millis kKeptFor{24 * 3600 * 1000};

    // References outlive it; `redis` is stopped before it is destroyed. `time_of_redis` is for
    // tests, which can't move the time of a Redis: its date counts in its place.
    RedisKeyRuntime(io::RedisClient& redis, Clock& clock, Random& random, const obs::Log& log,
                    obs::Metrics& metrics, const RuntimeConfig& config,
                    const Clock* time_of_redis = nullptr);
    ~RedisKeyRuntime() override;

    // Tells Redis what it does not know, takes over what others changed, and does so again after
    // kRefreshEvery, for ever; ends by cancellation.
    Task<void> run();
    // The first turn of run(), so that the first pick has nothing to wait for.
    Task<void> refresh();

    void configure(const RuntimeConfig& config) override;
    KeyIndex add(KeyRules rules) override;
    void change(KeyIndex key, KeyRules rules) override;
    void remove(KeyIndex key) override;
    PickStart pick(ProviderIndex provider, std::span<const KeyIndex> tried) override;
    Pick peek(ProviderIndex provider, std::span<const KeyIndex> tried) override;
    void settle(KeyIndex key, const KeySettlement& settlement) override;
    bool may_still_be_used(KeyIndex key) const override;
    bool may_be_used_again(KeyIndex key) const override;
    void count_another_call(KeyIndex key) override;
    QuotaPeriod quota_period(KeyIndex key) const override;
    void clear_rest(KeyIndex key) override;
    KeyCounts counts(ProviderIndex provider) override;
    std::optional<Instant> back_at(ProviderIndex provider) override;
    Task<std::vector<KeyHealth>> health(std::vector<KeyIndex> keys) override;
    void restore_usage(KeyIndex key, const KeyUsage& usage) override;
    bool is_vouched_for(KeyIndex key) const override;
    std::vector<KeyUsage> begin_usage_write(UsageWrite what) override;
    void end_usage_write(bool written) override;

 private:
    struct Key;
    struct Pool;
    struct Ask;
    struct Told;
    struct Untold;

    std::vector<std::string> arguments(const Pool& pool) const;
    std::string new_token();
    Millis reservation_life() const;
    Pool& pool_of(KeyIndex key);
    void mark(KeyIndex key);
    void unmark(KeyIndex key);
    bool is_told(const Pool& pool) const;
    bool knows_all(const Pool& pool) const;
    bool is_done(Pool& pool, const Result<io::RedisReply>& reply, std::string_view epoch);
    bool is_stale(Pool& pool, const io::RedisReply& reply, std::string_view epoch);

    // Picks.
    Task<Pick> pick_shared(ProviderIndex provider, std::span<const KeyIndex> tried);
    Task<void> ask(Pool& pool, std::vector<std::string> arguments, std::shared_ptr<Ask> ask);
    void read_pick(Pool& pool, const io::RedisReply& reply, Ask& ask);
    void take(Pool& pool, const io::RedisReply& reply, Ask& ask);
    void note_stranger(Pool& pool, const std::string& id);
    bool is_on(KeyIndex key) const;
    void name_keys(Pool& pool, std::span<const KeyIndex> tried, std::vector<std::string>& words,
                   Ask& ask) const;
    NoKey why_none_of_own(ProviderIndex provider, std::span<const KeyIndex> tried);
    void withdraw(Pool& pool, const std::string& id, const std::string& token);
    Pick pick_alone(ProviderIndex provider, std::span<const KeyIndex> tried);

    // What is said and not waited for.
    void tell(const io::RedisScript& script, KeyIndex key, std::vector<std::string> words,
              Untold untold);
    Task<void> carry(const io::RedisScript& script, Pool& pool, std::vector<std::string> words,
                     KeyIndex key, Untold untold);
    void keep(KeyIndex key, const Untold& untold);

    // What Redis has to be told of, all of it, before anybody picks.
    enum class Shared : std::uint8_t { kAll, kNotAll, kGone };
    Task<Shared> wait_shared(Pool& pool);
    Task<void> share(Pool& pool);
    Task<bool> join(Pool& pool);
    Task<bool> share_let_go(Pool& pool);
    Task<bool> share_changed(Pool& pool);
    std::string entry_of(Pool& pool, KeyIndex key, std::vector<Told>& told);
    void note_shared(Pool& pool, const Told& told);
    void note_not_shared(const Told& told);
    void begin_epoch(Pool& pool, std::string epoch);
    void tell_again(Pool& pool);

    enum class Heard : std::uint8_t { kAll, kSome, kStale, kFailed };
    Task<void> refresh(Pool& pool);
    Task<Heard> hear(Pool& pool);
    void adopt(const Pool& pool, KeyIndex key, const SharedKey& shared, std::int64_t redis_now);
    void go_alone();
    void forget_calls_of_others(std::size_t from);
    Task<void> forget_calls_of_others_later();
    void come_back();

    io::RedisClient& redis_;
    Clock& clock_;
    const Clock* time_of_redis_;
    Random& random_;
    const obs::Log& log_;
    obs::Counter shared_picks_;
    obs::Counter picks_alone_;
    obs::LogLimiter stranger_lines_;
    obs::LogLimiter alone_lines_;
    obs::LogLimiter lost_lines_;
    RuntimeConfig config_;
    MemoryKeyRuntime local_;  // what this process knows
    const std::string owner_;
    std::uint64_t reservations_ = 0;
    std::vector<std::unique_ptr<Pool>> pools_;  // by ProviderIndex
    std::vector<Key> keys_;                     // by KeyIndex
    JsonReader reader_;
    bool is_alone_ = false;  // the last pick went by what this process knows
    bool is_said_ = false;   // that it is so
    std::string failure_;    // of the last command that failed
};

}  // namespace sluice::web
