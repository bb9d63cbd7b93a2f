// The wire format of Redis (RESP2): commands to bytes, bytes to replies. hiredis reads; what stands
// here are the bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {

struct RedisReply {
    enum class Kind : std::uint8_t { kNil, kInteger, kText, kStatus, kError, kArray };

    Kind kind = Kind::kNil;
    std::int64_t integer = 0;
    std::string text = {};  // of a text, a status or an error
    std::vector<RedisReply> elements = {};

    bool is_nil() const { return kind == Kind::kNil; }
    bool is_text() const { return kind == Kind::kText; }
    bool is_error() const { return kind == Kind::kError; }

    // The first word of an error ("NOSCRIPT", "WRONGPASS"), which Redis defines; what follows may
    // quote the command. "ERR" when it has none.
    std::string_view error_word() const;
};

// Appends the command to `out`.
void append_command(std::string& out, std::span<const std::string_view> words);

// Reads replies from a stream of bytes. Not thread-safe. After kGarbled or kTooLarge it is of no
// further use.
class RedisReplyReader {
 public:
    static constexpr std::size_t kMaxReplyBytes = 8 * 1024 * 1024;
    static constexpr std::size_t kMaxElements = 4'096;  // in all arrays of one reply together

    RedisReplyReader();
    ~RedisReplyReader();
    RedisReplyReader(const RedisReplyReader&) = delete;
    RedisReplyReader& operator=(const RedisReplyReader&) = delete;

    void feed(std::string_view bytes);

    enum class State : std::uint8_t {
        kReply,      // `out` is the next reply
        kNeedsMore,  // no reply is whole
        kGarbled,    // this is no Redis
        kTooLarge,   // a reply is beyond a bound
    };
    // Called until it needs more, after each feed().
    State next(RedisReply& out);

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::io
