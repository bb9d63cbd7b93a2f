// The web side's own words: what is asked, what is answered, and what was tried.
#pragma once

#include "access/spending.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/hit.h"
#include "base/result.h"
#include "base/secret.h"
#include "io/http_message.h"
#include "web/cache_note.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::web {

enum class Lane : std::uint8_t { kFast, kDeep };
enum class Topic : std::uint8_t { kGeneral, kNews };
enum class SafeSearch : std::uint8_t { kUnset, kOff, kModerate, kStrict };
enum class CacheMode : std::uint8_t { kUse, kRefresh, kBypass, kOnly };
enum class Strategy : std::uint8_t {
    kFailover,  // one provider after another until one answers
    kMerge,     // several at once, their answers fused
    kHedge,     // failover that does not wait for a slow one
    kOfLane,    // whichever of them the lane has: WebConfig::strategy()
};

std::string_view to_string(Lane lane);
std::string_view to_string(CacheMode mode);
std::string_view to_string(Strategy strategy);

// How recent results must be: a rolling period, or a closed range of days (ISO dates).
struct Freshness {
    enum class Period : std::uint8_t { kAny, kDay, kWeek, kMonth, kYear, kRange };
    Period period = Period::kAny;
    std::string from = {};  // "2026-01-01", with kRange
    std::string to = {};

    bool operator==(const Freshness&) const = default;
};

// A validated request. Made by a door; every field is within its limits.
struct SearchRequest {
    QueryText query;  // trimmed, 1 to 2,000 code points, valid UTF-8
    Lane lane = Lane::kFast;
    std::uint32_t max_results = 10;  // 1 to 50
    std::uint32_t page = 1;          // 1 to 100
    std::string locale = {};         // BCP 47, "de-DE"; empty: the provider's default
    std::string country = {};  // ISO 3166-1 alpha-2, lower case; empty: the provider's default
    Freshness freshness = {};
    Topic topic = Topic::kGeneral;
    bool want_answer = false;
    bool want_content = false;
    std::vector<std::string> include_domains = {};  // normal_host(), sorted, unique
    std::vector<std::string> exclude_domains = {};
    std::vector<std::string> providers = {};  // explicit route, in order; empty: the lane's
    Strategy strategy = Strategy::kOfLane;
    SafeSearch safe_search = SafeSearch::kUnset;
    std::string session_id = {};
    bool trace = false;
    bool explain = false;  // say what would be done, and do nothing
    CacheMode cache = CacheMode::kUse;
    access::Payer payer = {};  // set by web::Search from the caller; a door leaves it alone

    SearchRequest() = default;  // no aggregate: see the rules in base/task.h
};

// How one call to a provider ended; the words are contract (attempts[].outcome).
enum class Outcome : std::uint8_t {
    kSuccess,
    kEmpty,
    kRateLimited,
    kAuthFailed,
    kQuotaExhausted,
    kPlanLimit,
    kTimeout,
    kConnectError,
    kServerError,
    kUnparseable,
    kBadRequest,
    kBlocked,
    kSkippedCircuit,
    kSkippedNoKey,
    kSkippedCapability,
    kSkippedBudget,
    kCancelled,
};
inline constexpr std::size_t kOutcomeCount = static_cast<std::size_t>(Outcome::kCancelled) + 1;

std::string_view to_string(Outcome outcome);
// Whether a call was made at all.
bool was_called(Outcome outcome);

// What a call costs, in the provider's own unit and in money.
struct Cost {
    std::int64_t units = 0;      // credits, searches or requests: ProviderSpec::unit
    std::int64_t micro_usd = 0;  // millionths of a US dollar

    bool operator==(const Cost&) const = default;
};

// Why a call could not be paid.
struct BudgetGap {
    std::optional<access::Purse> purse;  // whose budget; nothing: spending can't be written down
    std::optional<WallTime> resets_at;   // when there is room again; nothing: not by itself
};

struct Attempt {
    std::string provider;
    std::string key_id;  // empty: no key was taken
    Outcome outcome = Outcome::kSuccess;
    std::optional<Blame> blame;
    int status = 0;  // HTTP; 0: there was no answer
    Millis latency{};
    Millis waited{};     // before the call: for the provider's rate, or for a key to be back
    std::string egress;  // what it went out through: "direct"; empty: no call was made
    std::string detail;  // for people; secrets and query removed
    std::optional<Cost> cost = {};      // what the provider charges; nothing: it charges nothing
    std::optional<BudgetGap> gap = {};  // with kSkippedBudget
};

