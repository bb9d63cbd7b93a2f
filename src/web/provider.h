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

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::web {

// What a provider can honour. A request that needs more skips it, and the trace says so.
struct Capabilities {
    std::uint32_t max_results = 10;  // in one call; more are cut to it
    std::uint32_t max_page = 1;      // 1: no paging
    std::size_t max_query_code_points = 2'000;
    std::size_t max_domains = 0;  // of include and exclude lists each; 0: no domain filter
    bool country = false;
    std::span<const std::string_view> countries = {};  // the codes it knows, sorted; empty: all
    bool country_in_news = false;                      // a country together with the news topic
    bool locale = false;
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
    std::string_view name;               // "serper": in settings, routes, metrics, answers
    std::string_view default_base_url;   // "https://google.serper.dev"
    std::string_view keys_variable;      // "SERPER_API_KEYS"
    std::string_view key_variable;       // "SERPER_API_KEY"
    Millis default_timeout{8'000};       // of one attempt
    std::string_view unit = "requests";  // what it charges in
    RateLimit rate = {};  // what the vendor documents for all keys of a customer together
    Capabilities can = {};
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

// What has to follow from an answer that is not a result list.
enum class Effect : std::uint8_t {
    kCool,        // this key rests for `penalty`; next key
    kExhaust,     // this key's quota is used up until `penalty` has passed; next key
    kQuarantine,  // this key is refused; next key
    kKeyCannot,   // this key's plan lacks something; key untouched; next key
    kCaller,      // the request itself is refused: stop, nobody else is asked
    kProvider,    // the provider is at fault; keys untouched; next provider
    kEmpty,       // a valid answer without results
};

// How much a penalty covers.
enum class Reach : std::uint8_t {
    kKey,
    kAccount,  // every key with the same account label; the key alone when it has none
};

struct Verdict {
    Effect effect = Effect::kProvider;
    Outcome outcome = Outcome::kServerError;
    std::optional<Millis> penalty = {};  // for kCool and kExhaust; empty: the configured default
    // For people: the provider's own words, or ours where it has none. What leaves judge() is one
    // line of valid UTF-8, at most 200 bytes, without the key's secret and the query.
    std::string detail = {};
    Reach reach = Reach::kKey;  // of kCool, kExhaust and kQuarantine
};

Blame blame_of(Effect effect);  // kEmpty has no blame: asserted

// What a call costs, in the provider's own unit and in money.
struct Cost {
    std::int64_t units = 0;      // credits, searches or requests: ProviderSpec::unit
    std::int64_t micro_usd = 0;  // millionths of a US dollar

    bool operator==(const Cost&) const = default;
};

struct ProviderAnswer {
    std::vector<Hit> hits;  // rank, site and provider are filled by the caller
    std::optional<std::string> answer;
    std::optional<Cost> cost = {};  // what the provider says that it charged
};

class Provider {
 public:
    virtual ~Provider() = default;

    virtual const ProviderSpec& spec() const = 0;

    // The call for `request`, without deadline, proxy and size cap. `base_url` has no trailing
    // slash.
    virtual io::ClientRequest build(const SearchRequest& request, const ProviderKey& key,
                                    std::string_view base_url) const = 0;

    // Reads the body of a 2xx answer to `request`. Nothing when it is not of the provider's shape
    // (blamed on the provider); an empty hit list is a valid answer. Unknown members are ignored,
    // absent optional ones tolerated, a hit without a usable URL is left out. The answer text is
    // given only where `request` wants one, and never more hits than it asks for.
    virtual std::optional<ProviderAnswer> parse(const JsonValue& body,
                                                const SearchRequest& request) const = 0;

    // Only what deviates from the generic table of web/blame.h; nothing: the generic table decides.
    // Asked about every answer, 2xx too. `body` is absent when the answer is not a JSON object or
    // array; `wall_now` is for quotas that reset by the calendar. An empty detail is filled with
    // what the body says, an empty penalty with Retry-After.
    virtual std::optional<Verdict> classify(const io::ClientResponse& response,
                                            const std::optional<JsonValue>& body,
                                            WallTime wall_now) const;
};

// Every provider of this binary, in the order of web/providers/all.cc. They live as long as the
// process.
const std::vector<const Provider*>& all_providers();
const Provider* find_provider(std::string_view name);

// The place of a provider in all_providers(): what tables by provider are indexed with.
using ProviderIndex = std::uint32_t;
std::optional<ProviderIndex> find_provider_index(std::string_view name);
ProviderIndex index_of(const Provider& provider);  // which is in all_providers(): asserted

// The variables that keys can be set in, for messages: "SERPER_API_KEYS or TAVILY_API_KEYS".
std::string key_variables();

// The constraint of `request` that a provider of these capabilities can't honour, for the trace
// ("freshness range"); nothing when it can honour all.
std::optional<std::string_view> unmet_constraint(const Capabilities& can,
                                                 const SearchRequest& request);

}  // namespace sluice::web
