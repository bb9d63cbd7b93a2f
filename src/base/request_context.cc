#include "base/request_context.h"

#include "base/random.h"

#include <algorithm>
#include <optional>

namespace sluice {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

// The one flag that level 1 defines; unknown ones must not be passed on.
constexpr std::uint8_t kSampled = 0x01;

// Where the fields of "00-<32 digits>-<16 digits>-<2 digits>" start, and its length.
constexpr std::size_t kTraceIdAt = 3;
constexpr std::size_t kParentIdAt = 36;
constexpr std::size_t kFlagsAt = 53;
constexpr std::size_t kTraceparentBytes = 55;

// Random lower-case digits that are not all zero.
template <std::size_t N>
void fill_digits(Random& random, std::array<char, N>& digits) {
    std::array<std::byte, N / 2> bytes;
    random.fill(bytes);
    if (std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; })) {
        bytes.back() = std::byte{1};
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto byte = std::to_integer<std::size_t>(bytes[i]);
        digits[2 * i] = kDigits[byte >> 4];
        digits[2 * i + 1] = kDigits[byte & 15];
    }
}

bool is_hex(std::string_view text) {
    return text.find_first_not_of(kDigits) == std::string_view::npos;
}

bool is_id(std::string_view text) {
    return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

struct Incoming {
    std::string_view trace_id;
    std::uint8_t flags = 0;
};

std::optional<Incoming> parse_traceparent(std::string_view text) {
    if (text.size() < kTraceparentBytes || text[2] != '-' || text[kParentIdAt - 1] != '-' ||
        text[kFlagsAt - 1] != '-') {
        return std::nullopt;
    }
    const std::string_view version = text.substr(0, 2);
    if (!is_hex(version) || version == "ff") {
        return std::nullopt;
    }
    // Later versions may add fields after a dash; ours has none.
    const bool longer = text.size() > kTraceparentBytes;
    if (longer && (version == "00" || text[kTraceparentBytes] != '-')) {
        return std::nullopt;
    }
    const std::string_view trace_id = text.substr(kTraceIdAt, 32);
    const std::string_view flags = text.substr(kFlagsAt, 2);
    if (!is_id(trace_id) || !is_id(text.substr(kParentIdAt, 16)) || !is_hex(flags)) {
        return std::nullopt;
    }
    const std::size_t low_digit = kDigits.find(flags[1]);
    return Incoming{trace_id, static_cast<std::uint8_t>(low_digit & kSampled)};
}

}  // namespace

RequestId RequestId::make(Random& random) {
    RequestId id;
    fill_digits(random, id.digits_);
    return id;
}

TraceContext TraceContext::continue_or_start(std::string_view traceparent, Random& random) {
    TraceContext context;
    if (const auto incoming = parse_traceparent(traceparent)) {
        std::copy(incoming->trace_id.begin(), incoming->trace_id.end(), context.trace_id.begin());
        context.flags = incoming->flags;
    } else {
        fill_digits(random, context.trace_id);
    }
    fill_digits(random, context.parent_id);
    return context;
}

std::string TraceContext::traceparent() const {
    std::string text;
    text.reserve(kTraceparentBytes);
    text.append("00-").append(trace_id.data(), trace_id.size());
    text.append("-").append(parent_id.data(), parent_id.size());
    text.append("-");
    text.push_back(kDigits[flags >> 4]);
    text.push_back(kDigits[flags & 15]);
    return text;
}

}  // namespace sluice
