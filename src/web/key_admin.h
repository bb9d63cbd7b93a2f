// What an operator does with keys while the gateway runs: look, add, change, remove, try one. Any
// thread; the work is done on the control loop, and a change is in force for the next lease when
// its call returns.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "guard/token_bucket.h"
#include "io/http_client.h"
#include "web/config.h"
#include "web/key_store.h"
#include "web/key_watch.h"
#include "web/keys.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::web {

// What a provider made of a key.
struct KeyTest {
    enum class Verdict : std::uint8_t {
        kValid,    // it answered
        kInvalid,  // it refused the key
        kQuota,    // the key is good and its quota is used up
        kUnknown,  // the answer says nothing about the key
    };
    Verdict verdict = Verdict::kUnknown;
    Outcome outcome = Outcome::kSuccess;
    int status = 0;  // HTTP; 0: there was no answer
    Millis latency{};
    std::string detail = {};  // the provider's own words, without secret and query
};
std::string_view to_string(KeyTest::Verdict verdict);

struct KeyChange {
    KeyPatch patch;
    bool clear_penalty = false;

    KeyChange() = default;
};

// Errors beside those named are those of the store: kUnavailable and kOverloaded, with what to do.
class KeyAdmin {
 public:
    // Trials in a row, and how long until as many are free again.
    static constexpr std::int64_t kTestBurst = 10;
    static constexpr Millis kTestInterval{60'000};
    // How long a trial may take.
    static constexpr Millis kTestTimeout{15'000};

    // References outlive it. `config` gives the settings in force, on any thread.
    KeyAdmin(Executor control, KeyStore& store, KeyWatch& watch, KeyPool& pool,
             io::HttpClient& http, const Clock& clock,
             std::function<std::shared_ptr<const WebConfig>()> config);

    Task<std::vector<KeyReport>> list();
    Task<Result<KeyReport>> get(std::string id);                       // kNotFound
    Task<Result<KeyReport>> add(NewKey key);                           // as KeyStore::add()
    Task<Result<KeyReport>> change(std::string id, KeyChange change);  // as KeyStore::patch()
    Task<Status> remove(std::string id);                               // as KeyStore::remove()

    // One cheap call with this key, whatever its state; nobody is punished for how it ends. The
    // provider charges for it as for any other. kNotFound, and kRateLimited with retry_after.
    Task<Result<KeyTest>> test(std::string id);

 private:
    Task<Result<KeyReport>> get_here(std::string id);
    Task<Result<KeyReport>> add_here(NewKey key);
    Task<Result<KeyReport>> change_here(std::string id, KeyChange change);
    Task<Status> remove_here(std::string id);
    Task<Result<KeyTest>> test_here(std::string id);

    Executor control_;
    KeyStore& store_;
    KeyWatch& watch_;
    KeyPool& pool_;
    io::HttpClient& http_;
    const Clock& clock_;
    std::function<std::shared_ptr<const WebConfig>()> config_;
    guard::TokenBucket test_turns_;
    JsonReader reader_;
};

}  // namespace sluice::web
