// HTTP requests as a door sees them and answers as it gives them. The server (io/http_server.h)
// owns the wire; a door never sees a socket.
#pragma once

#include "base/request_context.h"
#include "base/result.h"
#include "base/task.h"
#include "io/address.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::io {

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOptions, kOther };

std::string_view to_string(Method method);

struct HeaderField {
    std::string_view name;   // as sent
    std::string_view value;  // without the white space around it
};

// One complete request. Every view points into the connection's read buffer and is valid until the
// reply to this request is complete, so also inside a Task that the handler returned.
struct HttpRequest {
    Method method = Method::kGet;
    std::string_view method_text;
    std::string_view target;  // as sent: "/v1/search?q=a"
    std::string_view path;    // of target, still percent-encoded
    std::string_view query;   // of target without the '?', still percent-encoded
    std::span<const HeaderField> headers;
    std::string_view body;  // after any transfer coding
    Address peer;           // the other end of the connection; unspecified on a Unix socket
    bool over_unix_socket = false;
    RequestContext context;

    // The value of the first field of that name (ASCII case does not matter).
    std::optional<std::string_view> header(std::string_view name) const;
};

// Finished body bytes, shared between any number of answers on any thread. The compressed forms are
// made when a client first asks for one, and kept. Thread-safe.
class HttpBody {
 public:
    explicit HttpBody(std::string bytes);
    ~HttpBody();
    HttpBody(const HttpBody&) = delete;
    HttpBody& operator=(const HttpBody&) = delete;

    // A packed body is unpacked in parts of this size (the last one may be shorter), so that a
    // client costs the memory of one part, however slowly it reads.
    static constexpr std::size_t kPartBytes = std::size_t{128} * 1024;

    // A body that holds `bytes` compressed only. Clients that take zstd are sent what is held; for
    // others it is unpacked each time, at about a gigabyte a second.
    static std::shared_ptr<const HttpBody> packed(std::string_view bytes);
    // `body` with its plain bytes: itself, or for a packed one a body of its own.
    static std::shared_ptr<const HttpBody> unpacked(std::shared_ptr<const HttpBody> body);
    // Of a packed body: appends the plain bytes from `part` * kPartBytes on.
    void unpack_part(std::size_t part, std::string& out) const;

    bool is_packed() const { return packed_size_ > 0; }
    // Not of a packed body: asserted.
    std::string_view bytes() const;
    // Of the plain bytes.
    std::size_t size() const { return is_packed() ? packed_size_ : bytes_.size(); }
    // What it occupies, with room for the compressed forms that clients may ask for.
    std::size_t memory_bytes() const;

    struct Encoded {
        std::string data;         // gzip: DEFLATE without the last block; zstd: whole frames
        std::uint32_t crc32 = 0;  // of the plain bytes
    };
    const Encoded& gzip() const;
    const Encoded& zstd() const;

 private:
    struct Encodings;
    std::string unpack() const;

    std::string bytes_;
    std::size_t packed_size_ = 0;         // of the plain bytes of a packed body; else 0
    std::vector<std::size_t> part_ends_;  // of a packed body: where each part's frame ends
    std::unique_ptr<Encodings> encodings_;
};

// An answer. Its body is `lead`, then `body`, then `tail`: lead and tail are what differs from
// request to request (small), the body is what many share. Date, Content-Length, Connection,
// Content-Encoding, X-Request-Id and traceparent are the server's to add.
struct HttpResponse {
    int status = 200;
    std::string headers = {};  // whole lines, each "Name: value\r\n", Content-Type included
    std::string lead = {};
    std::shared_ptr<const HttpBody> body = nullptr;
    std::string tail = {};
    bool close = false;  // close the connection afterwards
    // Somebody paid for it: it is given even where there is no room for large ones.
    bool was_paid = false;
};

// A handler answers at once where it can (no coroutine is started then), else with a Task.
using HttpReply = std::variant<HttpResponse, Task<HttpResponse>>;

// What the server calls. Its functions are called on any of the server's threads, at the same time.
class HttpHandler {
 public:
    virtual ~HttpHandler() = default;

    // An exception from here or from the Task is caught by the server and answered through
    // refuse().
    virtual HttpReply handle(const HttpRequest& request) = 0;

    // Asked before a large body is read, or one that its client holds back, with the head alone
    // (`body` is empty): the answer when that is a refusal already. The connection is closed then.
    // Throws as handle() does.
    virtual std::optional<HttpResponse> refuse_head(const HttpRequest& /*request*/) {
        return std::nullopt;
    }

    // The answer to what never became a request (a malformed head, a bound that was passed), and to
    // an exception: in the native dialect's error shape.
    virtual HttpResponse refuse(const Error& error, const RequestId& id) = 0;
};

}  // namespace sluice::io
