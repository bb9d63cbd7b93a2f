// What counts of answers that nobody reads.
#include "io/waiting_bytes.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sluice::io
