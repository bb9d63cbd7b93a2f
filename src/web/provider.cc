#include "web/provider.h"

#include "base/text.h"

#include <algorithm>

namespace sluice::web {
namespace {

bool country_fits(const Capabilities& can, const SearchRequest& request) {
    if (request.country.empty()) {
        return true;
    }
    if (!can.country || (request.topic == Topic::kNews && !can.country_in_news)) {
        return false;
    }
    return can.countries.empty() || std::binary_search(can.countries.begin(), can.countries.end(),
                                                       std::string_view(request.country));
}

bool freshness_fits(const Capabilities& can, const Freshness& freshness) {
    switch (freshness.period) {
        case Freshness::Period::kAny:
            return true;
        case Freshness::Period::kRange:
            return can.freshness_range;
        case Freshness::Period::kDay:
        case Freshness::Period::kWeek:
        case Freshness::Period::kMonth:
        case Freshness::Period::kYear:
            return can.freshness_period;
    }
    return false;
}

bool asks_for_filtering(SafeSearch level) {
    return level == SafeSearch::kModerate || level == SafeSearch::kStrict;
}

}  // namespace

Blame blame_of(Effect effect) {
    SLUICE_ASSERT(effect != Effect::kEmpty);
    switch (effect) {
        case Effect::kCool:
        case Effect::kExhaust:
        case Effect::kQuarantine:
        case Effect::kKeyCannot:
            return Blame::kKey;
        case Effect::kCaller:
            return Blame::kCaller;
        case Effect::kProvider:
            return Blame::kProvider;
        case Effect::kEmpty:
            break;
    }
    return Blame::kGateway;
}

std::optional<Verdict> Provider::classify(const io::ClientResponse& /*response*/,
                                          const std::optional<JsonValue>& /*body*/,
                                          WallTime /*wall_now*/) const {
    return std::nullopt;
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
    for (const Provider* provider : all_providers()) {
        text.append(text.empty() ? "" : " or ").append(provider->spec().keys_variable);
    }
    return text;
}

std::optional<std::string_view> unmet_constraint(const Capabilities& can,
                                                 const SearchRequest& request) {
    if (count_code_points(request.query.reveal()) > can.max_query_code_points) {
        return "query length";
    }
    if (request.page > can.max_page) {
        return "page";
    }
    if (request.topic == Topic::kNews && !can.news) {
        return "news";
    }
    if (!country_fits(can, request)) {
        return "country";
    }
    if (!request.locale.empty() && !can.locale) {
        return "locale";
    }
    if (!freshness_fits(can, request.freshness)) {
        return request.freshness.period == Freshness::Period::kRange ? "freshness range"
                                                                     : "freshness period";
    }
    if (std::max(request.include_domains.size(), request.exclude_domains.size()) >
        can.max_domains) {
        return "domain filter";
    }
    if (request.want_answer && !can.answer) {
        return "answer";
    }
    if (request.want_content && !can.content) {
        return "content";
    }
    if (asks_for_filtering(request.safe_search) && !can.safe_search) {
        return "safe search";
    }
    return std::nullopt;
}

}  // namespace sluice::web
