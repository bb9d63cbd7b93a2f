// Puts requests together from the bytes of one connection: it owns the read buffer, says where to
// read to, and hands out one complete request after the other. No sockets, no waiting.
//
// A request's views point into the buffer, or into the body kept beside it, until finish().
#pragma once

#include "io/http_parser.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::io {

// Not thread-safe.
class RequestReader {
 public:
    // Room behind the largest head, for chunks that are unpacked as they come.
    static constexpr std::size_t kBodyRoom = 4 * 1024;

    // Takes heads of up to `max_header_bytes`.
    explicit RequestReader(std::size_t max_header_bytes);

    enum class State : std::uint8_t { kIncomplete, kComplete, kRefused };

    // Looks for the next request in what was read. kRefused: refusal() and reason() say why, and
    // nothing more can be read from this connection. kComplete stays until finish().
    State next(const HeadLimits& limits, std::size_t max_body_bytes);

    // Of a complete request; head() also once in_body(), and after a refusal that in_body().
    const RequestHead& head() const { return head_; }
    std::string_view body() const { return body_; }

    Code refusal() const { return refusal_; }
    std::string_view reason() const { return reason_; }

    // What an incomplete request lacks. Neither: nothing of it has arrived.
    bool in_head() const { return !head_complete_ && begin_ != end_; }
    bool in_body() const { return head_complete_; }
    // True once for each request whose client waits to be told that it may send the body.
    bool take_continue();
    // True once for each request whose body is awaited and can't be kept in the read buffer, or is
    // held back by its client: head() may be judged before memory is spent on it.
    bool take_head_due() { return std::exchange(head_due_, false); }
    // What is held of a body that is not in the read buffer, until finish().
    std::size_t own_body_bytes() const { return own_body_.size(); }

    // Where to read to next, never empty; to be followed by filled(). After next() was incomplete.
    std::span<char> room();
    void filled(std::size_t bytes);

    // Where requests that follow may be read to while this one is being answered; may be empty.
    std::span<char> room_behind();
    void filled_behind(std::size_t bytes) { end_ += bytes; }
    // Whether anything of a next request has been read. Of a request that is complete.
    bool any_behind() const { return end_ > begin_ + size_; }

    // The request has been answered; the next one begins behind it.
    void finish();

    // As new, but for its memory.
    void reset();

    // What it was made for.
    std::size_t max_header_bytes() const { return capacity_ - kBodyRoom; }

 private:
    State take_head(const HeadLimits& limits, std::size_t max_body_bytes);
    State take_body();
    State take_chunks(std::size_t max_body_bytes);
    State await_body();
    State refuse(Code code, std::string_view reason);
    HeadLimits bounded(const HeadLimits& limits) const;

    std::string_view unread() const { return {buffer_.get() + begin_, end_ - begin_}; }
    bool body_stays_in_buffer() const;
    void compact();

    std::unique_ptr<char[]> buffer_;
    std::size_t capacity_;
    std::size_t begin_ = 0;  // of the request that is being read or answered
    std::size_t end_ = 0;    // of what was read

    std::size_t scanned_ = 0;  // of unread(): looked at, and no complete head
    std::size_t head_size_ = 0;
    std::size_t size_ = 0;  // of a complete request in the buffer
    RequestHead head_;
    ChunkDecoder chunks_;
    std::string own_body_;  // a body that does not stay in the buffer
    std::size_t own_filled_ = 0;
    std::string_view body_;
    std::string_view reason_;
    Code refusal_ = Code::kInvalidRequest;
    bool head_complete_ = false;
    bool body_awaited_ = false;
    bool continue_due_ = false;
    bool head_due_ = false;
};

}  // namespace sluice::io
