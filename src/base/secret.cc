#include "base/secret.h"

#include <sodium.h>

namespace sluice {

Secret::Secret(Secret&& other) noexcept : text_(std::move(other.text_)) {
    // A short string is copied by a move: the source would keep the secret.
    other.wipe();
}

Secret& Secret::operator=(const Secret& other) {
    if (this != &other) {
        wipe();
        text_ = other.text_;
    }
    return *this;
}

Secret& Secret::operator=(Secret&& other) noexcept {
    if (this != &other) {
        wipe();
        text_ = std::move(other.text_);
        other.wipe();
    }
    return *this;
}

Secret::~Secret() {
    wipe();
}

void Secret::wipe() {
    text_.resize(text_.capacity());
    sodium_memzero(text_.data(), text_.size());
    text_.clear();
}

std::string Secret::last4() const {
    return text_.size() < 12 ? std::string() : text_.substr(text_.size() - 4);
}

bool Secret::equals(std::string_view other) const {
    return constant_time_equal(text_, other);
}

bool constant_time_equal(std::string_view a, std::string_view b) {
    return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace sluice
