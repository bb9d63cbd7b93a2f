#include "web/config.h"

#include "base/text.h"
#include "io/url_form.h"
#include "web/key_store.h"
#include "web/provider.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace sluice::web {

namespace {

using namespace std::chrono_literals;

// Names that a route may hold although this binary has no adapter of that name: searches pass over
// them, and web/notices.h says so.
constexpr std::array<std::string_view, 24> kReservedNames = {"jina",
                                                             "firecrawl",
                                                             "opencorporates",
                                                             "courtlistener",
                                                             "searxng",
                                                             "wikipedia",
                                                             "wikidata",
                                                             "github",
                                                             "stackexchange",
                                                             "hackernews",
                                                             "arxiv",
                                                             "crossref",
                                                             "europepmc",
                                                             "dockerhub",
                                                             "openlibrary",
                                                             "openalex",
                                                             "semantic_scholar",
                                                             "pubmed",
                                                             "dblp",
                                                             "mwmbl",
                                                             "marginalia",
                                                             "internet_archive",
                                                             "npm",
                                                             "crates"};

void check_route(ConfigReader& in, std::string_view key, const std::vector<std::string>& route) {
    std::vector<std::string_view> known(kReservedNames.begin(), kReservedNames.end());
    for (const Provider* provider : all_providers()) {
        known.push_back(provider->spec().name);
    }
    for (const std::string& name : route) {
        if (std::find(known.begin(), known.end(), name) != known.end()) {
            continue;
        }
        std::string message = "unknown provider '" + name + "'";
        if (auto guess = nearest(name, known)) {
            message += "; did you mean '" + std::string(*guess) + "'?";
        }
        in.fail(key, std::move(message));
    }
}

void read_rate(ConfigReader in, RateLimit& rate) {
    in.integer({"tokens",
                "calls at once, and in every interval_s; 0: as many as come. The default is the "
                "vendor's limit, or 0 with another base_url",
                {},
                false},
               rate.tokens, std::int64_t{0}, std::int64_t{1'000'000});
    in.duration({"interval_s", "in which `tokens` calls are allowed", {}, false}, rate.interval,
                1ms, 24h * 31);
}

io::EgressChoice read_egress(ConfigReader& in, const io::EgressConfig& egress) {
    std::string word;
    in.text({"egress",
             "what its calls go out through: a policy, or the name of an endpoint below "
             "egress.endpoints; empty: egress.policy",
             {},
             false},
            word);
    Result<io::EgressChoice> choice = io::parse_egress_choice(word, egress);
    if (!choice.ok()) {
        in.fail("egress", std::move(choice).error().message);
        return {};
    }
    return *std::move(choice);
}

void read_strategy(ConfigReader& routing, const Setting& setting, Strategy& strategy) {
    routing.choice(setting, strategy,
                   {{to_string(Strategy::kFailover), Strategy::kFailover},
                    {to_string(Strategy::kMerge), Strategy::kMerge},
                    {to_string(Strategy::kHedge), Strategy::kHedge}});
}

}  // namespace

guard::LaneKind kind_of(Lane lane) {
    return lane == Lane::kFast ? guard::LaneKind::kFast : guard::LaneKind::kDeep;
}