// How one constraint of a request was honoured in an answer.
enum class Honour : std::uint8_t {
    kProvider,   // by a parameter of the provider's own
    kOperator,   // as an operator inside the query, such as site:
    kFilter,     // by leaving out hits here
    kShortened,  // in part: a list or the query was cut to what the provider takes
};
std::string_view to_string(Honour honour);

struct Honoured {
    std::string constraint;  // "include_domains": the request field's name
    std::string provider;
    Honour how = Honour::kProvider;
    bool operator==(const Honoured&) const = default;
};

struct ProviderAnswer;  // web/provider.h

// The doors that keep finished bytes with an answer.
enum class Door : std::uint8_t { kRest };
inline constexpr std::size_t kDoorCount = 1;

// An answer as it is cached: immutable, shared between threads. It holds nothing of one request
// (no id, no times, no attempts). Each door's finished body is made once, by the first request that
// needs it, and lives as long as the answer. The fields live until the last door has its body: an
// answer in the cache is finished bytes, not those and the fields too.
class SearchAnswer {
 public:
    // `found` is not null; it may be shared with the cache of results.
    SearchAnswer(std::string query, Lane lane, std::string provider,
                 std::shared_ptr<const ProviderAnswer> found);
    SearchAnswer(std::string query, Lane lane, std::string provider,
                 std::optional<std::string> answer, std::vector<Hit> hits);

    const std::string& query() const { return query_; }
    Lane lane() const { return lane_; }
    const std::string& provider() const { return provider_; }
    // The fields: for who made the answer, and for `render` in body_for(). Asserted to be there.
    const std::optional<std::string>& answer() const;
    const std::vector<Hit>& hits() const;
    // How each constraint of the request was honoured, and by whom.
    const std::vector<Honoured>& constraints() const;
    // No result and no text: known when the fields are gone, too.
    bool is_empty() const { return empty_; }
    // When the provider gave it; of several, the first. Instant{}: just now.
    Instant made_at() const { return made_at_; }
    // No cache holds it for longer; Instant::max(): as long as it likes.
    Instant keep_until() const { return keep_until_; }

    // Somebody who was asked for it failed, and may be missing. To be said before it is shared.
    void mark_degraded() { degraded_ = true; }
    bool is_degraded() const { return degraded_; }

    // Where a cache will keep it, so that what it costs there can be corrected when its body is
    // made. A body larger than `pack_over` bytes will be kept compressed. Before it is shared.
    void prepare_to_keep(const Sha256& key, std::size_t pack_over);
    // Nothing: no cache was to keep it.
    const std::optional<Sha256>& cache_key() const { return cache_key_; }

    struct Body {
        std::shared_ptr<const io::HttpBody> bytes;
        bool is_new = false;  // made by this call, so that memory_bytes() has changed
    };
    // The finished body for `door`; `render` is called if it is not there yet. An exception from it
    // reaches the caller, and the next one tries again.
    Body body_for(Door door, const std::function<std::string(const SearchAnswer&)>& render) const;

    // What this answer costs in a cache: its fields while it has them, and its bodies.
    std::size_t memory_bytes() const;

 private:
    std::shared_ptr<const io::HttpBody> finish(std::string bytes) const;
    std::size_t own_bytes() const;

    std::string query_;
    Lane lane_;
    std::string provider_;
    const Instant made_at_;
    const Instant keep_until_;
    const bool empty_;
    bool degraded_ = false;
    std::optional<Sha256> cache_key_;
    std::size_t pack_over_ = std::numeric_limits<std::size_t>::max();
    // The fields, until doors_left_ is 0: changed by the last door to render, which nobody renders
    // beside.
    mutable std::shared_ptr<const ProviderAnswer> found_;
    mutable std::atomic<std::size_t> doors_left_ = kDoorCount;
    mutable std::atomic<std::size_t> cost_;
    struct Rendered {
        std::atomic<bool> ready = false;
        std::mutex mutex;                          // held while rendering
        std::shared_ptr<const io::HttpBody> body;  // set before `ready`, never changed afterwards
    };
    mutable std::array<Rendered, kDoorCount> rendered_;
};

// One request's answer: the shared part and what belongs to this request alone.
struct Served {
    std::shared_ptr<const SearchAnswer> answer;
    bool cached = false;
    bool stale = false;
    bool degraded = false;               // a provider is missing from it: see web/failure.h
    std::vector<Attempt> attempts = {};  // of a request with `trace`
    Millis queued{};                     // waited for a place in the lane
    CacheNote note = {};
};

}  // namespace sluice::web
