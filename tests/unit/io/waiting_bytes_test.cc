// What counts of answers that nobody reads.
#include "io/waiting_bytes.h"

#include "io/http_server_core.h"
#include "server_fixture.h"
#include "support/manual_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

namespace sluice::io {
namespace {

ResponseBatch batch_with(const std::shared_ptr<const HttpBody>& body) {
    HttpResponse response;
    response.lead = "lead";
    response.body = body;
    response.tail = "tail";
    AnswerContext context;
    context.date_line = "Date: today\r\n";
    context.request_id = "id";
    ResponseBatch batch;
    batch.add(std::move(response), context);
    return batch;
}

TEST(WaitingBytes, ABodyThatManyShareCountsOnce) {
    WaitingBytes all;
    const auto body = std::make_shared<const HttpBody>(std::string(1'000'000, 'b'));
    const ResponseBatch batch = batch_with(body);
    {
        HeldAnswers one(all);
        HeldAnswers other(all);
        one.hold(batch);
        const std::size_t alone = all.total();
        EXPECT_GE(alone, 1'000'000U);
        other.hold(batch);
        EXPECT_EQ(all.total(), alone + batch.own_bytes());
        one.hold(batch);
        EXPECT_EQ(all.total(), alone + batch.own_bytes()) << "the same again is no more";
        one.release();
        EXPECT_EQ(all.total(), alone);
        const auto second = std::make_shared<const HttpBody>(std::string(1'000'000, 'c'));
        one.hold(batch_with(second));
        EXPECT_GE(all.total(), 2'000'000U);
    }
    EXPECT_EQ(all.total(), 0U);
}

TEST(WaitingBytes, WhatIsWrittenCountsNoMore) {
    WaitingBytes all;
    ResponseBatch batch = batch_with(std::make_shared<const HttpBody>(std::string(5'000, 'b')));
    HeldAnswers held(all);
    held.hold(batch);
    batch.written(100);
    held.written(batch);
    EXPECT_GE(all.total(), 5'000U) << "the rest still waits";
    ResponseBatch::Buffers storage;
    std::size_t left = 0;
    for (const auto& buffer : batch.buffers(storage)) {
        left += buffer.size();
    }
    batch.written(left);
    held.written(batch);
    EXPECT_EQ(all.total(), 0U);
}

TEST(WaitingBytes, WhoTakesNothingIsCutFirstAndThenWhoIsSlowest) {
    const WaitingReader silent_long{
        .held = Millis{9'000}, .silent = Millis{3'000}, .taken = 90'000'000};
    const WaitingReader silent{.held = Millis{1'500}, .silent = Millis{1'000}, .taken = 0};
    const WaitingReader trickle{.held = Millis{60'000}, .silent = Millis{100}, .taken = 600'000};
    const WaitingReader slow{.held = Millis{5'000}, .silent = Millis{0}, .taken = 100'000};
    const WaitingReader fast{.held = Millis{20'000}, .silent = Millis{0}, .taken = 90'000'000};
    const std::vector<WaitingReader> expected = {silent_long, silent, trickle, slow, fast};
    std::vector<WaitingReader> sorted = {fast, slow, silent, trickle, silent_long};
    std::ranges::sort(sorted, is_cut_before);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(sorted[i].held, expected[i].held) << i;
        EXPECT_TRUE(may_be_cut(expected[i])) << i;
        for (std::size_t j = 0; j < expected.size(); ++j) {
            EXPECT_EQ(is_cut_before(expected[i], expected[j]), i < j) << i << " and " << j;
        }
    }
    EXPECT_FALSE(may_be_cut({.held = Millis{4'999}, .silent = Millis{999}, .taken = 1}))
        << "who reads is given time";
}

class NoRoom : public testing::Test {
 protected:
    static constexpr std::size_t kLarge = 1'000'000;

    NoRoom() {
        core.config.max_waiting_answer_bytes = kLarge / 2;
        held.hold(batch_with(waiting));
        request.method = Method::kGet;
    }
    bool refuses(const HttpResponse& answer) {
        return core.refuse_for_room(answer, request).has_value();
    }

    test::ManualClock clock;
    test::CollectingSink sink;
    obs::Log log{clock, sink, obs::Level::kInfo};
    obs::Metrics metrics;
    test::ScriptedHandler handler{clock};
    boost::asio::io_context loop;
    ServerShared shared{.handler = handler,
                        .clock = clock,
                        .log = log,
                        .accept_errors = obs::LogLimiter(1, std::chrono::seconds{10})};
    ServerCore core{shared, loop, HttpServerConfig(), 7, metrics};
    std::shared_ptr<const HttpBody> waiting =
        std::make_shared<const HttpBody>(std::string(kLarge, 'w'));
    HeldAnswers held{shared.waiting};
    HttpRequest request;
};

TEST_F(NoRoom, RefusesWhatWouldHoldMore) {
    HttpResponse other;
    other.body = std::make_shared<const HttpBody>(std::string(kLarge, 'o'));
    EXPECT_TRUE(refuses(other));
    HttpResponse large_lead;
    large_lead.lead = std::string(kLarge, 'l');
    EXPECT_TRUE(refuses(large_lead));
    large_lead.body = waiting;
    EXPECT_TRUE(refuses(large_lead));
    core.config.max_waiting_answer_bytes = 2 * kLarge;
    EXPECT_FALSE(refuses(other)) << "there is room";
}

TEST_F(NoRoom, GivesWhatAddsNothing) {
    HttpResponse small;
    small.lead = "small";
    EXPECT_FALSE(refuses(small));
    HttpResponse same;
    same.lead = "lead";
    same.body = waiting;
    EXPECT_FALSE(refuses(same)) << "a body that waits already is held once";
    HttpResponse other;
    other.body = std::make_shared<const HttpBody>(std::string(kLarge, 'o'));
    request.method = Method::kHead;
    EXPECT_FALSE(refuses(other)) << "its body is not sent";
}

TEST_F(NoRoom, GivesWhatWasPaidForAndWhatTheAdminAsks) {
    HttpResponse answer;
    answer.body = std::make_shared<const HttpBody>(std::string(kLarge, 'o'));
    answer.was_paid = true;
    EXPECT_FALSE(refuses(answer));
    answer.was_paid = false;
    EXPECT_TRUE(refuses(answer));
    request.over_unix_socket = true;
    EXPECT_FALSE(refuses(answer));
}

}  // namespace
}  // namespace sluice::io
