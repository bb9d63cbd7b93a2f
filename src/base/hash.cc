#include "base/hash.h"

#include "base/result.h"

#include <openssl/evp.h>

#include <memory>

namespace sluice {

namespace {

struct FreeContext {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// EVP_sha256() would look the implementation up in OpenSSL's providers, under a lock, at each call.
const EVP_MD* fetched_sha256() {
    static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    SLUICE_ASSERT(algorithm != nullptr);
    return algorithm;
}

EVP_MD_CTX* thread_context() {
    thread_local const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
    SLUICE_ASSERT(context != nullptr);
    return context.get();
}

}  // namespace

Sha256 sha256(std::string_view bytes) {
    Sha256 digest;
    EVP_MD_CTX* const context = thread_context();
    unsigned int length = 0;
    SLUICE_ASSERT(EVP_DigestInit_ex2(context, fetched_sha256(), nullptr) == 1);
    SLUICE_ASSERT(EVP_DigestUpdate(context, bytes.data(), bytes.size()) == 1);
    SLUICE_ASSERT(EVP_DigestFinal_ex(context, digest.data(), &length) == 1);
    SLUICE_ASSERT(length == digest.size());
    return digest;
}

std::string to_hex(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text(bytes.size() * 2, '\0');
    std::size_t at = 0;
    for (const char c : bytes) {
        const auto byte = static_cast<std::uint8_t>(c);
        text[at++] = kDigits[byte >> 4];
        text[at++] = kDigits[byte & 15];
    }
    return text;
}

std::string to_hex(const Sha256& digest) {
    return to_hex(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

}  // namespace sluice
