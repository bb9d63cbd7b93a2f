#include "titles/pin.h"

#include "titles/page.h"

#include <sodium.h>

#include <array>

namespace sluice::titles {

namespace {

Error pin_error(Code code, Blame blame, std::string message) {
    return Error{code, blame, std::move(message), {}};
}

}  // namespace

Result<std::string> hash_pin(const Secret& pin) {
    const std::string_view text = pin.reveal();
    if (text.size() < kMinPinBytes || text.size() > kMaxPinBytes) {
        return pin_error(Code::kInvalidRequest, Blame::kCaller,
                         "pin: expected " + std::to_string(kMinPinBytes) + " to " +
                             std::to_string(kMaxPinBytes) + " bytes");
    }
    std::array<char, crypto_pwhash_STRBYTES> hash{};
    if (crypto_pwhash_str(hash.data(), text.data(), text.size(), crypto_pwhash_OPSLIMIT_INTERACTIVE,
                          crypto_pwhash_MEMLIMIT_INTERACTIVE) != 0) {
        return pin_error(Code::kOverloaded, Blame::kGateway, "no memory to hash a PIN with");
    }
    return std::string(hash.data());
}

bool verify_pin(const std::string& hash, const Secret& pin) {
    const std::string_view text = pin.reveal();
    return crypto_pwhash_str_verify(hash.c_str(), text.data(), text.size()) == 0;
}

}  // namespace sluice::titles