CacheConfig CacheConfig::read(ConfigReader in) {
    CacheConfig c;
    in.duration({"ttl_s", "how long an answer is fresh", {}, false}, c.ttl, 0ms, 24h * 30);
    in.duration(
        {"stale_ttl_s", "how long after that it is kept for when every provider fails", {}, false},
        c.stale_ttl, 0ms, 24h * 30);
    in.duration({"negative_ttl_s", "how long an empty answer is fresh", {}, false}, c.negative_ttl,
                0ms, 24h);
    in.size({"max_bytes", "memory for cached answers and providers' results"}, c.max_bytes, 0,
            std::size_t{1} << 40);
    in.integer({"max_entries", "cached answers and providers' results at most"}, c.max_entries,
               std::size_t{1}, std::size_t{100'000'000});
    in.size(
        {"compress_over_bytes", "finished answers larger than this are kept compressed", {}, false},
        c.compress_over_bytes, 1024, std::size_t{1} << 30);
    in.boolean({"provider_results_enabled",
                "whether what a provider answered is kept for other searches that ask it the same; "
                "takes a quarter of max_bytes and of max_entries"},
               c.provider_results_enabled);
    in.duration({"lock_ttl_s",
                 "how long a replica that died keeps others from asking what it was asking; while "
                 "it lives it renews that. At most a third of the lane's deadline",
                 {},
                 false},
                c.lock_ttl, 100ms, 1min);
    in.integer({"max_unattended",
                "searches at once that finish a call under way although every caller has left, so "
                "that what is paid for is kept; they keep their place in the lane"},
               c.max_unattended, std::size_t{0}, std::size_t{1'000});
    return c;
}

KeysConfig KeysConfig::read(ConfigReader in) {
    KeysConfig c;
    in.choice({"rotation", "which of a provider's usable keys is taken", {}, false},
              c.runtime.rotation,
              {{to_string(Rotation::kLeastUsed), Rotation::kLeastUsed},
               {to_string(Rotation::kRoundRobin), Rotation::kRoundRobin},
               {to_string(Rotation::kWeighted), Rotation::kWeighted}});
    in.integer({"max_in_flight", "calls at once of a key that has no bound of its own", {}, false},
               c.runtime.max_in_flight, std::uint32_t{1}, kMaxKeyInFlight);
    in.duration(
        {"auth_failure_disable_s", "how long a key that was refused is left alone", {}, false},
        c.auth_failure_disable, 1s, 24h * 30);
    in.duration({"default_cooldown_s",
                 "how long a rate-limited key rests when the provider names no time",
                 {},
                 false},
                c.default_cooldown, 1s, 24h);
    in.duration({"exhausted_retry_s",
                 "how long a key without quota rests when the provider names no time",
                 {},
                 false},
                c.exhausted_retry, 1s, 24h * 31);
    return c;
}

MergeConfig MergeConfig::read(ConfigReader in) {
    MergeConfig c;
    in.integer({"providers", "providers that a merged search asks at once", {}, false}, c.providers,
               std::size_t{1}, std::size_t{16});
    in.duration({"wait_s",
                 "how long a merged search waits for the others after the first answer",
                 {},
                 false},
                c.wait, 0ms, 1min);
    return c;
}

HedgeConfig HedgeConfig::read(ConfigReader in) {
    HedgeConfig c;
    in.duration({"initial_delay_s",
                 "after how long a second provider is asked while the first one's usual time is "
                 "not known yet",
                 {},
                 false},
                c.initial_delay, 10ms, 1min);
    in.number(
        {"max_extra_ratio", "second calls at most, as a share of the others; 0: none", {}, false},
        c.max_extra_ratio, 0, 1);
    return c;
}

ProviderSettings ProviderSettings::read(ConfigReader in, const ProviderSpec& spec,
                                        const io::EgressConfig& egress) {
    ProviderSettings c;
    c.base_url = spec.default_base_url;
    c.timeout = spec.default_timeout;
    c.rate = spec.rate;
    c.enabled = spec.enabled_by_default;
    in.boolean({"enabled", "whether routes may use it", {}, false}, c.enabled);
    in.text({"base_url", "where its API is; change it for a proxy or a test", {}, false},
            c.base_url);
    in.duration({"timeout_s", "one attempt", {}, false}, c.timeout, 10ms, 10min);
    in.duration(
        {"results_ttl_s",
         "how long what it answered is kept for other searches that ask it the same, within "
         "cache.ttl_s; 0: not at all",
         {},
         false},
        c.results_ttl, 0ms, 24h * 30);
    c.max_kept = spec.max_kept.value_or(0ms);
    in.duration({"max_kept_s",
                 "how long its terms let what it found be kept, fresh or stale, in both caches; 0: "
                 "no bound",
                 {},
                 false},
                c.max_kept, 0ms, 24h * 366);
    in.text({"account",
             "the account of keys that have none of their own; keys of one account share its "
             "penalties",
             {},
             false},
            c.account);
    if (const Status fits = check_key_text(c.account); !fits.ok()) {
        in.fail("account", fits.error().message);
    }
    if (spec.needs_engine) {
        in.text({"engine_id", "which engine is searched by keys that have none of their own",
                 spec.engine_variable, false},
                c.engine_id);
    }
    c.egress = read_egress(in, egress);
    while (c.base_url.ends_with('/')) {
        c.base_url.pop_back();
    }
    if (!io::is_http_url(c.base_url)) {
        in.fail("base_url",
                "expected a URL that begins with http:// or https:// and can be called");
    } else if (c.base_url.find_first_of("?#") != std::string::npos) {
        in.fail("base_url", "expected a URL without ? and #, since paths are put behind it");
    }
    // The vendor's limit is the default for the vendor's own address. What stands in its place, a
    // proxy or a test, has limits of its own.
    if (c.base_url != spec.default_base_url) {
        c.rate.tokens = 0;
    }
    read_rate(in.section("rate"), c.rate);
    c.price = PriceConfig::read(in.section("price"), spec);
    return c;
}

const ProviderSettings& WebConfig::provider(std::string_view name) const {
    const auto found = providers.find(name);
    SLUICE_ASSERT(found != providers.end());
    return found->second;
}

std::vector<std::string> WebConfig::default_accounts() const {
    std::vector<std::string> accounts;
    for (const Provider* each : all_providers()) {
        accounts.push_back(provider(each->spec().name).account);
    }
    return accounts;
}

std::vector<io::EgressUser> WebConfig::egress_users() const {
    std::vector<io::EgressUser> users;
    for (const Provider* each : all_providers()) {
        const ProviderSpec& spec = each->spec();
        users.push_back({std::string(spec.name), provider(spec.name).egress, spec.is_keyless()});
    }
    return users;
}

Strategy WebConfig::strategy(const SearchRequest& request) const {
    if (request.strategy != Strategy::kOfLane) {
        return request.strategy;
    }
    return request.lane == Lane::kFast ? fast_strategy : deep_strategy;
}

WebConfig WebConfig::read(ConfigReader& in) {
    WebConfig c;
    ConfigReader routing = in.section("routing");
    routing.list(
        {"fast",
         "providers of the fast lane, in order; what is off or not in this version is passed over",
         {},
         false},
        c.route_fast);
    routing.list({"deep", "providers of the deep lane, the same", {}, false}, c.route_deep);
    read_strategy(routing,
                  {"fast_strategy",
                   "how searches of the fast lane combine its providers, unless they say it",
                   {},
                   false},
                  c.fast_strategy);
    read_strategy(routing, {"deep_strategy", "those of the deep lane, the same", {}, false},
                  c.deep_strategy);
    check_route(routing, "fast", c.route_fast);
    check_route(routing, "deep", c.route_deep);
    ConfigReader lanes = in.section("lanes");
    c.lanes = guard::LanesConfig::read(lanes);
    ConfigReader circuit = in.section("circuit");
    c.circuit = guard::CircuitConfig::read(circuit);
    c.retry = guard::BackoffConfig::read(in.section("retry"));
    c.cache = CacheConfig::read(in.section("cache"));
    c.keys = KeysConfig::read(in.section("keys"));
    c.keys.runtime.longest_call = std::max(c.lanes.fast.deadline, c.lanes.deep.deadline);
    c.merge = MergeConfig::read(in.section("merge"));
    c.hedge = HedgeConfig::read(in.section("hedge"));
    c.egress = io::EgressConfig::read(in.section("egress"));
    ConfigReader providers = in.section("providers");
    for (const Provider* provider : all_providers()) {
        const ProviderSpec& spec = provider->spec();
        ConfigReader section = providers.section(spec.name);
        for (const std::string_view key : {"api_key", "api_keys", "key", "keys"}) {
            section.explain_absent(key, "keys are not kept in this file; set them in " +
                                            std::string(spec.keys_variable));
        }
        c.providers.emplace(spec.name, ProviderSettings::read(section, spec, c.egress));
    }
    return c;
}

}  // namespace sluice::web
