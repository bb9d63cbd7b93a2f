#include "io/waiting_bytes.h"

#include <chrono>
#include <utility>

namespace sluice::io {

namespace {

constexpr Millis kUnread{1'000};
constexpr Millis kSlow{5'000};

double bytes_per_second(const WaitingReader& reader) {
    return static_cast<double>(reader.taken) / std::chrono::duration<double>(reader.held).count();
}

}  // namespace

bool WaitingBytes::holds(const HttpBody& body) const {
    const std::lock_guard lock(mutex_);
    return bodies_.contains(&body);
}

void WaitingBytes::add(const HttpBody& body) {
    const std::lock_guard lock(mutex_);
    Shared& shared = bodies_[&body];
    if (shared.holders++ == 0) {
        shared.bytes = body.memory_bytes();
        add(shared.bytes);
    }
}

void WaitingBytes::take(const HttpBody& body) {
    const std::lock_guard lock(mutex_);
    const auto found = bodies_.find(&body);
    if (--found->second.holders == 0) {
        take(found->second.bytes);
        bodies_.erase(found);
    }
}

void HeldAnswers::hold(const ResponseBatch& answers) {
    Bodies bodies = answers.bodies();
    for (const auto& body : bodies) {
        all_.add(*body);
    }
    all_.add(answers.own_bytes());
    release();
    own_ = answers.own_bytes();
    bodies_ = std::move(bodies);
}

void HeldAnswers::release() {
    for (const auto& body : bodies_) {
        all_.take(*body);
    }
    bodies_.clear();
    if (own_ > 0) {
        all_.take(std::exchange(own_, 0));
    }
}

bool may_be_cut(const WaitingReader& reader) {
    return reader.silent >= kUnread || reader.held >= kSlow;
}

bool is_cut_before(const WaitingReader& one, const WaitingReader& other) {
    const bool is_silent = one.silent >= kUnread;
    if (is_silent != (other.silent >= kUnread)) {
        return is_silent;
    }
    return is_silent ? one.silent > other.silent : bytes_per_second(one) < bytes_per_second(other);
}

}  // namespace sluice::io
