// Answers on their way to a socket: the heads and small bodies in one growing text, the large
// bodies where they are. A pipelining client's answers leave together in one gather write.
#pragma once

#include "base/clock.h"
#include "io/content_coding.h"
#include "io/http_message.h"

#include <boost/asio/buffer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {

// "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", made again when the second has changed.
class DateLine {
 public:
    void update(WallTime now);
    std::string_view text() const { return {text_.data(), text_.size()}; }

 private:
    std::array<char, 37> text_{};
    std::int64_t second_ = -1;
};

// What an answer's head depends on beside the answer.
struct AnswerContext {
    std::string_view date_line;
    std::string_view request_id;
    std::string_view traceparent = {};              // empty: none is sent
    std::span<const HeaderField> request_fields{};  // for Accept-Encoding
    bool http11 = true;
    bool head_only = false;  // the request was a HEAD
    bool keep_alive = true;
};

// Not thread-safe.
class ResponseBatch {
 public:
    static constexpr std::size_t kMaxAnswers = 30;  // per gather write
    // No further answer while so much waits to be written, or so much memory is held for it. An
    // answer may be larger by itself.
    static constexpr std::size_t kMaxWaitingBytes = std::size_t{256} * 1024;
    static constexpr std::size_t kMaxTextBytes = std::size_t{64} * 1024;
    static constexpr std::size_t kMaxBuffers = 64;  // what Asio hands to one sendmsg()
    using Buffers = std::array<boost::asio::const_buffer, kMaxBuffers>;

    // Bodies at least this long are compressed for clients that take it.
    static constexpr std::size_t kCompressFrom = 1024;
    // Longer ones are not, unless they are compressed already: that would hold up the thread's
    // other connections.
    static constexpr std::size_t kCompressUpTo = 1024 * 1024;

    // Appends the answer in wire format and returns its size in bytes.
    std::size_t add(HttpResponse response, const AnswerContext& context);
    // Appends "HTTP/1.1 100 Continue".
    void add_continue();

    bool empty() const { return answers_ == 0; }
    bool full() const {
        return answers_ >= kMaxAnswers || size_ - written_ >= kMaxWaitingBytes ||
               text_.size() >= kMaxTextBytes;
    }

    // What is to be written next, valid until the batch is changed: everything that waits, up to
    // the end of the first part of a large packed body, which is unpacked for this call.
    std::span<const boost::asio::const_buffer> buffers(Buffers& storage);
    // The client has no room: an unpacked part is given up until it has.
    void await_room();
    // `bytes` of it have been written; a batch that is written whole becomes empty.
    void written(std::size_t bytes);

    // What is held for it: memory of its own, and the bodies that live elsewhere.
    std::size_t own_bytes() const { return text_.capacity() + part_.capacity(); }
    std::vector<std::shared_ptr<const HttpBody>> bodies() const;

    // Empty, and without more memory than a usual batch needs.
    void reset();

 private:
    // A stretch of text_ that ends at text_end, followed by a body that lives elsewhere.
    struct Piece {
        std::size_t text_end;
        std::string_view shared;  // empty: the plain bytes of `owner`, which is packed
        std::shared_ptr<const HttpBody> owner;
    };

    std::string_view part_of(const HttpBody& body, std::size_t offset);

    std::string text_;
    std::vector<Piece> pieces_;
    std::string part_;                      // plain bytes of a packed body
    const HttpBody* part_owner_ = nullptr;  // which is one of pieces_; null: part_ is empty
    std::size_t part_index_ = 0;
    std::size_t answers_ = 0;
    std::size_t size_ = 0;     // bytes in all
    std::size_t written_ = 0;  // of size_
};

}  // namespace sluice::io
