#include "web/address_limit.h"

namespace sluice::web {

bool AddressLimit::refused(std::uint64_t key, Instant now) {
    if (last_ && last_->key != key) {
        other_ = last_;
    }
    last_ = Refusal{key, now};
    return other_ && now - other_->at <= kTogether;
}

}  // namespace sluice::web
