// How a command works on provider keys: over the admin socket of the gateway that runs with a data
// directory, or over the store there where none runs.
#pragma once

#include "app/config.h"
#include "app/offline_keys.h"
#include "app/server_call.h"
#include "base/environment.h"
#include "base/result.h"

#include <memory>
#include <string>

namespace sluice::app {

// Belongs to one thread.
class KeysApi {
 public:
    // kUnavailable when a gateway is there and does not answer; other errors are those of
    // OfflineKeys. `environment` outlives it.
    static Result<KeysApi> connect(const Config& config, const Environment& environment,
                                   StoreUse use);

    bool gateway_runs() const { return offline_ == nullptr; }

    // Errors as call_server() has them.
    Result<ServerAnswer> send(std::string method, std::string target, std::string body = {});

 private:
    std::string socket_path_;
    std::unique_ptr<OfflineKeys> offline_;
};

// Whether it is an answer of success.
bool succeeded(const Result<ServerAnswer>& answer);

// What went wrong, for people: the `detail` of a problem, or the error's own message.
std::string reason_of(const Result<ServerAnswer>& answer);

// Prints what went wrong. Returns the exit code: 2 when the caller has to say something else, 1
// otherwise.
int explain(const Result<ServerAnswer>& answer);

// Where a key is found, its id as one segment of the path.
std::string key_target(const std::string& id);

// One call with the key, which its provider charges for. The answer has `result`.
Result<ServerAnswer> try_key(KeysApi& api, const std::string& id);

}  // namespace sluice::app
