#include "web/shared_key.h"

#include <algorithm>
#include <array>

namespace sluice::web {

namespace {

constexpr std::array kRests = {KeyStatus::kCooling, KeyStatus::kExhausted, KeyStatus::kQuarantined};

std::optional<Outcome> outcome_of(std::string_view name) {
    for (std::size_t i = 0; i < kOutcomeCount; ++i) {
        if (to_string(static_cast<Outcome>(i)) == name) {
            return static_cast<Outcome>(i);
        }
    }
    return std::nullopt;
}

// A count; never below zero, since a call may be taken back that another epoch counted.
std::int64_t count_at(const JsonValue& json, std::string_view name) {
    const auto value = json.find(name);
    return value ? value->as_integer().value_or(0) : 0;
}

std::optional<std::int64_t> instant_at(const JsonValue& json, std::string_view name) {
    const auto value = json.find(name);
    return value ? value->as_integer() : std::nullopt;
}

std::string_view period_name(const KeyRules& rules) {
    if (!rules.quota) {
        return "total";
    }
    switch (rules.quota->per) {
        case KeyQuota::Per::kDay:
            return "day";
        case KeyQuota::Per::kMonth:
            return "month";
        case KeyQuota::Per::kTotal:
            return "total";
        case KeyQuota::Per::kWindow:
            return "window";
    }
    SLUICE_ASSERT(false && "a quota period outside its enumeration");
}

void write_rules(JsonWriter& json, const KeyRules& rules) {
    json.field("id", rules.id).field("w", rules.weight).field("p", period_name(rules));
    if (!rules.account.empty()) {
        json.field("a", rules.account);
    }
    if (rules.quota) {
        json.field("q", rules.quota->limit);
        if (rules.quota->per == KeyQuota::Per::kWindow) {
            json.field("n", rules.quota->window.count());
        }
    }
}

}  // namespace

std::optional<SharedKey> read_shared_key(JsonReader& reader, std::string_view record) {
    const auto json = reader.parse(record);
    if (!json.ok() || !json->is_object()) {
        return std::nullopt;
    }
    SharedKey key;
    const std::int64_t in_flight = count_at(*json, "f");
    key.in_flight =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(in_flight, 0, kMaxKeyInFlight));
    key.used = std::max<std::int64_t>(count_at(*json, "b") + count_at(*json, "c"), 0);
    key.period_ends = instant_at(*json, "e");
    key.rests_until = instant_at(*json, "r");
    const auto status = std::ranges::find(kRests, json->string_at("s"),
                                          [](KeyStatus rest) { return to_string(rest); });
    if (status != kRests.end()) {
        key.rest_status = *status;
    }
    key.last_outcome = outcome_of(json->string_at("o"));
    key.is_let_go = json->find("off").has_value();
    return key;
}

std::string write_entry(const SharedEntry& entry) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    write_rules(json, entry.rules);
    json.field("m", entry.max_in_flight);
    if (entry.known) {
        json.key("known").begin_object();
        json.field("used", entry.known->used);
        if (entry.known->period_ends) {
            json.field("ends", *entry.known->period_ends);
        }
        if (entry.known->is_of_another_epoch) {
            json.field("before", true);
        }
        json.end_object();
    }
    if (entry.calls_to_add > 0) {
        json.field("add", entry.calls_to_add);
    }
    if (entry.ends_rest) {
        json.field("clear", true);
    }
    if (entry.rest) {
        json.key("rest").begin_object();
        json.field("status", to_string(entry.rest->status)).field("ms", entry.rest->time.count());
        json.end_object();
    }
    if (!entry.tokens.empty()) {
        json.key("held").begin_array();
        for (const std::string_view token : entry.tokens) {
            json.value(token);
        }
        json.end_array();
    }
    json.end_object();
    return text;
}

}  // namespace sluice::web
