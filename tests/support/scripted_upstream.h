// An HTTP/1.1 server on 127.0.0.1 that does what a script says: answers, delays, stalls, cuts off,
// floods or talks nonsense. It has a thread of its own; everything public may be called from any
// thread.
//
//     ScriptedUpstream upstream;
//     upstream.on("/search", Scripted::json(R"({"organic":[]})"));
//     request.url = upstream.url("/search");
#pragma once

#include "base/clock.h"
#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::test {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

struct RecordedRequest {
    std::string method;
    std::string target;  // as sent, with the query
    HeaderList headers;  // names as sent
    std::string body;
    std::uint64_t connection = 0;  // which connection it came on, from 1
    std::string peer;              // the address at its other end
    Instant received_at{};

    std::string_view path() const;
    // The first header of that name (ASCII case does not matter), or an empty view.
    std::string_view header(std::string_view name) const;
};

// What is done about one request.
struct Scripted {
    enum class Act : std::uint8_t {
        kAnswer,   // the answer below
        kStall,    // nothing, until the other side leaves
        kClose,    // the connection is closed without an answer
        kReset,    // the connection is reset (RST)
        kRaw,      // `body` is written as it is and the connection closed
        kEndless,  // a chunked answer that ends only when the other side leaves
    };

    Act act = Act::kAnswer;
    int status = 200;
    HeaderList headers = {};
    std::string body = {};
    Millis delay{0};                                   // before the first byte
    std::optional<std::size_t> cut_after = {};         // bytes, head included; then close
    std::optional<std::uint64_t> content_length = {};  // declared instead of the body's size
    std::size_t chunk_bytes = 0;                       // positive: chunked coding
    std::size_t piece_bytes = 0;                       // positive: written in such pieces ...
    Millis piece_interval{0};                          // ... with this time between them
    bool close = false;                                // Connection: close

    static Scripted json(std::string body);
    static Scripted with_status(int status, std::string body = "{}");
    static Scripted doing(Act act);
    static Scripted raw(std::string bytes);
    // Small on the wire, `inflated_bytes` of zeros when gunzipped.
    static Scripted gzip_bomb(std::size_t inflated_bytes);
};

// `bytes` in gzip format.
std::string gzip(std::string_view bytes);

class ScriptedUpstream {
 public:
    // Called on the server's thread for requests whose path no on() names.
    using Responder = std::function<Scripted(const RecordedRequest&)>;

    struct Options {
        std::uint16_t port = 0;              // 0: any free one
        std::size_t max_recorded = 10'000;   // requests kept, the oldest are dropped
        std::string unrecorded_prefix = {};  // targets that are not kept
    };

    // Listens when it returns; an address in use is an exception. Without a responder, 404.
    ScriptedUpstream();
    explicit ScriptedUpstream(Responder responder);
    ScriptedUpstream(Responder responder, Options options);
    ~ScriptedUpstream();
    ScriptedUpstream(const ScriptedUpstream&) = delete;
    ScriptedUpstream& operator=(const ScriptedUpstream&) = delete;

    std::uint16_t port() const;
    // "http://127.0.0.1:PORT" and then `target`.
    std::string url(std::string_view target = "/") const;

    // From here on requests for exactly `path` get `script`.
    void on(std::string path, Scripted script);
    void set_responder(Responder responder);
    // The next `count` connections are closed as soon as they are accepted.
    void close_on_accept(std::size_t count);

    std::vector<RecordedRequest> requests() const;  // in the order in which they were read
    std::size_t request_count() const;              // all of them, dropped ones too
    void clear_requests();
    std::size_t connections_accepted() const;
    std::size_t connections_open() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::test
