#include "web/failure.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::web {

namespace {

bool was_sent(const Attempt& attempt) {
    return !attempt.egress.empty();
}

// By whoever asked, or at the end of the process: nothing is known of whom it was sent to.
bool was_given_up(const Attempt& attempt) {
    return was_sent(attempt) && attempt.outcome == Outcome::kCancelled;
}

bool has_answer_of(const std::vector<Attempt>& trail, std::string_view provider) {
    return std::ranges::any_of(trail, [&](const Attempt& attempt) {
        return attempt.provider == provider &&
               (attempt.outcome == Outcome::kSuccess || attempt.outcome == Outcome::kEmpty);
    });
}

// Our own rate of calls to the provider left no room in time.
bool found_no_turn(const Attempt& attempt) {
    return attempt.outcome == Outcome::kRateLimited && attempt.blame == Blame::kGateway;
}

// A skip is told in its own words, and what kept a call from reaching the provider in ours beside
// the outcome; what a provider says stays in the trace.
std::string reason_of(const Attempt& attempt) {
    if (!was_sent(attempt) && !attempt.detail.empty()) {
        return attempt.detail;
    }
    std::string reason(to_string(attempt.outcome));
    if (attempt.outcome == Outcome::kConnectError && !attempt.detail.empty()) {
        reason.append(": ").append(attempt.detail);
    }
    return reason;
}

// "serper: auth_failed, tavily: every key is resting". The same twice in a row is told once.
std::string names_and_reasons(const std::vector<Attempt>& trail) {
    std::string text;
    std::string last;
    for (const Attempt& attempt : trail) {
        std::string entry = attempt.provider + ": " + reason_of(attempt);
        if (entry == last) {
            continue;
        }
        text.append(text.empty() ? "" : ", ").append(entry);
        last = std::move(entry);
    }
    return text;
}

bool all_are(const std::vector<Attempt>& trail, Outcome outcome) {
    return std::all_of(trail.begin(), trail.end(),
                       [&](const Attempt& attempt) { return attempt.outcome == outcome; });
}

bool any_of(const std::vector<Attempt>& trail, bool (*holds)(const Attempt&)) {
    return std::any_of(trail.begin(), trail.end(), holds);
}

bool is_providers_fault(const Attempt& attempt) {
    return attempt.blame && *attempt.blame != Blame::kKey && !found_no_turn(attempt) &&
           !attempt.gap;
}

bool found_no_money(const Attempt& attempt) {
    return attempt.gap.has_value();
}

// Whoever else is asked: the same purse pays.
bool payer_has_no_money(const Attempt& attempt) {
    return attempt.gap && (attempt.gap->purse == access::Purse::kToken ||
                           attempt.gap->purse == access::Purse::kGateway);
}

// The same call with the same key once more: what it waited before, the provider had asked for.
bool is_repeated(const Attempt& before, const Attempt& attempt) {
    return was_sent(before) && was_sent(attempt) && before.provider == attempt.provider &&
           before.key_id == attempt.key_id;
}

// In calls, and in waits between two of the same.
Duration time_of_providers(const std::vector<Attempt>& trail) {
    Duration sum{};
    for (std::size_t i = 0; i < trail.size(); ++i) {
        sum += trail[i].latency;
        if (i > 0 && is_repeated(trail[i - 1], trail[i])) {
            sum += trail[i].waited;
        }
    }
    return sum;
}

// Until the first of the instants that are known.
class Earliest {
 public:
    void add(std::optional<Duration> wait) {
        if (wait && (!first_ || *wait < *first_)) {
            first_ = wait;
        }
    }
    std::optional<Millis> millis() const {
        if (!first_) {
            return std::nullopt;
        }
        return std::chrono::ceil<Millis>(std::max(*first_, Duration::zero()));
    }

