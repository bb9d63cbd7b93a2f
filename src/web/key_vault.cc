#include "web/key_vault.h"

#include "base/text.h"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace sluice::web {

namespace {

constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kKeyIdBytes = 8;
static_assert(crypto_kdf_KEYBYTES == kKeyBytes && crypto_secretbox_KEYBYTES == kKeyBytes &&
              crypto_generichash_KEYBYTES <= kKeyBytes && kKeyBytes * 2 == kSecretsKeyDigits);

// What is derived from the secrets key, each for one use.
enum class Subkey : std::uint64_t { kBox = 1, kHash = 2, kId = 3 };
constexpr char kContext[crypto_kdf_CONTEXTBYTES + 1] = "sluicekv";

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());
}

std::string derive(const Secret& master, Subkey which, std::size_t size) {
    std::string key(size, '\0');
    crypto_kdf_derive_from_key(bytes_of(key), key.size(), static_cast<std::uint64_t>(which),
                               kContext, bytes_of(master.reveal()));
    return key;
}

Error cannot_open() {
    return Error{Code::kConflict,
                 Blame::kGateway,
                 "a stored key does not open with this secrets key, or was damaged",
                 {}};
}

}  // namespace

Result<KeyVault> KeyVault::from_text(std::string_view text) {
    const std::string_view digits = trim(text);
    std::string bytes(kKeyBytes, '\0');
    std::size_t written = 0;
    const bool is_hex = digits.size() == kSecretsKeyDigits &&
                        sodium_hex2bin(bytes_of(bytes), bytes.size(), digits.data(), digits.size(),
                                       nullptr, &written, nullptr) == 0 &&
                        written == kKeyBytes;
    const Secret master(std::move(bytes));
    if (!is_hex) {
        return Error{Code::kInvalidRequest,
                     Blame::kCaller,
                     "a secrets key is " + std::to_string(kSecretsKeyDigits) +
                         " hexadecimal digits; `openssl rand -hex 32` makes one",
                     {}};
    }
    KeyVault vault;
    vault.box_key_ = Secret(derive(master, Subkey::kBox, kKeyBytes));
    vault.hash_key_ = Secret(derive(master, Subkey::kHash, kKeyBytes));
    vault.key_id_ =
        to_hex(derive(master, Subkey::kId, crypto_kdf_BYTES_MIN)).substr(0, kKeyIdBytes);
    return vault;
}

std::string KeyVault::seal(const Secret& text, std::string_view purpose, Random& random) const {
    // The purpose is sealed along, since secretbox has no place for data that is only
    // authenticated.
    std::string plain(purpose);
    plain.append(1, '\n').append(text.reveal());
    std::string sealed(crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + plain.size(),
                       '\0');
    unsigned char* nonce = bytes_of(sealed);
    random.fill(std::as_writable_bytes(std::span(sealed.data(), crypto_secretbox_NONCEBYTES)));
    crypto_secretbox_easy(nonce + crypto_secretbox_NONCEBYTES, bytes_of(plain), plain.size(), nonce,
                          bytes_of(box_key_.reveal()));
    sodium_memzero(plain.data(), plain.size());
    return sealed;
}

Result<Secret> KeyVault::open(std::string_view sealed, std::string_view purpose) const {
    constexpr std::size_t kOverhead = crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES;
    if (sealed.size() < kOverhead) {
        return cannot_open();
    }
    std::string plain(sealed.size() - kOverhead, '\0');
    const std::string_view box = sealed.substr(crypto_secretbox_NONCEBYTES);
    const bool opened =
        crypto_secretbox_open_easy(bytes_of(plain), bytes_of(box), box.size(), bytes_of(sealed),
                                   bytes_of(box_key_.reveal())) == 0;
    const Secret whole(std::move(plain));
    const std::string_view text = whole.reveal();
    if (!opened || !text.starts_with(purpose) || text.size() <= purpose.size() ||
        text[purpose.size()] != '\n') {
        return cannot_open();
    }
    return Secret(std::string(text.substr(purpose.size() + 1)));
}

Sha256 KeyVault::digest(std::string_view provider, const Secret& secret) const {
    Sha256 digest{};
    crypto_generichash_state state;
    const unsigned char separator = '\n';
    crypto_generichash_init(&state, bytes_of(hash_key_.reveal()), kKeyBytes, digest.size());
    crypto_generichash_update(&state, bytes_of(provider), provider.size());
    crypto_generichash_update(&state, &separator, 1);
    crypto_generichash_update(&state, bytes_of(secret.reveal()), secret.reveal().size());
    crypto_generichash_final(&state, digest.data(), digest.size());
    return digest;
}

Secret make_secrets_key(Random& random) {
    std::string bytes(kKeyBytes, '\0');
    random.fill(std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
    std::string digits = to_hex(bytes);
    sodium_memzero(bytes.data(), bytes.size());
    return Secret(std::move(digits));
}

}  // namespace sluice::web
