// What every request carries through every layer: its id, its place in a distributed trace and when
// it began. Cheap to copy. Cancellation is Asio's (see base/task.h).
#pragma once

#include "base/clock.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

class Random;

// 128 random bits, 32 lower-case hexadecimal digits in text. Never zero.
class RequestId {
 public:
    RequestId() = default;
    static RequestId make(Random& random);

    // The 32 digits, valid as long as this object.
    std::string_view text() const { return {digits_.data(), digits_.size()}; }

 private:
    std::array<char, 32> digits_{};
};

// W3C Trace Context, level 1 (https://www.w3.org/TR/trace-context/).
struct TraceContext {
    std::array<char, 32> trace_id{};   // lower-case hexadecimal
    std::array<char, 16> parent_id{};  // our own span's id
    std::uint8_t flags = 0;            // bit 0: sampled

    // Continues the trace that `traceparent` names under a new span id; starts a new, unsampled one
    // when the header is absent or malformed (the specification asks for that, not for an error).
    static TraceContext continue_or_start(std::string_view traceparent, Random& random);

    // "00-<trace id>-<parent id>-<flags>", 55 characters.
    std::string traceparent() const;
};

struct RequestContext {
    RequestId id;
    TraceContext trace;
    Instant started{};  // when the request's head was complete; deadlines count from here
};

}  // namespace sluice
