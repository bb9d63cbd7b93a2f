#include "web/key_admin.h"

#include "web/blame.h"

#include <chrono>
#include <utility>
#include <variant>

namespace sluice::web {

namespace {

// Of a provider's answer. Its size is bounded by upstream.max_response_bytes before it gets here.
constexpr JsonLimits kAnswerLimits{.max_bytes = io::HttpClientConfig::kLargestResponseBytes,
                                   .max_depth = 64};

// What a trial asks for: short, harmless, known to every index.
constexpr std::string_view kTestQuery = "wikipedia";

Error no_such_key() {
    return Error{Code::kNotFound, Blame::kCaller, "there is no key of that id", {}};
}

KeyTest::Verdict verdict_of(const Judgement& judgement) {
    const auto* verdict = std::get_if<Verdict>(&judgement);
    if (verdict == nullptr) {
        return KeyTest::Verdict::kValid;
    }
    switch (verdict->effect) {
        case Effect::kEmpty:
        case Effect::kKeyCannot:
            return KeyTest::Verdict::kValid;
        case Effect::kQuarantine:
            return KeyTest::Verdict::kInvalid;
        case Effect::kExhaust:
            return KeyTest::Verdict::kQuota;
        case Effect::kCool:
        case Effect::kCaller:
        case Effect::kProvider:
            return KeyTest::Verdict::kUnknown;
    }
    SLUICE_ASSERT(false && "an Effect outside its enumeration");
}

}  // namespace

std::string_view to_string(KeyTest::Verdict verdict) {
    switch (verdict) {
        case KeyTest::Verdict::kValid:
            return "valid";
        case KeyTest::Verdict::kInvalid:
            return "invalid";
        case KeyTest::Verdict::kQuota:
            return "quota";
        case KeyTest::Verdict::kUnknown:
            return "unknown";
    }
    SLUICE_ASSERT(false && "a KeyTest::Verdict outside its enumeration");
}

KeyAdmin::KeyAdmin(Executor control, KeyStore& store, KeyWatch& watch, KeyPool& pool,
                   io::HttpClient& http, const Clock& clock,
                   std::function<std::shared_ptr<const WebConfig>()> config)
    : control_(std::move(control)),
      store_(store),
      watch_(watch),
      pool_(pool),
      http_(http),
      clock_(clock),
      config_(std::move(config)),
      test_turns_(guard::TokenBucketConfig{kTestBurst, kTestInterval}),
      reader_(kAnswerLimits) {}

Task<std::vector<KeyReport>> KeyAdmin::list() {
    return run_on(control_, pool_.report());
}

Task<Result<KeyReport>> KeyAdmin::get(std::string id) {
    return run_on(control_, get_here(std::move(id)));
}

Task<Result<KeyReport>> KeyAdmin::add(NewKey key) {
    return run_on(control_, add_here(std::move(key)));
}

Task<Result<KeyReport>> KeyAdmin::change(std::string id, KeyChange change) {
    return run_on(control_, change_here(std::move(id), std::move(change)));
}

Task<Status> KeyAdmin::remove(std::string id) {
    return run_on(control_, remove_here(std::move(id)));
}

Task<Result<KeyTest>> KeyAdmin::test(std::string id) {
    return run_on(control_, test_here(std::move(id)));
}

Task<Result<KeyReport>> KeyAdmin::get_here(std::string id) {
    auto report = co_await pool_.report_one(std::move(id));
    if (!report) {
        co_return no_such_key();
    }
    co_return *std::move(report);
}

Task<Result<KeyReport>> KeyAdmin::add_here(NewKey key) {
    CO_TRY(const KeyRecord record, co_await store_.add(std::move(key)));
    CO_TRY_STATUS(co_await watch_.refresh());
    co_return co_await get_here(record.id);
}

Task<Result<KeyReport>> KeyAdmin::change_here(std::string id, KeyChange change) {
    if (!change.patch.changes_nothing()) {
        CO_TRY(const KeyRecord patched, co_await store_.patch(id, std::move(change.patch)));
        SLUICE_ASSERT(patched.id == id);
        CO_TRY_STATUS(co_await watch_.refresh());
    }
    if (change.clear_penalty && !pool_.clear_rest(id)) {
        co_return no_such_key();
    }
    co_return co_await get_here(std::move(id));
}

Task<Status> KeyAdmin::remove_here(std::string id) {
    CO_TRY_STATUS(co_await store_.remove(std::move(id)));
    co_return co_await watch_.refresh();
}

Task<Result<KeyTest>> KeyAdmin::test_here(std::string id) {
    const KeyRecord* record = pool_.find(id);
    if (record == nullptr) {
        co_return no_such_key();
    }
    const Instant begun = clock_.now();
    if (!test_turns_.try_take(1, begun)) {
        const Instant next = test_turns_.earliest(1, begun).value_or(begun);
        co_return Error{Code::kRateLimited, Blame::kCaller,
                        "at most " + std::to_string(kTestBurst) +
                            " keys are tried a minute, since a trial costs a call",
                        std::chrono::ceil<Millis>(next - begun)};
    }
    const Provider& provider = *find_provider(record->provider);
    const std::optional<ProviderKey> key = pool_.secret_of(id);
    const std::shared_ptr<const WebConfig> config = config_();
    SearchRequest request;
    request.query = QueryText(std::string(kTestQuery));
    request.max_results = 1;
    const ProviderSettings& settings = config->provider(provider.spec().name);
    if (provider.spec().needs_engine && key->engine_id.empty() && settings.engine_id.empty()) {
        KeyTest untested;
        untested.detail = "it needs the id of a search engine: set its engine_id";
        untested.outcome = Outcome::kSkippedCapability;
        co_return untested;
    }
    const CallSite site{settings.base_url, clock_.wall_now(), settings.engine_id};
    io::ClientRequest call = provider.build(request, *key, site);
    call.deadline = begun + kTestTimeout;
    const Result<io::ClientResponse> response = co_await http_.send(std::move(call));

    KeyTest result;
    result.latency = std::chrono::duration_cast<Millis>(clock_.now() - begun);
    result.status = response.ok() ? response->status : 0;
    const Asked asked{provider, request, *key};
    const Judgement judgement = response.ok() ? judge(asked, *response, reader_, clock_.wall_now())
                                              : Judgement(judge_transport_error(response.error()));
    result.verdict = verdict_of(judgement);
    if (const auto* verdict = std::get_if<Verdict>(&judgement)) {
        result.outcome = verdict->outcome;
        result.detail = verdict->detail;
    }
    co_return result;
}

}  // namespace sluice::web
