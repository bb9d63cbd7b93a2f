#include "app/commands/keys_api.h"

#include "app/commands/common.h"
#include "app/wire.h"
#include "base/json.h"
#include "base/text.h"

#include <string_view>
#include <utility>

namespace sluice::app {

namespace {

// How long a gateway may take to say that it is there.
constexpr Millis kProbeTimeout{3'000};

}  // namespace

Result<KeysApi> KeysApi::connect(const Config& config, const Environment& environment,
                                 StoreUse use) {
    KeysApi api;
    ServerCall probe;
    probe.socket_path = admin_socket_path(config.data_dir);
    probe.target = "/healthz";
    probe.timeout = kProbeTimeout;
    const Result<ServerAnswer> found = call_server(probe);
    if (found.ok()) {
        api.socket_path_ = probe.socket_path;
        return api;
    }
    // A gateway that is there and does not answer still has the store in its hands.
    if (found.error().code != Code::kNotFound) {
        return found.error();
    }
    TRY(api.offline_, OfflineKeys::open(config, environment, use));
    return api;
}

Result<ServerAnswer> KeysApi::send(std::string method, std::string target, std::string body) {
    ServerCall call;
    call.socket_path = socket_path_;
    call.method = std::move(method);
    call.target = std::move(target);
    call.body = std::move(body);
    if (offline_) {
        return offline_->answer(call);
    }
    return call_server(call);
}

bool succeeded(const Result<ServerAnswer>& answer) {
    return answer.ok() && answer->status >= 200 && answer->status < 300;
}

std::string reason_of(const Result<ServerAnswer>& answer) {
    if (!answer.ok()) {
        return answer.error().message;
    }
    JsonReader reader;
    const auto body = reader.parse(answer->body);
    const std::string_view detail = body.ok() ? body->string_at("detail") : std::string_view();
    return detail.empty() ? "the gateway answered " + std::to_string(answer->status)
                          : std::string(detail);
}

int explain(const Result<ServerAnswer>& answer) {
    const bool is_unknown = answer.ok() && answer->status == 404;
    print_error(reason_of(answer) + (is_unknown ? "; `sluice keys list` shows every id" : ""));
    return answer.ok() && answer->status == 400 ? 2 : 1;
}

std::string key_target(const std::string& id) {
    return "/v1/keys/" + percent_encode(id);
}

Result<ServerAnswer> try_key(KeysApi& api, const std::string& id) {
    return api.send("POST", key_target(id) + "/test");
}

}  // namespace sluice::app
