// What an adapter to one search provider is: a declaration, how a request is built, how an answer
// is read, and where its error signals deviate from HTTP's. Adapters hold no state and do no I/O;
// the one place that talks to a provider is web/call.cc. To add one: a file in web/providers/ and a
// line in web/providers/all.cc.
#pragma once

#include "base/clock.h"
#include "base/hit.h"
#include "base/json.h"
#include "base/result.h"
#include "base/secret.h"
#include "io/http_client.h"
#include "web/types.h"
#include "web/verdict.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::web {

// The fields of a request that narrow what may be answered.
enum class Constraint : std::uint8_t {
    kMaxResults,
    kPage,
    kTopic,
    kCountry,
    kLocale,
    kFreshness,
    kIncludeDomains,
    kExcludeDomains,
    kAnswer,
    kContent,
    kSafeSearch,
};
inline constexpr std::size_t kConstraintCount = 11;

inline constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

// How a provider takes domain lists. What it takes in neither way is filtered here.
struct DomainSupport {
    std::size_t include = 0;    // so many in a parameter of its own
    std::size_t exclude = 0;    //
    bool one_list = false;      // the parameter holds one of the two lists; include goes first
    std::size_t operators = 0;  // so many as site: in the query, both lists together
    // So many words a query with operators may have; the provider ignores what stands behind.
    std::size_t words = kUnlimited;
};

// What a provider can honour. A request that needs more passes it over, and the trace says so.
// web/constraints.h makes a plan from it.
struct Capabilities {
    std::uint32_t max_results = 10;       // in one call
    std::uint32_t max_news_results = 0;   // the same for news; 0: no difference
    std::uint32_t included_results = 10;  // so many cost no more than one
    std::uint32_t max_page = 1;           // 1: no paging
    std::uint32_t max_depth = 0;          // pages times results; 0: no limit
    std::size_t max_query_code_points = 2'000;
    std::size_t max_query_words = kUnlimited;
    DomainSupport domains = {};
    bool country = false;
    std::span<const std::string_view> countries = {};  // the codes it knows, sorted; empty: all
    bool country_in_news = false;                      // a country together with the news topic
    bool locale = false;
    bool (*knows_locale)(std::string_view locale) = nullptr;  // nothing: all
    bool freshness_period = false;
    bool freshness_range = false;
    bool news = false;
    bool answer = false;
    bool content = false;
    bool safe_search = false;  // moderate and strict; off asks for nothing
};

// So many calls in an interval, and as many at once after a rest.
struct RateLimit {
    std::int64_t tokens = 0;  // 0: no limit
    Millis interval{1'000};

    bool operator==(const RateLimit&) const = default;
};

struct ProviderSpec {
    std::string_view name;                // "serper": in settings, routes, metrics, answers
    std::string_view default_base_url;    // "https://google.serper.dev"
    std::string_view keys_variable;       // "SERPER_API_KEYS"
    std::string_view key_variable;        // "SERPER_API_KEY"
    Millis default_timeout{8'000};        // of one attempt
    std::string_view unit = "requests";   // what it charges in
    std::int64_t micro_usd_per_unit = 0;  // the vendor's list price
    // For how long its terms let what it found be kept, fresh or stale; empty: they don't say.
    std::optional<Millis> max_kept = {};
    RateLimit rate = {};  // what the vendor documents for all keys of a customer together
    // Whether its limit can be one of our address rather than of a key: then two refused keys
    // within moments say that every key would be.
    bool may_limit_address = false;
    // What BuildVariant::kWithoutOption gives up.
    std::optional<Constraint> option = {};
    bool enabled_by_default = true;
    bool needs_engine = false;  // a key without an engine id is of no use: ProviderKey::engine_id
    std::string_view engine_variable = {};  // "GOOGLE_CSE_ENGINE_ID"
    std::string_view notice = {};  // what whoever enables it should know, for the log at the start
    Capabilities can = {};

    // Nobody needs a key to call it, so that its limits are those of an address.
    bool is_keyless() const { return keys_variable.empty() && key_variable.empty(); }
};

// A key as an adapter needs it.
struct ProviderKey {
    std::string id;  // stable, not secret: how traces, metrics and logs name it
    Secret secret;
    std::string account = {};    // what shares one quota with it; empty: nothing that we know of
    std::string engine_id = {};  // of a provider that searches by an engine: Google's cx

