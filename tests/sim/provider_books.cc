#include "sim/provider_books.h"

#include <algorithm>

namespace sluice::sim {

CircuitBooks::Call CircuitBooks::start_call() {
    Call call{era_, false};
    if (reopens_at_) {
        violations_.check(clock_.now() >= *reopens_at_, "a call while the circuit is open",
                          provider_);
        violations_.check(!probing_, "a second probe of a circuit", provider_);
        probing_ = true;
        call.is_probe = true;
    }
    return call;
}

void CircuitBooks::end_call(const Call& call, Said said) {
    if (call.is_probe) {
        probing_ = false;
    }
    if (call.era != era_ || said == Said::kNothing) {
        return;
    }
    if (said == Said::kWell) {
        failures_ = 0;
        if (call.is_probe) {
            reopens_at_.reset();
            open_for_ = Duration::zero();
            era_ += 1;
        }
        return;
    }
    failures_ += 1;
    if (call.is_probe || failures_ >= config_.failure_threshold) {
        open();
    }
}

void CircuitBooks::open() {
    open_for_ = open_for_ == Duration::zero()
                    ? Duration(config_.open_for)
                    : std::min<Duration>(open_for_ * 2, config_.max_open_for);
    reopens_at_ = clock_.now() + open_for_;
    failures_ = 0;
    era_ += 1;
    trips_ += 1;
}

void RateBooks::set(const web::RateLimit& limit, Millis settling) {
    limit_ = limit;
    since_ = clock_.now() + settling;
    full_at_ = since_;
}

// In whatever span of time: a full bucket, and what flowed in meanwhile.
void RateBooks::start_call() {
    const Instant now = clock_.now();
    if (limit_.tokens == 0 || now < since_) {
        return;
    }
    const Duration per_token = Duration(limit_.interval) / limit_.tokens;
    full_at_ = std::max(full_at_, now) + per_token;
    violations_.check(full_at_ - now <= limit_.tokens * per_token,
                      "more calls than the rate allows", provider_);
}

void RateBooks::take_back() {
    if (limit_.tokens > 0 && full_at_ > clock_.now()) {
        full_at_ -= Duration(limit_.interval) / limit_.tokens;
    }
}

}  // namespace sluice::sim
