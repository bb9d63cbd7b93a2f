#include "surface/rest/key_request.h"

#include "base/json.h"
#include "surface/common/json_fields.h"
#include "surface/common/responses.h"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice::surface {

namespace {

using web::KeyQuota;

// The server has bounded the size of a body by server.max_body_bytes before it gets here.
constexpr JsonLimits kBodyLimits{.max_bytes = std::size_t{1} << 30, .max_depth = 4};

Result<std::uint32_t> weight_of(const JsonValue& value) {
    TRY(const std::int64_t number, number_of("weight", value, web::kMaxKeyWeight));
    return static_cast<std::uint32_t>(number);
}

// null: no bound of its own.
Result<std::optional<std::uint32_t>> max_in_flight_of(const JsonValue& value) {
    if (value.is_null()) {
        return std::optional<std::uint32_t>();
    }
    TRY(const std::int64_t number, number_of("max_in_flight", value, web::kMaxKeyInFlight));
    return std::optional(static_cast<std::uint32_t>(number));
}

// null: none.
Result<std::optional<KeyQuota>> quota_of(const JsonValue& value) {
    if (value.is_null()) {
        return std::optional<KeyQuota>();
    }
    constexpr std::string_view kForm = "{\"limit\": 1000, \"per\": \"day\"}, or null for none";
    if (!value.is_object()) {
        return wrong_field("quota", kForm);
    }
    std::optional<std::int64_t> limit;
    std::optional<std::string_view> period;
    for (const auto& [name, member] : value.members()) {
        if (name == "limit") {
            TRY(limit, number_of("quota.limit", member, web::kMaxKeyQuota));
        } else if (name == "per") {
            period = member.as_string().value_or("");
        } else {
            return unknown_field(name, {"limit", "per"});
        }
    }
    if (!limit || !period) {
        return wrong_field("quota", kForm);
    }
    std::optional<KeyQuota> quota = web::make_quota(*limit, *period);
    if (!quota) {
        return wrong_field("quota.per",
                           "one of: day month total, or a window from 1s to 366d such as 1h");
    }
    return quota;
}

template <class Target>
Status read_body(std::string_view body, std::span<const JsonField<Target>> fields, Target& target) {
    // Not kept for the next body: its buffers hold a secret.
    JsonReader reader(kBodyLimits);
    return read_fields(reader, body, fields, target);
}

Status keep_secret(web::NewKey& key, const JsonValue& value) {
    TRY(std::string text, text_of("secret", value));
    key.secret = Secret(std::move(text));
    return {};
}

Result<std::string> provider_of(const JsonValue& value) {
    return text_of("provider", value);
}
Result<std::string> label_of(const JsonValue& value) {
    return text_of("label", value);
}
Result<std::string> account_of(const JsonValue& value) {
    return text_of("account", value);
}
Result<std::string> engine_id_of(const JsonValue& value) {
    return text_of("engine_id", value);
}

constexpr JsonField<web::NewKey> kNewKeyFields[] = {
    {"provider", keep<web::NewKey, provider_of, &web::NewKey::provider>},
    {"secret", keep_secret},
    {"label", keep<web::NewKey, label_of, &web::NewKey::label>},
    {"account", keep<web::NewKey, account_of, &web::NewKey::account>},
    {"weight", keep<web::NewKey, weight_of, &web::NewKey::weight>},
    {"max_in_flight", keep<web::NewKey, max_in_flight_of, &web::NewKey::max_in_flight>},
    {"quota", keep<web::NewKey, quota_of, &web::NewKey::quota>},
    {"engine_id", keep<web::NewKey, engine_id_of, &web::NewKey::engine_id>},
};

Status keep_state(web::KeyChange& change, const JsonValue& value) {
    const std::string_view word = value.as_string().value_or("");
    for (const auto state : {web::KeyState::kActive, web::KeyState::kDisabled}) {
        if (word == to_string(state)) {
            change.patch.state = state;
            return {};
        }
    }
    return wrong_field("state", "active or disabled");
}

Status keep_clear_penalty(web::KeyChange& change, const JsonValue& value) {
    TRY(change.clear_penalty, boolean_of("clear_penalty", value));
    return {};
}

template <auto Read, auto Member>
Status keep_in_patch(web::KeyChange& change, const JsonValue& value) {
    return keep<web::KeyPatch, Read, Member>(change.patch, value);
}

constexpr JsonField<web::KeyChange> kChangeFields[] = {
    {"state", keep_state},
    {"weight", keep_in_patch<weight_of, &web::KeyPatch::weight>},
    {"label", keep_in_patch<label_of, &web::KeyPatch::label>},
    {"account", keep_in_patch<account_of, &web::KeyPatch::account>},
    {"quota", keep_in_patch<quota_of, &web::KeyPatch::quota>},
    {"max_in_flight", keep_in_patch<max_in_flight_of, &web::KeyPatch::max_in_flight>},
    {"engine_id", keep_in_patch<engine_id_of, &web::KeyPatch::engine_id>},
    {"clear_penalty", keep_clear_penalty},
};

}  // namespace

Result<web::NewKey> parse_new_key(std::string_view body) {
    web::NewKey key;
    TRY_STATUS(read_body<web::NewKey>(body, kNewKeyFields, key));
    if (key.provider.empty()) {
        return invalid_request("provider: required");
    }
    if (key.secret.empty()) {
        return invalid_request("secret: required");
    }
    TRY_STATUS(validate(key));
    return key;
}

Result<web::KeyChange> parse_key_change(std::string_view body) {
    web::KeyChange change;
    TRY_STATUS(read_body<web::KeyChange>(body, kChangeFields, change));
    if (change.patch.changes_nothing() && !change.clear_penalty) {
        return invalid_request(
            "expected at least one of: state, weight, label, account, quota, max_in_flight, "
            "engine_id, clear_penalty");
    }
    TRY_STATUS(validate(change.patch));
    return change;
}

}  // namespace sluice::surface
