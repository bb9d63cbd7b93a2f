// The parts of HTTP/1.1 that are read from a connection: request heads and chunked bodies. Bytes
// in, views out; no sockets and no state beyond what these types hold. Everything refused here is
// named by a Code, so that the server can answer before it closes.
#pragma once

#include "base/result.h"
#include "io/http_message.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {

inline constexpr std::size_t kMaxHeaderFields = 128;

struct HeadLimits {
    std::size_t max_header_bytes = 16 * 1024;  // request line and fields together
    std::size_t max_target_bytes = 8 * 1024;
};

// A parsed head. Views point into the bytes that were parsed. Reusable: parsing clears it and keeps
// its memory.
struct RequestHead {
    Method method = Method::kOther;
    std::string_view method_text;
    std::string_view target;
    std::string_view path;
    std::string_view query;
    std::vector<HeaderField> fields;
    std::string_view traceparent;  // empty when the field is absent
    std::uint64_t content_length = 0;
    bool http11 = true;      // else HTTP/1.0
    bool keep_alive = true;  // what the client asked for
    bool chunked = false;    // the body is in chunks; else it has content_length bytes
    bool expects_continue = false;
};

enum class HeadState : std::uint8_t { kIncomplete, kComplete, kRefused };

struct HeadResult {
    HeadState state = HeadState::kIncomplete;
    std::size_t size = 0;                  // complete: bytes of the head with its last line end
    Code refusal = Code::kInvalidRequest;  // refused: which answer
    std::string_view reason = {};          // refused: for people, a literal
};

// Reads the head at the start of `bytes`. Incomplete means that more bytes can still make it right:
// malformed or oversized input is refused as soon as it can be told. Stricter than RFC 9112 where
// leniency has been abused for smuggling: no folded lines, no bare line feeds, one Host, one plain
// Content-Length, no transfer coding but "chunked", never both.
HeadResult parse_head(std::string_view bytes, const HeadLimits& limits, RequestHead& head);

// Whether a head that parse_head() called incomplete is worth parsing again, now that `bytes`
// begins with what was parsed then and `scanned` bytes of it have been looked at here or there:
// when a line has ended since, or a bound is passed. Keeps slow senders from costing a parse for
// each byte.
bool needs_another_look(std::string_view bytes, const HeadLimits& limits, std::size_t& scanned);

// Undoes the chunked coding, fed with whatever arrives. Chunk extensions and trailers are read,
// bounded and dropped.
class ChunkDecoder {
 public:
    enum class State : std::uint8_t { kMore, kDone, kMalformed, kTooLarge };

    // Appends decoded bytes to `body`, which never grows past `max_body_bytes`. Takes everything
    // unless the body ends before; `consumed` says how much.
    State feed(std::string_view wire, std::size_t max_body_bytes, std::string& body,
               std::size_t& consumed);

 private:
    enum class Step : std::uint8_t {
        kSize,
        kBlanks,
        kExtension,
        kSizeEnd,
        kData,
        kDataCr,
        kDataEnd,
        kTrailerStart,
        kTrailer,
        kTrailerEnd,
        kLastEnd,
        kDone,
    };

    State take(char c, std::size_t max_body_bytes, std::size_t body_bytes);

    Step step_ = Step::kSize;
    std::uint8_t digits_ = 0;      // of the size being read
    std::uint32_t overhead_ = 0;   // bytes of extensions and trailers so far
    std::uint64_t remaining_ = 0;  // of the chunk being read
};

}  // namespace sluice::io
