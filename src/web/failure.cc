#include "web/failure.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace sluice::web {

namespace {

// "serper: auth_failed, tavily: every key is resting". A skip is told in its own words.
std::string names_and_reasons(const std::vector<Attempt>& trail) {
    std::string text;
    for (const Attempt& attempt : trail) {
        const bool skipped = !was_called(attempt.outcome) && !attempt.detail.empty();
        text.append(text.empty() ? "" : ", ").append(attempt.provider).append(": ");
        text.append(skipped ? std::string_view(attempt.detail) : to_string(attempt.outcome));
    }
    return text;
}

bool all_are(const std::vector<Attempt>& trail, Outcome outcome) {
    return std::all_of(trail.begin(), trail.end(),
                       [&](const Attempt& attempt) { return attempt.outcome == outcome; });
}

bool is_providers_fault(const Attempt& attempt) {
    return attempt.outcome != Outcome::kSkippedNoKey && attempt.blame &&
           *attempt.blame != Blame::kKey;
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
        if (const auto back = work.call.key_back_at(candidate.state->name())) {
            earliest.add(*back - now);
        }
    }
    return earliest.millis();
}

std::optional<Millis> first_circuit_reopens_in(const SearchWork& work,
                                               const std::vector<Candidate>& route) {
    Earliest earliest;
    for (const Candidate& candidate : route) {
        earliest.add(candidate.state->circuit(work.clock.now()).reopens_in);
    }
    return earliest.millis();
}

// Keys are what is missing: none, or none that may be used now.
Error no_usable_key(const std::vector<Attempt>& trail, std::optional<Millis> retry_after) {
    std::string message = "no provider of the route has a usable key (" + names_and_reasons(trail) +
                          "); set a good one in " + key_variables() + " and start again";
    if (retry_after) {
        message += ", or wait until one that rests is back";
    }
    return {Code::kNoUsableKey, Blame::kKey, std::move(message), retry_after};
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

// Nobody was called: each is left alone after earlier failures, or can't be asked anyway.
Error all_left_alone(const std::vector<Attempt>& trail, std::optional<Millis> reopens_in) {
    return {Code::kUpstreamFailed, Blame::kProvider,
            "no provider of the route may be called now (" + names_and_reasons(trail) +
                "); they are tried again by themselves, see circuits in /v1/status",
            reopens_in.value_or(kRetryAfterFailure)};
}

}  // namespace

bool somebody_failed(const std::vector<Attempt>& trail) {
    return std::any_of(trail.begin(), trail.end(),
                       [](const Attempt& attempt) { return attempt.blame.has_value(); });
}

Error nobody_answered(const SearchWork& work, const std::vector<Candidate>& route,
                      const std::vector<Attempt>& trail) {
    if (trail.empty()) {
        return nobody_is_enabled();
    }
    if (all_are(trail, Outcome::kSkippedCapability)) {
        return nobody_can(trail.front());
    }
    if (std::none_of(trail.begin(), trail.end(), is_providers_fault)) {
        return no_usable_key(trail, first_key_back_in(work, route));
    }
    const bool called = std::any_of(trail.begin(), trail.end(), [](const Attempt& attempt) {
        return was_called(attempt.outcome);
    });
    if (!called) {
        return all_left_alone(trail, first_circuit_reopens_in(work, route));
    }
    return {Code::kUpstreamFailed, Blame::kProvider,
            "every provider failed (" + names_and_reasons(trail) + ")", kRetryAfterFailure};
}

Error deadline_passed() {
    return {Code::kDeadlineExceeded,
            Blame::kProvider,
            "the deadline passed before a provider answered; it is lanes.<lane>.deadline_s",
            {}};
}

Error refused_by(const Attempt& attempt) {
    return {Code::kQueryRejected,
            Blame::kCaller,
            attempt.provider + " refused the request: " + attempt.detail,
            {}};
}

}  // namespace sluice::web
