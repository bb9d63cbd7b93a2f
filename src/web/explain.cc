#include "web/explain.h"

#include "web/constraints.h"
#include "web/price.h"
#include "web/provider_run.h"
#include "web/route.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ranges>
#include <utility>
#include <variant>

namespace sluice::web {

namespace {

// What is looked at, for one provider after another.
struct Explainer {
    const Surroundings& in;
    const SearchRequest& request;

    ProviderOutlook outlook(const std::string& name) const {
        ProviderOutlook outlook;
        outlook.name = name;
        const ProviderState* state = in.states.find(name);
        if (state == nullptr) {
            outlook.passed_over = "not in this version";
            return outlook;
        }
        const ProviderSettings& settings = in.config.provider(name);
        describe(*state, settings, outlook);
        if (!settings.enabled) {
            outlook.passed_over = "switched off by providers." + name + ".enabled";
            return outlook;
        }
        outlook.kept = holds_result(name, settings);
        if (outlook.kept) {
            return outlook;  // nothing else is asked about then
        }
        if (std::optional<Skip> skip = why_passed_over(*state, settings, outlook)) {
            outlook.outcome = skip->outcome;
            outlook.passed_over = std::move(skip->detail);
            return outlook;
        }
        outlook.egress = in.egress.peek(egress_ask(state->index(), request)).name();
        return outlook;
    }

    void describe(const ProviderState& state, const ProviderSettings& settings,
                  ProviderOutlook& outlook) const {
        const Provider& provider = state.provider();
        const ProviderSpec& spec = provider.spec();
        const CallPlan plan = plan_call(spec, request);
        outlook.price = at_price(spec, settings.price, provider.price(plan.sent(request)));
        outlook.constraints = honoured(plan, spec, request, BuildVariant::kFull);
        outlook.unit = provider.spec().unit;
        outlook.recent = state.recent().summary();
        const Instant now = in.clock.now();
        outlook.turn_in =
            std::chrono::ceil<Millis>(state.rate().next_turn(settings.rate, now) - now);
    }

    bool holds_result(std::string_view name, const ProviderSettings& settings) const {
        return reads_results(in.results, settings, request.cache) &&
               in.results.holds(result_fingerprint(name, request), in.clock.now());
    }

    // In the order in which a call asks (ProviderCall::run).
    std::optional<Skip> why_passed_over(const ProviderState& state,
                                        const ProviderSettings& settings,
                                        ProviderOutlook& outlook) const {
        const Instant now = in.clock.now();
        if (const auto unmet = plan_call(state.provider().spec(), request).unmet()) {
            return skip_for_constraint(*unmet);
        }
        if (state.rests_until(now)) {
            return skip_for_rest(state, in.clock);
        }
        if (!state.would_enter(now)) {
            return skip_for_circuit(state, in.clock);
        }
        auto key = in.keys.peek(state.index(), {});
        if (const auto* none = std::get_if<NoKey>(&key)) {
            return skip_for_key(*none, in.keys.counts_of(state.index()));
        }
        outlook.key_id = std::get<std::string>(std::move(key));
        const std::optional<ProviderKey> key_used = in.keys.secret_of(outlook.key_id);
        if (state.provider().spec().needs_engine && settings.engine_id.empty() &&
            (!key_used || key_used->engine_id.empty())) {
            return skip_for_engine(state);
        }
        const access::Purchase purchase{request.payer, state.index(), outlook.key_id,
                                        one_call(outlook.price)};
        if (const auto refusal = in.budgets.would_refuse(purchase)) {
            return skip_for_budget(*refusal);
        }
        return std::nullopt;
    }
};

// Passes over those whose turn comes later than a call would wait for it, if their time came now:
// what the lane gives a search, shared with whoever behind them could be asked, as the strategy has
// it.
void pass_over_late(const Surroundings& in, const SearchRequest& request,
                    std::vector<ProviderOutlook>& route) {
    const Instant now = in.clock.now();
    const Instant deadline = now + in.config.lanes.lane(kind_of(request.lane)).deadline;
    std::size_t left = 1;
    for (ProviderOutlook& outlook : std::views::reverse(route)) {
        if (outlook.passed_over && !outlook.outcome) {
            continue;  // no search has it in its route
        }
        const ProviderState& state = *in.states.find(outlook.name);
        const RateLimit& rate = in.config.provider(outlook.name).rate;
        CallTerms terms;
        terms.until = attempt_until(now, deadline, left);
        if (!outlook.passed_over && !outlook.kept &&
            state.rate().next_turn(rate, now) > terms.latest_start(now)) {
            Skip skip = skip_for_rate(state, rate, in.clock);
            outlook.outcome = skip.outcome;
            outlook.passed_over = std::move(skip.detail);
        }
        if (request.strategy != Strategy::kMerge && may_be_asked(state, in.keys, now)) {
            left += 1;
        }
    }
}

}  // namespace

std::string_view to_string(Explanation::Entry entry) {
    switch (entry) {
        case Explanation::Entry::kNone:
            return "none";
        case Explanation::Entry::kFresh:
            return "fresh";
        case Explanation::Entry::kStale:
            return "stale";
    }
    SLUICE_ASSERT(false && "an Entry outside its enumeration");
}

std::vector<ProviderOutlook> explain_route(const Surroundings& in, const SearchRequest& request) {
    const Explainer explainer{in, request};
    std::vector<ProviderOutlook> route;
    for (const std::string& name : names_of_route(in.config, request)) {
        const bool listed = std::any_of(route.begin(), route.end(),
                                        [&](const auto& other) { return other.name == name; });
        if (!listed) {
            route.push_back(explainer.outlook(name));
        }
    }
    pass_over_late(in, request, route);
    return route;
}

}  // namespace sluice::web
