#include "web/key_store.h"

#include "base/text.h"
#include "web/provider.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::web {

namespace {

Error invalid(std::string message) {
    return Error{Code::kInvalidRequest, Blame::kCaller, std::move(message), {}};
}

Status check_text(std::string_view field, std::string_view text) {
    Status status = check_key_text(text);
    if (!status.ok()) {
        return invalid(std::string(field) + ": " + status.error().message);
    }
    return status;
}

Status check_weight(std::uint32_t weight) {
    if (weight < 1 || weight > kMaxKeyWeight) {
        return invalid("weight: expected 1 to " + std::to_string(kMaxKeyWeight));
    }
    return {};
}

Status check_bounds(const std::optional<std::uint32_t>& max_in_flight,
                    const std::optional<KeyQuota>& quota) {
    if (max_in_flight && (*max_in_flight < 1 || *max_in_flight > kMaxKeyInFlight)) {
        return invalid("max_in_flight: expected 1 to " + std::to_string(kMaxKeyInFlight));
    }
    if (quota && (quota->limit < 1 || quota->limit > kMaxKeyQuota)) {
        return invalid("quota.limit: expected 1 to " + std::to_string(kMaxKeyQuota));
    }
    return {};
}

Status check_provider(const std::string& name) {
    if (find_provider(name) != nullptr) {
        return {};
    }
    std::vector<std::string_view> known;
    std::string names;
    for (const Provider* provider : all_providers()) {
        known.push_back(provider->spec().name);
        names.append(names.empty() ? "" : ", ").append(provider->spec().name);
    }
    std::string message = "provider: expected one of " + names;
    if (const auto guess = nearest(name, known)) {
        message += "; did you mean '" + std::string(*guess) + "'?";
    }
    return invalid(std::move(message));
}

// It travels in headers and URLs.
Status check_secret(const Secret& secret) {
    const std::string_view text = secret.reveal();
    const auto is_printable = [](char c) { return c > 0x20 && c < 0x7f; };
    if (text.empty() || text.size() > kMaxKeySecretBytes ||
        !std::all_of(text.begin(), text.end(), is_printable)) {
        return invalid("secret: expected 1 to " + std::to_string(kMaxKeySecretBytes) +
                       " printable ASCII characters without spaces");
    }
    return {};
}

}  // namespace

// These texts are printed by commands: what could steer a terminal stays out.
Status check_key_text(std::string_view text) {
    if (text.size() > kMaxKeyLabelBytes) {
        return invalid("expected at most " + std::to_string(kMaxKeyLabelBytes) + " bytes");
    }
    if (!is_valid_utf8(text) || has_control_characters(text)) {
        return invalid("expected UTF-8 text without control characters");
    }
    return {};
}

bool KeyPatch::changes_nothing() const {
    return !state && !label && !account && !weight && !max_in_flight && !quota && !engine_id;
}

Status validate(const NewKey& key) {
    TRY_STATUS(check_provider(key.provider));
    TRY_STATUS(check_secret(key.secret));
    TRY_STATUS(check_text("label", key.label));
    TRY_STATUS(check_text("account", key.account));
    TRY_STATUS(check_text("engine_id", key.engine_id));
    TRY_STATUS(check_weight(key.weight));
    return check_bounds(key.max_in_flight, key.quota);
}

Status validate(const KeyPatch& patch) {
    TRY_STATUS(check_text("label", patch.label.value_or("")));
    TRY_STATUS(check_text("account", patch.account.value_or("")));
    TRY_STATUS(check_text("engine_id", patch.engine_id.value_or("")));
    TRY_STATUS(check_weight(patch.weight.value_or(1)));
    return check_bounds(patch.max_in_flight.value_or(std::nullopt),
                        patch.quota.value_or(std::nullopt));
}

}  // namespace sluice::web
