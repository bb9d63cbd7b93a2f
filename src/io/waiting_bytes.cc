#include "io/waiting_bytes.h"

#include <utility>

namespace sluice::io {

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

}  // namespace sluice::io
