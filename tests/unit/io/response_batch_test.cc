// Answers in wire format, gathered and written in pieces.
#include "io/response_batch.h"

#include <boost/asio/buffer.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace sluice::test {
namespace {

using io::ResponseBatch;

// Protects: dates are those of RFC 9110, for every weekday and month, across a leap day.
TEST(DateLine, IsAnHttpDate) {
    struct Case {
        std::int64_t seconds;
        std::string_view expected;
    };
    const std::vector<Case> cases = {
        {784'111'777, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"},
        {0, "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"},
        {1'709'251'199, "Date: Thu, 29 Feb 2024 23:59:59 GMT\r\n"},
        {1'709'251'200, "Date: Fri, 01 Mar 2024 00:00:00 GMT\r\n"},
        {1'796'083'200, "Date: Tue, 01 Dec 2026 00:00:00 GMT\r\n"},
        {1'785'110'400, "Date: Mon, 27 Jul 2026 00:00:00 GMT\r\n"},
        {1'785'542'399, "Date: Fri, 31 Jul 2026 23:59:59 GMT\r\n"},
        {1'777'161'600, "Date: Sun, 26 Apr 2026 00:00:00 GMT\r\n"},
        {1'781'913'600, "Date: Sat, 20 Jun 2026 00:00:00 GMT\r\n"},
        {1'789'516'800, "Date: Wed, 16 Sep 2026 00:00:00 GMT\r\n"},
    };
    io::DateLine line;
    for (const Case& c : cases) {
        const WallTime instant{std::chrono::seconds(c.seconds)};
        line.update(instant);
        EXPECT_EQ(line.text(), c.expected);
        line.update(instant + std::chrono::milliseconds(999));
        EXPECT_EQ(line.text(), c.expected);
    }
}

io::HttpResponse response_with(std::string lead, std::size_t shared) {
    io::HttpResponse response;
    response.headers = "Content-Type: text/plain\r\n";
    response.lead = std::move(lead);
    response.body = std::make_shared<const io::HttpBody>(std::string(shared, 's'));
    return response;
}

const io::AnswerContext kContext{.date_line = "Date: today\r\n", .request_id = "id"};

// Protects: the whole of an answer, byte by byte.
TEST(ResponseBatch, WritesHeadLeadAndBody) {
    ResponseBatch batch;
    const std::size_t size = batch.add(response_with("lead ", 3), kContext);
    ResponseBatch::Buffers storage;
    std::string out;
    for (const auto& buffer : batch.buffers(storage)) {
        out.append(static_cast<const char*>(buffer.data()), buffer.size());
    }
    EXPECT_EQ(out,
              "HTTP/1.1 200 OK\r\nDate: today\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n"
              "X-Request-Id: id\r\n\r\nlead sss");
    EXPECT_EQ(size, out.size());
}

// Protects: a socket that takes few bytes at a time gets every byte once and in order.
TEST(ResponseBatch, SurvivesWritesOfAnyLength) {
    for (const std::size_t step : {1UL, 7UL, 100UL, 1024UL, 5000UL, 1'000'000UL}) {
        ResponseBatch batch;
        std::string expected;
        std::size_t size = 0;
        for (std::size_t i = 0; !batch.full(); ++i) {
            // Bodies that are copied and bodies that stay where they are, with leads and without.
            const std::string lead(i % 3, 'l');
            const std::size_t shared = i % 4 == 0 ? 0 : 600 * i;
            const std::string tail(i % 5, 't');
            io::HttpResponse response = response_with(lead, shared);
            response.tail = tail;
            size += batch.add(std::move(response), kContext);
            expected +=
                "HTTP/1.1 200 OK\r\nDate: today\r\nContent-Type: text/plain\r\n"
                "Content-Length: " +
                std::to_string(lead.size() + shared + tail.size()) + "\r\n" +
                (lead.size() + shared + tail.size() >= 1024 ? "Vary: Accept-Encoding\r\n" : "") +
                "X-Request-Id: id\r\n\r\n" + lead + std::string(shared, 's') + tail;
        }
        EXPECT_EQ(size, expected.size());
        std::string out;
        while (!batch.empty()) {
            ResponseBatch::Buffers storage;
            std::size_t left = step;
            for (const auto& buffer : batch.buffers(storage)) {
                const std::size_t n = std::min(left, buffer.size());
                out.append(static_cast<const char*>(buffer.data()), n);
                left -= n;
            }
            batch.written(step - left);
        }
        EXPECT_EQ(out, expected) << step;
        EXPECT_FALSE(batch.full());
    }
}

// Protects: a shared body lives until it has been written, whoever else lets go of it.
TEST(ResponseBatch, KeepsBodiesAlive) {
    ResponseBatch batch;
    io::HttpResponse response = response_with("", 100'000);
    const std::weak_ptr<const io::HttpBody> body = response.body;
    const std::size_t size = batch.add(std::move(response), kContext);
    EXPECT_FALSE(body.expired());
    batch.written(size - 1);
    EXPECT_FALSE(body.expired());
    batch.written(1);
    EXPECT_TRUE(body.expired());
}

// Incompressible enough that no part of it looks like another.
std::string long_text(std::size_t size) {
    std::string text;
    for (std::size_t i = 0; text.size() < size; ++i) {
        text += std::to_string(i * 2'654'435'761U);
    }
    text.resize(size);
    return text;
}

std::string written_in_steps(ResponseBatch& batch, std::size_t step, bool runs_out_of_room) {
    std::string out;
    while (!batch.empty()) {
        ResponseBatch::Buffers storage;
        std::size_t left = step;
        for (const auto& buffer : batch.buffers(storage)) {
            const std::size_t n = std::min(left, buffer.size());
            out.append(static_cast<const char*>(buffer.data()), n);
            left -= n;
        }
        batch.written(step - left);
        if (runs_out_of_room) {
            batch.await_room();
        }
    }
    return out;
}

// Protects: a packed body is unpacked part by part as it is written, and comes out whole and in
// order, whatever its length, between answers of other kinds, and with parts given up meanwhile.
TEST(ResponseBatch, UnpacksBodiesAsTheyAreWritten) {
    constexpr std::size_t kPart = io::HttpBody::kPartBytes;
    for (const std::size_t size : {std::size_t{1}, kPart - 1, kPart, kPart + 1, 3 * kPart + 7}) {
        for (const std::size_t step : {std::size_t{1'000}, kPart, std::size_t{1'000'000}}) {
            const std::string text = long_text(size);
            ResponseBatch batch;
            std::size_t expected = 0;
            for (int i = 0; i < 2; ++i) {
                io::HttpResponse response;
                response.lead = "lead ";
                response.body = io::HttpBody::packed(text);
                expected += batch.add(std::move(response), kContext);
                expected += batch.add(response_with("between", 5'000), kContext);
            }
            const std::string out = written_in_steps(batch, step, step == 1'000);
            EXPECT_EQ(out.size(), expected) << size;
            const std::size_t first = out.find("lead " + text + "HTTP/1.1 200 OK");
            EXPECT_NE(first, std::string::npos) << size;
            EXPECT_NE(out.find("lead " + text + "HTTP/1.1 200 OK", first + 1), std::string::npos);
        }
    }
}

// Protects: what waits for a client is bounded in bytes, too: a packed body costs one part at a
// time, and no answer is added while too much waits.
TEST(ResponseBatch, IsFullByBytes) {
    ResponseBatch batch;
    while (!batch.full()) {
        batch.add(response_with("", 50'000), kContext);
    }
    EXPECT_FALSE(batch.empty());
    std::size_t waiting = 0;
    ResponseBatch::Buffers storage;
    for (const auto& buffer : batch.buffers(storage)) {
        waiting += buffer.size();
    }
    EXPECT_GE(waiting, ResponseBatch::kMaxWaitingBytes);
    EXPECT_LT(waiting, ResponseBatch::kMaxWaitingBytes + 51'000);
    batch.written(waiting - ResponseBatch::kMaxWaitingBytes + 1);
    EXPECT_FALSE(batch.full());

    ResponseBatch packed;
    io::HttpResponse response;
    response.body = io::HttpBody::packed(long_text(10 * io::HttpBody::kPartBytes));
    packed.add(std::move(response), kContext);
    EXPECT_TRUE(packed.full());
    std::size_t at_once = 0;
    for (const auto& buffer : packed.buffers(storage)) {
        at_once += buffer.size();
    }
    EXPECT_LT(at_once, io::HttpBody::kPartBytes + 1'000);
}

}  // namespace
}  // namespace sluice::test
