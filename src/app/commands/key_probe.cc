#include "app/commands/key_probe.h"

#include "access/spending.h"
#include "app/commands/common.h"
#include "app/private_loop.h"
#include "base/clock.h"
#include "web/key_trial.h"
#include "web/provider.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace sluice::app {

Result<std::vector<ProbedKey>> keys_to_probe(KeysApi& api, const Config& config) {
    const Result<ServerAnswer> answer = api.send("GET", "/v1/keys");
    if (!succeeded(answer)) {
        return Error{Code::kUnavailable, Blame::kGateway, reason_of(answer), {}};
    }
    JsonReader reader({.max_bytes = kMaxServerAnswerBytes, .max_depth = 8});
    TRY(const JsonValue body, reader.parse(answer->body));
    const auto list = body.find("keys");
    if (!list) {
        return Error{Code::kUnavailable, Blame::kGateway, "the answer is not a list of keys", {}};
    }
    std::vector<ProbedKey> keys;
    for (const JsonValue& record : list->elements()) {
        const std::string_view name = record.string_at("provider");
        const web::Provider* provider = web::find_provider(name);
        if (provider == nullptr || record.string_at("state") != "active" ||
            !config.web.provider(name).enabled) {
            continue;
        }
        ProbedKey key;
        key.id = record.string_at("id");
        key.provider = name;
        key.last4 = record.string_at("last4");
        key.expected_micro_usd =
            web::KeyTrial::price_of(*provider, config.web.provider(name)).micro_usd;
        keys.push_back(std::move(key));
    }
    return keys;
}

std::string announce(const std::vector<ProbedKey>& keys) {
    std::int64_t sum = 0;
    for (const ProbedKey& key : keys) {
        sum = access::add_saturating(sum, key.expected_micro_usd);
    }
    return std::to_string(keys.size()) + (keys.size() == 1 ? " call" : " calls") +
           ", one with each key, about $" + access::format_usd(sum);
}

namespace {

// Longer than a gateway makes anybody wait for a trial: what takes longer is another refusal.
constexpr Millis kLongestWait{60'000};
// Of one key: others may try keys meanwhile, and take the turn that it waits for.
constexpr int kMostWaits = 10;

// How long a refusal for too many trials asks to wait.
std::optional<Millis> wait_before_next(const Result<ServerAnswer>& answer) {
    if (!answer.ok() || answer->status != 429) {
        return std::nullopt;
    }
    JsonReader reader;
    const auto body = reader.parse(answer->body);
    if (!body.ok() || body->string_at("code") != to_string(Code::kRateLimited)) {
        return std::nullopt;
    }
    const auto millis = body->find("retry_after_ms");
    const Millis wait(millis ? millis->as_integer().value_or(0) : 0);
    return wait > Millis::zero() && wait <= kLongestWait ? std::optional(wait) : std::nullopt;
}

Result<ServerAnswer> try_in_turn(KeysApi& api, const std::string& id, const std::string& progress) {
    for (int waits_left = kMostWaits;; --waits_left) {
        Result<ServerAnswer> answer = try_key(api, id);
        const auto wait = wait_before_next(answer);
        if (!wait || waits_left == 0) {
            return answer;
        }
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(*wait).count();
        print_to_stderr(progress + " tried; the next one in " + std::to_string(seconds) + " s\n");
        SystemClock clock;
        PrivateLoop().run(clock.sleep_until(clock.now() + *wait));
    }
}

}  // namespace

void probe(KeysApi& api, std::vector<ProbedKey>& keys) {
    std::size_t tried = 0;
    for (ProbedKey& key : keys) {
        const Result<ServerAnswer> answer =
            try_in_turn(api, key.id, std::to_string(tried) + " of " + std::to_string(keys.size()));
        tried += 1;
        if (!succeeded(answer)) {
            key.result = "not_tried";
            key.detail = reason_of(answer);
            continue;
        }
        JsonReader reader;
        const auto body = reader.parse(answer->body);
        if (!body.ok()) {
            key.result = "unknown";
            continue;
        }
        key.result = body->string_at("result");
        key.detail = body->string_at("detail");
        const auto latency = body->find("latency_ms");
        key.latency_ms = latency ? latency->as_integer().value_or(0) : 0;
    }
}

std::string probe_table(const std::vector<ProbedKey>& keys) {
    std::vector<std::vector<std::string>> rows = {
        {"ID", "PROVIDER", "LAST4", "RESULT", "LATENCY", "DETAIL"}};
    for (const ProbedKey& key : keys) {
        rows.push_back({key.id, key.provider, key.last4, key.result,
                        std::to_string(key.latency_ms) + " ms",
                        key.detail.empty() ? "-" : key.detail});
    }
    return table(rows);
}

void write_probe(JsonWriter& json, const std::vector<ProbedKey>& keys) {
    json.begin_array();
    for (const ProbedKey& key : keys) {
        json.begin_object().field("id", key.id).field("provider", key.provider);
        json.field("last4", key.last4).field("result", key.result);
        json.field("latency_ms", key.latency_ms);
        if (!key.detail.empty()) {
            json.field("detail", key.detail);
        }
        json.end_object();
    }
    json.end_array();
}

}  // namespace sluice::app
