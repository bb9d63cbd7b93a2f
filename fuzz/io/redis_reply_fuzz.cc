// Replies of Redis from any bytes, in any pieces: the same replies come out however they are cut.
#include "base/result.h"
#include "io/redis_reply.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using sluice::io::RedisReply;
using sluice::io::RedisReplyReader;

// What was read, as text that shows every difference, and how it ended.
void describe(const RedisReply& reply, std::string& out) {
    out += std::to_string(static_cast<int>(reply.kind)) + ":" + std::to_string(reply.integer) +
           ":" + std::to_string(reply.text.size()) + ":" + reply.text + "(";
    for (const RedisReply& element : reply.elements) {
        describe(element, out);
    }
    out += ")";
    SLUICE_ASSERT(!reply.error_word().empty());
}

std::string read(std::string_view bytes, std::size_t step) {
    RedisReplyReader reader;
    std::string out;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        reader.feed(bytes.substr(at, step));
        RedisReplyReader::State state = RedisReplyReader::State::kReply;
        while (state == RedisReplyReader::State::kReply) {
            RedisReply reply;
            state = reader.next(reply);
            if (state == RedisReplyReader::State::kReply) {
                describe(reply, out);
            }
        }
        if (state != RedisReplyReader::State::kNeedsMore) {
            return out + "!";
        }
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (bytes.empty()) {
        return 0;
    }
    SLUICE_ASSERT(read(bytes, bytes.size()) == read(bytes, 1));
    return 0;
}
