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
            size += batch.add(response_with(lead, shared), kContext);
            expected +=
                "HTTP/1.1 200 OK\r\nDate: today\r\nContent-Type: text/plain\r\n"
                "Content-Length: " +
                std::to_string(lead.size() + shared) + "\r\n" +
                (lead.size() + shared >= 1024 ? "Vary: Accept-Encoding\r\n" : "") +
                "X-Request-Id: id\r\n\r\n" + lead + std::string(shared, 's');
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

}  // namespace
}  // namespace sluice::test
