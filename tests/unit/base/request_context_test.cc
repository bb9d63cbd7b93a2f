#include "base/request_context.h"

#include "base/random.h"

#include <gtest/gtest.h>

#include <cstring>

namespace sluice {
namespace {

class ZeroRandom final : public Random {
 public:
    std::uint64_t u64() override { return 0; }
    void fill(std::span<std::byte> out) override { std::memset(out.data(), 0, out.size()); }
};

std::string_view trace_id(const TraceContext& trace) {
    return {trace.trace_id.data(), trace.trace_id.size()};
}

std::string_view parent_id(const TraceContext& trace) {
    return {trace.parent_id.data(), trace.parent_id.size()};
}

constexpr std::string_view kTraceId = "0af7651916cd43dd8448eb211c80319c";

// Request ids are looked up in logs: always 32 lower-case digits, different each time, never zero.
TEST(RequestId, IsThirtyTwoDigitsAndNeverZero) {
    SeededRandom random(1);
    const RequestId a = RequestId::make(random);
    const RequestId b = RequestId::make(random);
    EXPECT_EQ(a.text().size(), 32u);
    EXPECT_EQ(a.text().find_first_not_of("0123456789abcdef"), std::string_view::npos);
    EXPECT_NE(a.text(), b.text());

    ZeroRandom zero;
    EXPECT_EQ(RequestId::make(zero).text(), "00000000000000000000000000000001");
}

struct TraceCase {
    const char* what;
    std::string header;
    bool continues;
    int flags = 0;
};

// A malformed header starts a new trace, a good one is continued: never a mix of both.
TEST(TraceContext, FollowsTheSpecification) {
    const std::string good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const auto with = [&](std::size_t at, std::string_view text) {
        std::string header = good;
        return header.replace(at, text.size(), text);
    };
    const TraceCase cases[] = {
        {"sampled", good, true, 1},
        {"not sampled", with(53, "00"), true, 0},
        {"unknown flags are dropped", with(53, "ff"), true, 1},
        {"unknown flags alone", with(53, "fe"), true, 0},
        {"a later version", with(0, "cc"), true, 1},
        {"a later version with more", with(0, "cc") + "-extra", true, 1},
        {"a later version with more, no dash", with(0, "cc") + ".extra", false},
        {"version 00 with more", good + "-extra", false},
        {"version 00 with a dash more", good + "-", false},
        {"version ff", with(0, "ff"), false},
        {"version in capitals", with(0, "CC"), false},
        {"version not hexadecimal", with(0, "0x"), false},
        {"trace id zero", with(3, std::string(32, '0')), false},
        {"trace id in capitals", with(3, "0AF7"), false},
        {"trace id not hexadecimal", with(10, "g"), false},
        {"parent id zero", with(36, std::string(16, '0')), false},
        {"parent id not hexadecimal", with(40, "."), false},
        {"flags not hexadecimal", with(53, "0."), false},
        {"flags in capitals", with(53, "0A"), false},
        {"first dash", with(2, "_"), false},
        {"second dash", with(35, "_"), false},
        {"third dash", with(52, "_"), false},
        {"short", good.substr(0, 54), false},
        {"empty", "", false},
        {"blank before", " " + good, false},
    };
    for (const TraceCase& c : cases) {
        SeededRandom random(7);
        const TraceContext trace = TraceContext::continue_or_start(c.header, random);
        EXPECT_EQ(trace_id(trace) == kTraceId, c.continues) << c.what;
        EXPECT_EQ(trace.flags, c.flags) << c.what;
        EXPECT_NE(parent_id(trace), "b7ad6b7169203331") << c.what;  // ours is a new span
        EXPECT_EQ(trace_id(trace).find_first_not_of("0123456789abcdef"), std::string_view::npos);
    }
}

// What is sent to an upstream must be accepted by the next one in the chain.
TEST(TraceContext, OwnHeaderIsReadBack) {
    SeededRandom random(3);
    const TraceContext sent = TraceContext::continue_or_start("", random);
    const std::string header = sent.traceparent();
    EXPECT_EQ(header.size(), 55u);
    EXPECT_EQ(header.substr(0, 3), "00-");
    EXPECT_EQ(header.substr(53), "00");
    const TraceContext received = TraceContext::continue_or_start(header, random);
    EXPECT_EQ(trace_id(received), trace_id(sent));
    EXPECT_NE(parent_id(received), parent_id(sent));

    ZeroRandom zero;
    const std::string from_zero = TraceContext::continue_or_start("", zero).traceparent();
    EXPECT_EQ(from_zero, "00-00000000000000000000000000000001-0000000000000001-00");
}

}  // namespace
}  // namespace sluice