    ProviderKey() = default;  // no aggregate: see the rules in base/task.h
    ProviderKey(std::string i, Secret s) : id(std::move(i)), secret(std::move(s)) {}
};

struct ProviderAnswer {
    std::vector<Hit> hits;  // rank, site and provider are filled by the caller
    std::optional<std::string> answer;
    std::optional<Cost> cost = {};           // what the provider says that it charged
    std::vector<Honoured> constraints = {};  // filled by the caller
    Instant made_at = {};                    // when it came; filled by the caller
    Instant keep_until = Instant::max();     // by the provider's terms; filled by the caller

    bool empty() const { return hits.empty() && !answer; }
    // What it occupies, the object itself included.
    std::size_t memory_bytes() const;
};

// What one call may still be without, when a key's plan lacks it.
enum class BuildVariant : std::uint8_t {
    kFull,
    kWithoutOption,  // without the one option that some plans refuse
};

// What a call is built from besides the request and the key. Refers to objects of the caller.
struct CallSite {
    std::string_view base_url;        // without a trailing slash
    WallTime wall_now;                // for periods that the provider wants as dates
    std::string_view engine_id = {};  // of a key without its own; see ProviderKey::engine_id
    BuildVariant variant = BuildVariant::kFull;
};

// What a provider says about one of its windows of requests, with any answer.
struct RateWindow {
    Millis length{};
    std::int64_t limit = 0;
    std::int64_t remaining = 0;
    Millis reset{};  // until it begins anew
};

class Provider {
 public:
    virtual ~Provider() = default;

    virtual const ProviderSpec& spec() const = 0;

    // The call for `request`, without deadline, proxy and size cap.
    virtual io::ClientRequest build(const SearchRequest& request, const ProviderKey& key,
                                    const CallSite& site) const = 0;

    // Whether the call for `request` has the option that BuildVariant::kWithoutOption leaves out.
    virtual bool sends_option(const SearchRequest& request) const;

    // Reads the body of a 2xx answer to `request`. Nothing when it is not of the provider's shape
    // (blamed on the provider); an empty hit list is a valid answer. Unknown members are ignored,
    // absent optional ones tolerated, a hit without a usable URL is left out. The answer text is
    // given only where `request` wants one, and never more hits than it asks for.
    virtual std::optional<ProviderAnswer> parse(const JsonValue& body,
                                                const SearchRequest& request) const = 0;

    // Only what deviates from the generic table of web/blame.h. Asked about every answer, 2xx too.
    virtual std::span<const BlameRow> blame_rows() const;

    // The windows that the answer tells of, the shortest first: written to `out` as far as there is
    // room, and counted. Windows without a limit are left out.
    virtual std::size_t rate_windows(const io::ClientResponse& response,
                                     std::span<RateWindow> out) const;

    // What the call for `request` will cost at the list price. What it did cost is in the answer,
    // where the provider says it.
    virtual Cost price(const SearchRequest& request) const;
};

// What provider.build() makes, marked with the provider's name.
io::ClientRequest call_to(const Provider& provider, const SearchRequest& request,
                          const ProviderKey& key, const CallSite& site);

// So many units at the list price.
Cost cost_of(const ProviderSpec& spec, std::int64_t units);
// The same for the number that an answer names as its charge; nothing when it is none, or absurd.
std::optional<Cost> charged(const ProviderSpec& spec, const std::optional<JsonValue>& units);

// A POST of a JSON body to `path` of the provider's base URL, without its credentials. For build().
io::ClientRequest json_post(const CallSite& site, std::string_view path, std::string body);

// Every provider of this binary, in the order of web/providers/all.cc. They live as long as the
// process.
const std::vector<const Provider*>& all_providers();
const Provider* find_provider(std::string_view name);
std::vector<std::string_view> provider_names();  // in the same order

// The place of a provider in all_providers(): what tables by provider are indexed with.
using ProviderIndex = std::uint32_t;
std::optional<ProviderIndex> find_provider_index(std::string_view name);
ProviderIndex index_of(const Provider& provider);  // which is in all_providers(): asserted

// The variables that keys can be set in, for messages: "A_API_KEYS, B_API_KEYS or C_API_KEYS".
std::string key_variables();
}  // namespace sluice::web
