// Any bytes as a body of the keys API, and as a secrets key and a path. Whatever is accepted keeps
// to the limits that the store and the rotation rely on.
#include "base/result.h"
#include "base/text.h"
#include "surface/common/router.h"
#include "surface/rest/key_request.h"
#include "surface/rest/keys.h"
#include "web/key_vault.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using namespace sluice;

void check_error(const Error& error) {
    SLUICE_ASSERT(error.blame == Blame::kCaller);
    SLUICE_ASSERT(is_valid_utf8(error.message));
}

void check_bounds(std::uint32_t weight, const std::optional<std::uint32_t>& max_in_flight,
                  const std::optional<web::KeyQuota>& quota) {
    SLUICE_ASSERT(weight >= 1 && weight <= web::kMaxKeyWeight);
    SLUICE_ASSERT(!max_in_flight ||
                  (*max_in_flight >= 1 && *max_in_flight <= web::kMaxKeyInFlight));
    SLUICE_ASSERT(!quota || (quota->limit >= 1 && quota->limit <= web::kMaxKeyQuota));
}

void check_text(std::string_view text) {
    SLUICE_ASSERT(is_valid_utf8(text) && text.size() <= web::kMaxKeyLabelBytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto key = surface::parse_new_key(bytes);
    if (key.ok()) {
        SLUICE_ASSERT(web::find_provider(key->provider) != nullptr);
        SLUICE_ASSERT(!key->secret.empty() &&
                      key->secret.reveal().size() <= web::kMaxKeySecretBytes);
        check_text(key->label);
        check_text(key->account);
        check_bounds(key->weight, key->max_in_flight, key->quota);
    } else {
        check_error(key.error());
    }
    const auto change = surface::parse_key_change(bytes);
    if (change.ok()) {
        const web::KeyPatch& patch = change->patch;
        SLUICE_ASSERT(change->clear_penalty || !patch.changes_nothing());
        check_text(patch.label.value_or(""));
        check_bounds(patch.weight.value_or(1), patch.max_in_flight.value_or(std::nullopt),
                     patch.quota.value_or(std::nullopt));
    } else {
        check_error(change.error());
    }
    for (const std::string_view pattern : {surface::kKeyPath, surface::kKeyTestPath}) {
        const auto id = surface::path_parameter(pattern, bytes);
        SLUICE_ASSERT(!id || (!id->empty() && id->find('/') == std::string_view::npos));
    }
    (void)web::KeyVault::from_text(bytes);
    return 0;
}