 private:
    std::optional<Duration> first_;
};

std::optional<Millis> first_key_back_in(const SearchWork& work,
                                        const std::vector<Candidate>& route) {
    const Instant now = work.clock.now();
    Earliest earliest;
    for (const Candidate& candidate : route) {
        if (const auto back = work.call.key_back_at(candidate.state->index())) {
            earliest.add(*back - now);
        }
    }
    return earliest.millis();
}

std::optional<Millis> first_circuit_reopens_in(const SearchWork& work,
                                               const std::vector<Candidate>& route) {
    Earliest earliest;
    for (const Candidate& candidate : route) {
        const Instant now = work.clock.now();
        earliest.add(candidate.state->circuit(now).reopens_in);
        if (const auto until = candidate.state->rests_until(now)) {
            earliest.add(*until - now);
        }
    }
    return earliest.millis();
}

std::optional<Millis> first_turn_in(const SearchWork& work, const std::vector<Candidate>& route) {
    const Instant now = work.clock.now();
    Earliest earliest;
    for (const Candidate& candidate : route) {
        const Instant turn = candidate.state->rate().next_turn(candidate.settings->rate, now);
        if (turn > now) {
            earliest.add(turn - now);
        }
    }
    return earliest.millis();
}

// Keys are what is missing: none, or none that may be used now.
Error no_usable_key(const SearchWork& work, const std::vector<Candidate>& route,
                    const std::vector<Attempt>& trail) {
    const bool waiting_helps = std::ranges::any_of(route, [&](const Candidate& candidate) {
        const ProviderIndex provider = candidate.state->index();
        return work.call.key_back_at(provider) && !work.call.has_only_refused_keys(provider);
    });
    std::string message = "no provider of the route has a usable key (" + names_and_reasons(trail) +
                          "); add a good one with `sluice keys add`, or set " + key_variables() +
                          " and start again";
    if (waiting_helps) {
        message += ", or wait until one that rests is back";
    }
    return {Code::kNoUsableKey, Blame::kKey, std::move(message), first_key_back_in(work, route)};
}

Error nobody_is_enabled() {
    return {Code::kNoUsableKey,
            Blame::kGateway,
            "no provider of the route is enabled in this build; see routing.fast, routing.deep and "
            "providers.<name>.enabled",
            {}};
}

Error nobody_can(const Attempt& first) {
    return {Code::kInvalidRequest,
            Blame::kCaller,
            "no provider of the route can honour this request (" + first.provider +
                " lacks: " + first.detail + ")",
            {}};
}

// Ours when no call reached a provider that was at fault: the proxy, or what recordings lack.
Error all_failed(const std::vector<Attempt>& trail) {
    const bool is_ours = !any_of(trail, [](const Attempt& attempt) {
        return is_providers_fault(attempt) && attempt.blame != Blame::kGateway;
    });
    return {Code::kUpstreamFailed, is_ours ? Blame::kGateway : Blame::kProvider,
            "every provider failed (" + names_and_reasons(trail) + ")", kRetryAfterFailure};
}

Error no_turn_in_time(const std::vector<Attempt>& trail, std::optional<Millis> turn_in) {
    return {Code::kOverloaded, Blame::kGateway,
            "too many calls to the providers of the route (" + names_and_reasons(trail) + ")",
            turn_in.value_or(kRetryAfterFailure)};
}

// Nobody may be paid, or spending can't be written down.
Error no_money(const SearchWork& work, const std::vector<Attempt>& trail) {
    const WallTime now = work.clock.wall_now();
    Earliest earliest;
    bool is_spent = false;
    bool is_tenants = false;
    for (const Attempt& attempt : trail) {
        if (!attempt.gap) {
            continue;
        }
        is_spent = is_spent || attempt.gap->purse;
        is_tenants = is_tenants || attempt.blame == Blame::kTenant;
        if (attempt.gap->resets_at) {
            earliest.add(*attempt.gap->resets_at - now);
        }
    }
    if (!is_spent) {
        return {Code::kUnavailable, Blame::kGateway,
                "nobody is paid now (" + names_and_reasons(trail) + ")", kRetryAfterFailure};
    }
    return {Code::kBudgetExhausted, is_tenants ? Blame::kTenant : Blame::kGateway,
            "what may be spent is spent (" + names_and_reasons(trail) + ")", earliest.millis()};
}

// Nobody was called: each is left alone after earlier failures, or can't be asked anyway.
Error all_left_alone(const std::vector<Attempt>& trail, std::optional<Millis> reopens_in) {
    return {Code::kUpstreamFailed, Blame::kProvider,
            "no provider of the route may be called now (" + names_and_reasons(trail) +
                "); they are tried again by themselves, see circuits in /v1/status",
            reopens_in.value_or(kRetryAfterFailure)};
}

}  // namespace

bool somebody_failed(const std::vector<Attempt>& trail) {
    return std::ranges::any_of(trail, [&](const Attempt& attempt) {
        return was_sent(attempt) && !has_answer_of(trail, attempt.provider);
    });
}

bool somebody_unheard(const std::vector<Attempt>& trail) {
    return std::ranges::any_of(trail, [&](const Attempt& attempt) {
        return (was_sent(attempt) || attempt.blame) && !has_answer_of(trail, attempt.provider);
    });
}

Error nobody_answered(const SearchWork& work, const std::vector<Candidate>& route,
                      const std::vector<Attempt>& trail) {
    if (trail.empty()) {
        return route.empty() ? nobody_is_enabled() : deadline_passed(time_given(work), trail);
    }
    if (all_are(trail, Outcome::kSkippedCapability)) {
        return nobody_can(trail.front());
    }
    if (any_of(trail, payer_has_no_money) && !any_of(trail, was_sent)) {
        return no_money(work, trail);
    }
    if (any_of(trail, is_providers_fault)) {
        return any_of(trail, was_sent)
                   ? all_failed(trail)
                   : all_left_alone(trail, first_circuit_reopens_in(work, route));
    }
    if (any_of(trail, found_no_turn)) {
        return no_turn_in_time(trail, first_turn_in(work, route));
    }
    if (any_of(trail, found_no_money)) {
        return no_money(work, trail);
    }
    if (any_of(trail, was_given_up)) {
        return deadline_passed(time_given(work), trail);
    }
    return no_usable_key(work, route, trail);
}

Error deadline_passed(Duration given, const std::vector<Attempt>& trail) {
    const bool is_ours = 2 * time_of_providers(trail) <= given;
    return {Code::kDeadlineExceeded, is_ours ? Blame::kGateway : Blame::kProvider,
            is_ours ? "the deadline passed while the search waited for its turn; it is "
                      "lanes.<lane>.deadline_s"
                    : "the deadline passed before a provider answered; it is "
                      "lanes.<lane>.deadline_s",
            std::nullopt};
}

Duration time_given(const SearchWork& work) {
    return work.config->lanes.lane(kind_of(work.request->lane)).deadline;
}

Error refused_by(const Attempt& attempt) {
    return {Code::kQueryRejected,
            Blame::kCaller,
            attempt.provider + " refused the request: " + attempt.detail,
            {}};
}

}  // namespace sluice::web
