#include "titles/pin.h"

#include "titles/page.h"

#include <sodium.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace sluice::titles {

namespace {

Error pin_error(Code code, Blame blame, std::string message) {
    return Error{code, blame, std::move(message), {}};
}

constexpr std::size_t kHashBytes = 32;

// What crypto_pwhash_str() writes: "$argon2id$v=19$m=65536,t=2,p=1$salt$hash".
struct Parts {
    unsigned long long passes = 0;
    std::size_t memory_kib = 0;
    std::array<unsigned char, crypto_pwhash_SALTBYTES> salt{};
    std::array<unsigned char, kHashBytes> hash{};
};

// Takes `before` and the number behind it off `rest`; false when they are not there.
template <class Number>
bool take_number(std::string_view& rest, std::string_view before, Number& number) {
    if (!rest.starts_with(before)) {
        return false;
    }
    rest.remove_prefix(before.size());
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return error == std::errc();
}

template <std::size_t kBytes>
bool read_base64(std::string_view text, std::array<unsigned char, kBytes>& out) {
    std::size_t bytes = 0;
    return sodium_base642bin(out.data(), out.size(), text.data(), text.size(), nullptr, &bytes,
                             nullptr, sodium_base64_VARIANT_ORIGINAL_NO_PADDING) == 0 &&
           bytes == out.size();
}

// Nothing for what is no such hash, or asks for more than hash_pin() does: whoever could write such
// a one would have memory, and the threads of all PINs, for as long as it says.
std::optional<Parts> parts_of(std::string_view text) {
    Parts parts;
    int lanes = 0;
    if (!take_number(text, "$argon2id$v=19$m=", parts.memory_kib) ||
        !take_number(text, ",t=", parts.passes) || !take_number(text, ",p=", lanes) || lanes != 1 ||
        !text.starts_with('$')) {
        return std::nullopt;
    }
    const std::size_t middle = text.find('$', 1);
    if (middle == std::string_view::npos || !read_base64(text.substr(1, middle - 1), parts.salt) ||
        !read_base64(text.substr(middle + 1), parts.hash)) {
        return std::nullopt;
    }
    const bool is_in_bounds = parts.passes >= crypto_pwhash_OPSLIMIT_MIN &&
                              parts.passes <= crypto_pwhash_OPSLIMIT_INTERACTIVE &&
                              parts.memory_kib >= crypto_pwhash_MEMLIMIT_MIN / 1024 &&
                              parts.memory_kib <= crypto_pwhash_MEMLIMIT_INTERACTIVE / 1024;
    return is_in_bounds ? std::optional(parts) : std::nullopt;
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

Result<bool> verify_pin(const std::string& hash, const Secret& pin) {
    const std::optional<Parts> parts = parts_of(hash);
    if (!parts) {
        return false;
    }
    std::array<unsigned char, kHashBytes> made{};
    const std::string_view text = pin.reveal();
    // crypto_pwhash_str_verify() does the same, and takes want of memory for another PIN.
    if (crypto_pwhash(made.data(), made.size(), text.data(), text.size(), parts->salt.data(),
                      parts->passes, parts->memory_kib * 1024, crypto_pwhash_ALG_ARGON2ID13) != 0) {
        return pin_error(Code::kOverloaded, Blame::kGateway, "no memory to verify a PIN with");
    }
    return sodium_memcmp(made.data(), parts->hash.data(), made.size()) == 0;
}

}  // namespace sluice::titles
