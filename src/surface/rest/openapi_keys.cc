#include "surface/rest/openapi_keys.h"

#include "surface/rest/keys.h"
#include "surface/rest/openapi_schema.h"
#include "web/key_types.h"

#include <string_view>

namespace sluice::surface {

namespace {

constexpr std::string_view kText = R"("type":"string")";
constexpr std::string_view kCount = R"("type":"integer","minimum":0)";
constexpr std::string_view kWeight = R"("type":"integer","minimum":1,"maximum":100)";
constexpr std::string_view kInFlight = R"("type":["integer","null"],"minimum":1,"maximum":1000)";
constexpr std::string_view kState = R"("type":"string","enum":["active","disabled"])";
constexpr std::string_view kStatus =
    R"("type":"string","enum":["available","cooling","exhausted","quarantined","saturated"])";
constexpr std::string_view kQuota =
    R"("type":["object","null"],"additionalProperties":false,"required":["limit","per"],)"
    R"("properties":{"limit":{"type":"integer","minimum":1},)"
    R"("per":{"type":"string","pattern":"^(day|month|total|[0-9.]+(ms|s|m|h|d)?)$"}})";
constexpr std::string_view kResult =
    R"("type":"string","enum":["valid","invalid","quota","unknown"])";
constexpr std::string_view kTextOrNull = R"("type":["string","null"])";
static_assert(web::kMaxKeyWeight == 100 && web::kMaxKeyInFlight == 1'000);

constexpr std::string_view kAboutAccount =
    "Keys of a provider with the same account share its quota there.";
constexpr std::string_view kAboutQuota =
    "Our own bound on its calls in a day or month of UTC, in all, or in a window such as 1h that "
    "begins with a call; null for none.";
constexpr std::string_view kAboutEngine = "Of a provider that searches by an engine.";

constexpr Property kKey[] = {
    {"id", kText, "Stable and not secret: how traces and logs name it."},
    {"provider", kText, "Whose key it is."},
    {"label", kText, "For people."},
    {"account", kText, kAboutAccount},
    {"last4", kText, "The end of the secret; empty when that is too short to show any of it."},
    {"state", kState, "What an operator decided."},
    {"status", kStatus, "How it fares right now."},
    {"until", kTextOrNull, "When a rest ends, RFC 3339; null when none does."},
    {"in_flight", kCount, "Calls under way."},
    {"max_in_flight", kCount, "Calls at once, at most."},
    {"weight", kWeight, "Its share in the rotation `weighted`."},
    {"quota", kQuota, "Our own bound on its calls in a period; left out when there is none."},
    {"used", kCount, "Calls in the quota's period; of all time without a quota."},
    {"engine_id", kText, kAboutEngine},
    {"last_outcome", kTextOrNull, "How its last call ended, as attempts have it."},
    {"created_at", kText, "RFC 3339."},
};

constexpr Property kNewKey[] = {
    {"provider", kText, "Whose key it is."},
    {"secret", kText, "The key itself. It is stored encrypted and never shown again."},
    {"label", kText, "For people."},
    {"account", kText, kAboutAccount},
    {"weight", kWeight, "Its share in the rotation `weighted`."},
    {"max_in_flight", kInFlight, "Calls at once; null for `keys.max_in_flight`."},
    {"quota", kQuota, kAboutQuota},
    {"engine_id", kText, kAboutEngine},
};

constexpr Property kKeyChange[] = {
    {"state", kState, "A disabled key is not used."},
    {"weight", kWeight, "Its share in the rotation `weighted`."},
    {"label", kText, "For people."},
    {"account", kText, kAboutAccount},
    {"quota", kQuota, kAboutQuota},
    {"max_in_flight", kInFlight, "Calls at once; null for `keys.max_in_flight`."},
    {"engine_id", kText, kAboutEngine},
    {"clear_penalty", R"("type":"boolean")", "Ends whatever it rests for."},
};

constexpr Property kKeyTest[] = {
    {"id", kText, "The key."},
    {"result", kResult, "What the provider made of it."},
    {"outcome", kText, "How the call ended, as attempts have it."},
    {"status", kCount, "HTTP status, where there was an answer."},
    {"latency_ms", kCount, "How long it took."},
    {"detail", kText, "The provider's own words, shortened."},
};

constexpr Operation kAll[] = {
    {"get", "listKeys", "Every provider key and how it fares.", "", "200", "KeyList"},
    {"post", "addKey", "Add a key; it is in force at once.", "NewKey", "201", "Key"},
};
constexpr Operation kOne[] = {
    {"get", "getKey", "One key.", "", "200", "Key"},
    {"patch", "changeKey", "Change a key; in force for the next call.", "KeyChange", "200", "Key"},
    {"delete", "removeKey", "Forget a key; it stays away although the environment names it.", "",
     "204", ""},
};
constexpr Operation kTest[] = {
    {"post", "testKey", "Try a key with one call, which the provider charges for.", "", "200",
     "KeyTest"},
};

}  // namespace

void write_key_paths(JsonWriter& json) {
    write_path(json, "/v1/keys", kAll);
    write_path(json, kKeyPath, kOne);
    write_path(json, kKeyTestPath, kTest);
}

void write_key_schemas(JsonWriter& json) {
    json.key("KeyList").raw(R"({"type":"object","properties":{"keys":{"type":"array",)"
                            R"("items":{"$ref":"#/components/schemas/Key"}}}})");
    write_schema(json, "Key", kKey, "");
    write_schema(json, "NewKey", kNewKey, R"(["provider","secret"])");
    write_schema(json, "KeyChange", kKeyChange, "[]");
    write_schema(json, "KeyTest", kKeyTest, "");
}

}  // namespace sluice::surface
