// Recorded providers behind one loopback port: "/serper/..." answers with serper's fixtures,
// "/tavily/..." with tavily's, whatever folders there are. What each does can be changed while it
// runs, from C++ or through HTTP:
//
//     POST   /_control   {"provider": "serper", "fixture": "quota", "times": 2}
//                        {"provider": "serper", "fault": "stall", "delay_ms": 50}
//                        {"provider": "serper"}                 back to normal
//     GET    /_requests  what was asked so far and when, as a JSON array
//     DELETE /_requests  forgets it
//
// Fixtures are files DIR/<provider>/fixtures/<name>.json, {"status", "headers", "body"}. The normal
// answer is the one called "ok".
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "support/scripted_upstream.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::test {

// Thread-safe.
class ProviderUpstream {
 public:
    struct Options {
        std::string fixtures;    // DIR
        Millis delay{0};         // before every answer, unless a behaviour has its own
        std::uint16_t port = 0;  // 0: any free one
        std::size_t max_recorded = 10'000;
    };

    // What a provider does until told otherwise.
    struct Behaviour {
        std::string fixture = "ok";
        // stall, cut, garbage, bomb, huge, slow, refuse, reset, long_header, many_headers
        std::string fault = {};
        std::optional<int> status = {};  // in place of the fixture's
        std::optional<Millis> delay = {};
        std::optional<std::size_t> times = {};  // then back to normal; nothing: until changed
    };

    // Throws std::runtime_error when there are no fixtures or one can't be read.
    explicit ProviderUpstream(Options options);

    // kNotFound for an unknown provider, kInvalidRequest for an unknown fixture or fault.
    Status behave(const std::string& provider, Behaviour behaviour);

    // "http://127.0.0.1:PORT/<provider>": what a provider's base_url is set to.
    std::string base_url(std::string_view provider) const;
    ScriptedUpstream& server() { return upstream_; }

 private:
    struct Provider {
        std::map<std::string, Scripted, std::less<>> fixtures;
        std::optional<Behaviour> behaviour;
    };

    void load(const std::string& folder);
    Scripted respond(const RecordedRequest& request);
    Scripted respond_as(Provider& provider);
    Scripted control(const RecordedRequest& request);
    Scripted list_requests() const;

    const Options options_;
    JsonReader reader_;  // of the server's thread
    std::mutex mutex_;   // guards the behaviours and the bomb
    std::map<std::string, Provider, std::less<>> providers_;
    std::optional<Scripted> bomb_;  // made when first asked for
    ScriptedUpstream upstream_;     // last: its thread uses all of the above
};

}  // namespace sluice::test
