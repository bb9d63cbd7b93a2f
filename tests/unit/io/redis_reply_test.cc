#include "io/redis_reply.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {
namespace {

using State = RedisReplyReader::State;

TEST(RedisReply, CommandsKeepEveryByteAndEmptyWords) {
    std::string out;
    append_command(out, std::vector<std::string_view>{"SET", std::string_view("a\0b", 3), ""});
    EXPECT_EQ(out, std::string("*3\r\n$3\r\nSET\r\n$3\r\na\0b\r\n$0\r\n\r\n", 28));
}

TEST(RedisReply, RepliesAreReadWhereverTheBytesAreCut) {
    const std::string bytes =
        "+OK\r\n:-7\r\n$-1\r\n$5\r\nhe\r\no\r\n-ERR no such "
        "thing\r\n*3\r\n:1\r\n*1\r\n$1\r\nx\r\n$-1\r\n";
    for (std::size_t step = 1; step <= bytes.size(); ++step) {
        RedisReplyReader reader;
        std::vector<RedisReply> replies;
        for (std::size_t at = 0; at < bytes.size(); at += step) {
            reader.feed(std::string_view(bytes).substr(at, step));
            RedisReply reply;
            while (reader.next(reply) == State::kReply) {
                replies.push_back(std::move(reply));
                reply = RedisReply();
            }
        }
        ASSERT_EQ(replies.size(), 6U) << step;
        EXPECT_EQ(replies[0].text, "OK");
        EXPECT_EQ(replies[1].integer, -7);
        EXPECT_TRUE(replies[2].is_nil());
        EXPECT_EQ(replies[3].text, "he\r\no");
        EXPECT_TRUE(replies[4].is_error());
        ASSERT_EQ(replies[5].elements.size(), 3U);
        EXPECT_EQ(replies[5].elements[1].elements[0].text, "x");
        EXPECT_TRUE(replies[5].elements[2].is_nil());
    }
}

TEST(RedisReply, ArraysAreBoundedTogetherAndNotOneByOne) {
    const std::string size = std::to_string(RedisReplyReader::kMaxElements / 2);
    RedisReplyReader reader;
    reader.feed("*" + size + "\r\n*" + size + "\r\n*" + size + "\r\n");
    RedisReply reply;
    EXPECT_EQ(reader.next(reply), State::kTooLarge);
}

TEST(RedisReply, ATextThatNeverEndsIsGivenUpAtTheBound) {
    RedisReplyReader reader;
    RedisReply reply;
    reader.feed("$500000000\r\n");
    const std::string piece(1024 * 1024, 'x');
    State state = State::kNeedsMore;
    std::size_t fed = 0;
    while (state == State::kNeedsMore && fed < 4 * RedisReplyReader::kMaxReplyBytes) {
        reader.feed(piece);
        fed += piece.size();
        state = reader.next(reply);
    }
    EXPECT_EQ(state, State::kTooLarge);
    EXPECT_LE(fed, RedisReplyReader::kMaxReplyBytes + 2 * piece.size());
}

TEST(RedisReply, AnErrorsWordIsOneOfRedisAndNotOfTheCommand) {
    RedisReply reply;
    reply.text = "NOSCRIPT No matching script.";
    EXPECT_EQ(reply.error_word(), "NOSCRIPT");
    for (const std::string_view text : {"", "secret-password wrong", "Mixed case", " x"}) {
        reply.text = text;
        EXPECT_EQ(reply.error_word(), "ERR") << text;
    }
}

}  // namespace
}  // namespace sluice::io
