#include "web/provider.h"

namespace sluice::web {
namespace {

// What the allocator takes beside what it is asked for.
constexpr std::size_t kAllocationOverhead = 16;

std::size_t heap_bytes(const std::string& text) {
    const bool is_inline = text.capacity() <= std::string().capacity();
    return is_inline ? 0 : text.capacity() + kAllocationOverhead;
}

std::size_t heap_bytes(const Hit& hit) {
    std::size_t bytes = heap_bytes(hit.url) + heap_bytes(hit.title) + heap_bytes(hit.snippet) +
                        heap_bytes(hit.content) + heap_bytes(hit.provider) + heap_bytes(hit.site) +
                        (hit.published_at ? heap_bytes(*hit.published_at) : 0) +
                        hit.origins.capacity() * sizeof(HitOrigin);
    for (const HitOrigin& origin : hit.origins) {
        bytes += heap_bytes(origin.provider);
    }
    return bytes;
}

}  // namespace

std::size_t ProviderAnswer::memory_bytes() const {
    std::size_t bytes = sizeof(ProviderAnswer) + (hits.capacity() - hits.size()) * sizeof(Hit) +
                        (answer ? heap_bytes(*answer) : 0);
    for (const Hit& hit : hits) {
        bytes += sizeof(Hit) + heap_bytes(hit);
    }
    bytes += constraints.capacity() * sizeof(Honoured);
    for (const Honoured& honoured : constraints) {
        bytes += heap_bytes(honoured.constraint) + heap_bytes(honoured.provider);
    }
    return bytes;
}

bool Provider::sends_option(const SearchRequest& /*request*/) const {
    return false;
}

std::span<const BlameRow> Provider::blame_rows() const {
    return {};
}

std::size_t Provider::rate_windows(const io::ClientResponse& /*response*/,
                                   std::span<RateWindow> /*out*/) const {
    return 0;
}

Cost Provider::price(const SearchRequest& /*request*/) const {
    return cost_of(spec(), 1);
}

Cost cost_of(const ProviderSpec& spec, std::int64_t units) {
    return {units, units * spec.micro_usd_per_unit};
}

std::optional<Cost> charged(const ProviderSpec& spec, const std::optional<JsonValue>& units) {
    constexpr std::int64_t kMostUnits = 1'000;  // of one call; far beyond any price list
    const auto number = units ? units->as_integer() : std::nullopt;
    if (!number || *number < 0 || *number > kMostUnits) {
        return std::nullopt;
    }
    return cost_of(spec, *number);
}

std::vector<std::string_view> provider_names() {
    std::vector<std::string_view> names;
    for (const Provider* provider : all_providers()) {
        names.push_back(provider->spec().name);
    }
    return names;
}

io::ClientRequest call_to(const Provider& provider, const SearchRequest& request,
                          const ProviderKey& key, const CallSite& site) {
    io::ClientRequest call = provider.build(request, key, site);
    SLUICE_ASSERT(call.url.starts_with(site.base_url));
    call.upstream = provider.spec().name;
    call.base_bytes = site.base_url.size();
    return call;
}

io::ClientRequest json_post(const CallSite& site, std::string_view path, std::string body) {
    io::ClientRequest call;
    call.method = io::Method::kPost;
    call.url.append(site.base_url).append(path);
    call.headers = {{"Accept", "application/json"}, {"Content-Type", "application/json"}};
    call.body = std::move(body);
    return call;
}

const Provider* find_provider(std::string_view name) {
    for (const Provider* provider : all_providers()) {
        if (provider->spec().name == name) {
            return provider;
        }
    }
    return nullptr;
}

std::optional<ProviderIndex> find_provider_index(std::string_view name) {
    const Provider* provider = find_provider(name);
    return provider == nullptr ? std::nullopt : std::optional(index_of(*provider));
}

ProviderIndex index_of(const Provider& provider) {
    const std::vector<const Provider*>& all = all_providers();
    const auto found = std::find(all.begin(), all.end(), &provider);
    SLUICE_ASSERT(found != all.end());
    return static_cast<ProviderIndex>(found - all.begin());
}

std::string key_variables() {
    std::string text;
    std::string_view last;
    for (const Provider* provider : all_providers()) {
        if (provider->spec().needs_engine) {
            continue;
        }
        if (!last.empty()) {
            text.append(text.empty() ? "" : ", ").append(last);
        }
        last = provider->spec().keys_variable;
    }
    return text.append(text.empty() ? "" : " or ").append(last);
}

}  // namespace sluice::web
