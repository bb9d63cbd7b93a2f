#include "web/failover.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sluice::web {

namespace {

// "serper: auth_failed, tavily: every key is resting".
std::string names_and_outcomes(const std::vector<Attempt>& attempts) {
    std::string text;
    for (const Attempt& attempt : attempts) {
        text.append(text.empty() ? "" : ", ").append(attempt.provider).append(": ");
        text.append(attempt.outcome == Outcome::kSkippedNoKey ? std::string_view(attempt.detail)
                                                              : to_string(attempt.outcome));
    }
    return text;
}

// Whether nobody was asked, or the key was refused: no fault of the provider's.
bool only_key_failed(const Attempt& attempt) {
    return !was_called(attempt.outcome) || attempt.blame == Blame::kKey;
}

// Keys are what is missing: none, or none that may be used now.
Error no_usable_key(const std::vector<Attempt>& attempts, std::optional<Millis> retry_after) {
    std::string message = "no provider of the route has a usable key (" +
                          names_and_outcomes(attempts) + "); set a good one in " + key_variables() +
                          " and start again";
    if (retry_after) {
        message += ", or wait until one that rests is back";
    }
    return {Code::kNoUsableKey, Blame::kKey, std::move(message), retry_after};
}

// The error when nobody answered: what kept the providers from it decides.
Error all_failed(const std::vector<Attempt>& attempts, std::optional<Millis> key_back_in) {
    if (attempts.empty()) {
        return {
            Code::kNoUsableKey,
            Blame::kGateway,
            "no provider of the route is enabled in this build; see routing.fast, routing.deep and "
            "providers.<name>.enabled",
            {}};
    }
    const bool tried = std::any_of(attempts.begin(), attempts.end(), [](const Attempt& attempt) {
        return was_called(attempt.outcome);
    });
    if (tried && std::all_of(attempts.begin(), attempts.end(), only_key_failed)) {
        return no_usable_key(attempts, key_back_in);
    }
    if (tried) {
        return {Code::kUpstreamFailed, Blame::kProvider,
                "every provider failed (" + names_and_outcomes(attempts) + ")", kRetryAfterFailure};
    }
    const bool only_capability = std::all_of(
        attempts.begin(), attempts.end(),
        [](const Attempt& attempt) { return attempt.outcome == Outcome::kSkippedCapability; });
    if (only_capability) {
        return {Code::kInvalidRequest,
                Blame::kCaller,
                "no provider of the route can honour this request (" + attempts.front().provider +
                    " lacks: " + attempts.front().detail + ")",
                {}};
    }
    return no_usable_key(attempts, key_back_in);
}

Error deadline_passed() {
    return {Code::kDeadlineExceeded,
            Blame::kProvider,
            "the deadline passed before a provider answered; it is lanes.<lane>.deadline_s",
            {}};
}

Error refused_by(const Provider& provider, const Attempt& attempt) {
    return {Code::kQueryRejected,
            Blame::kCaller,
            std::string(provider.spec().name) + " refused the request: " + attempt.detail,
            {}};
}

// The providers to ask, in order: known to this build, enabled, each once.
std::vector<const Provider*> resolve_route(const WebConfig& config, const SearchRequest& request) {
    const std::vector<std::string>& names =
        request.providers.empty() ? config.route(request.lane) : request.providers;
    std::vector<const Provider*> route;
    for (const std::string& name : names) {
        const Provider* provider = find_provider(name);
        if (provider == nullptr || !config.provider(name).enabled ||
            std::find(route.begin(), route.end(), provider) != route.end()) {
            continue;
        }
        route.push_back(provider);
    }
    return route;
}

// How far one provider may go through its keys, so that each one behind it in the route is asked as
// well: the attempts of the request until then, and its share of the time.
struct KeyBudget {
    std::size_t attempts;
    Instant until;
};

KeyBudget budget_for_keys(Instant now, Instant deadline, std::size_t others_left) {
    const std::size_t kept = std::min(others_left, kMaxAttempts - 1);
    const auto share = (deadline - now) / static_cast<std::int64_t>(others_left + 1);
    return {kMaxAttempts - kept, now + share};
}

std::shared_ptr<const SearchAnswer> make_answer(const SearchRequest& request,
                                                std::string_view provider, ProviderAnswer found) {
    return std::make_shared<const SearchAnswer>(std::string(request.query.reveal()), request.lane,
                                                std::string(provider), std::move(found.answer),
                                                std::move(found.hits));
}

}  // namespace

Instant attempt_deadline(Instant now, Instant deadline, std::size_t providers_left,
                         Millis timeout) {
    const auto remaining = std::max(deadline - now, Instant::duration::zero());
    const auto share =
        remaining / static_cast<std::int64_t>(std::max<std::size_t>(providers_left, 1));
    const auto wanted = std::max<Instant::duration>(share, kMinAttempt);
    return std::min(deadline, now + std::min<Instant::duration>(wanted, timeout));
}

Task<StrategyResult> run_failover(ProviderCall& call, const Clock& clock, const WebConfig& config,
                                  std::shared_ptr<const SearchRequest> request, Instant deadline) {
    const std::vector<const Provider*> route = resolve_route(config, *request);
    std::vector<Attempt> attempts;
    const Provider* first_empty = nullptr;
    for (std::size_t i = 0; i < route.size() && attempts.size() < kMaxAttempts; ++i) {
        const Provider& provider = *route[i];
        const std::size_t others_left = route.size() - i - 1;
        const Millis timeout = config.provider(provider.spec().name).timeout;
        std::vector<std::string> tried_keys;
        Step step = Step::kNextKey;
        const KeyBudget budget = budget_for_keys(clock.now(), deadline, others_left);
        while (step == Step::kNextKey && attempts.size() < budget.attempts) {
            const Instant now = clock.now();
            if (now >= deadline) {
                co_return Failure{deadline_passed(), std::move(attempts)};
            }
            if (!tried_keys.empty() && now >= budget.until) {
                break;
            }
            const Instant until = attempt_deadline(now, deadline, others_left + 1, timeout);
            CallResult result = co_await call.run(provider, config, *request, until, tried_keys);
            step = result.step;
            // Running out of keys is worth a line of the trail only when none was tried.
            if (result.attempt.outcome != Outcome::kSkippedNoKey || tried_keys.empty()) {
                attempts.push_back(std::move(result.attempt));
            }
            if (step == Step::kAnswer) {
                auto answer = make_answer(*request, provider.spec().name, std::move(result.answer));
                co_return Found{std::move(answer), std::move(attempts), false};
            }
            if (step == Step::kStop) {
                Error refused = refused_by(provider, attempts.back());
                co_return Failure{std::move(refused), std::move(attempts)};
            }
            if (step == Step::kEmpty && first_empty == nullptr) {
                first_empty = &provider;
            }
        }
    }
    if (first_empty == nullptr) {
        Error error = all_failed(attempts, call.key_back_in(route));
        co_return Failure{std::move(error), std::move(attempts)};
    }
    const bool degraded = std::any_of(attempts.begin(), attempts.end(), [](const Attempt& attempt) {
        return attempt.blame.has_value();
    });
    auto answer = make_answer(*request, first_empty->spec().name, ProviderAnswer{});
    co_return Found{std::move(answer), std::move(attempts), degraded};
}

}  // namespace sluice::web
