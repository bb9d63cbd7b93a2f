// The doors to the provider keys: /v1/keys. No answer ever holds a secret.
#pragma once

#include "access/access.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/request_context.h"
#include "base/task.h"
#include "io/http_message.h"
#include "surface/common/router.h"
#include "web/key_admin.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::surface {

inline constexpr std::string_view kKeyPath = "/v1/keys/{id}";
inline constexpr std::string_view kKeyTestPath = "/v1/keys/{id}/test";

// Any thread. All of it needs the scope admin; a refusal is a problem as surface/common/errors.h
// has it: 404 for an id that is not known, 409 for a key that is there already, 503 when the store
// is away (searching goes on with the keys last known).
class KeysDoor {
 public:
    // References outlive it.
    KeysDoor(web::KeyAdmin& keys, access::Access& access, const Clock& clock);

    io::HttpReply list(const io::HttpRequest& request);    // {"keys": [record, ...]}
    io::HttpReply add(const io::HttpRequest& request);     // 201, the record
    io::HttpReply get(const io::HttpRequest& request);     // the record
    io::HttpReply change(const io::HttpRequest& request);  // the record as it is afterwards
    io::HttpReply remove(const io::HttpRequest& request);  // 204
    // 409 for a key without the engine that it needs, 402 when there is no money for the trial.
    // {"id", "result": "valid|invalid|quota|unknown", "outcome", "status", "latency_ms", "detail"}
    io::HttpReply test(const io::HttpRequest& request);

 private:
    Result<access::Caller> require_admin(const io::HttpRequest& request) const;

    web::KeyAdmin& keys_;
    access::Access& access_;
    const Clock& clock_;
};

// The routes of this door, which outlives them.
std::vector<Route> key_routes(KeysDoor& keys);

// What "until" counts from.
struct Moment {
    Instant now;
    WallTime wall;
};

// One record of the keys API. Members without a value are left out, but `until` and
// `last_outcome`, which are null then.
void write_key_record(JsonWriter& json, const web::KeyReport& report, const Moment& moment);

}  // namespace sluice::surface
