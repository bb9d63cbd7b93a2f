// Request heads and bodies, as the server reads them. The same bytes are read in large pieces and
// in pieces whose sizes the input chooses: what comes out may not depend on how they arrived, nor
// pass a bound, nor point outside of what was read.
#include "base/result.h"
#include "io/http_request_reader.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

using sluice::io::HeaderField;
using sluice::io::HeadLimits;
using sluice::io::RequestReader;

constexpr HeadLimits kLimits{.max_header_bytes = 512, .max_target_bytes = 64};
constexpr std::size_t kMaxBody = 6000;

struct Outcome {
    std::vector<std::string> requests;
    bool refused = false;

    bool operator==(const Outcome&) const = default;
};

// Everything that a handler could look at.
std::string describe(const RequestReader& reader) {
    const sluice::io::RequestHead& head = reader.head();
    std::string text(head.method_text);
    for (const std::string_view part : {head.target, head.path, head.query, head.traceparent}) {
        text.append("|").append(part);
    }
    for (const HeaderField& field : head.fields) {
        SLUICE_ASSERT(field.name.find_first_of("\r\n :") == std::string_view::npos);
        SLUICE_ASSERT(field.value.find_first_of(std::string_view("\r\n\0", 3)) ==
                      std::string_view::npos);
        text.append("\n").append(field.name).append("=").append(field.value);
    }
    text.append(head.keep_alive ? "\nkeep\n" : "\nclose\n").append(reader.body());
    return text;
}

class Pieces {
 public:
    Pieces(std::string_view sizes, std::size_t largest) : sizes_(sizes), largest_(largest) {}

    std::size_t next() {
        if (sizes_.empty()) {
            return largest_;
        }
        const auto size = static_cast<unsigned char>(sizes_[at_++ % sizes_.size()]);
        return size % largest_ + 1;
    }

 private:
    std::string_view sizes_;
    std::size_t largest_;
    std::size_t at_ = 0;
};

Outcome read(std::string_view wire, Pieces pieces) {
    RequestReader reader(kLimits.max_header_bytes);
    Outcome outcome;
    for (;;) {
        switch (reader.next(kLimits, kMaxBody)) {
            case RequestReader::State::kComplete:
                SLUICE_ASSERT(reader.body().size() <= kMaxBody);
                SLUICE_ASSERT(reader.head().target.size() <= kLimits.max_target_bytes);
                outcome.requests.push_back(describe(reader));
                reader.finish();
                continue;
            case RequestReader::State::kRefused:
                SLUICE_ASSERT(!reader.reason().empty());
                outcome.refused = true;
                return outcome;
            case RequestReader::State::kIncomplete:
                break;
        }
        reader.take_continue();
        if (wire.empty()) {
            return outcome;
        }
        const std::span<char> room = reader.room();
        const std::size_t n = std::min({room.size(), wire.size(), pieces.next()});
        std::memcpy(room.data(), wire.data(), n);
        reader.filled(n);
        wire.remove_prefix(n);
    }
}

}  // namespace

// The first byte says how many bytes of sizes follow it; the rest is the wire.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    std::string_view input(static_cast<const char*>(static_cast<const void*>(data)), size);
    const auto count = std::min<std::size_t>(static_cast<unsigned char>(input[0]) % 16, size - 1);
    const std::string_view sizes = input.substr(1, count);
    // A line that has not ended is only looked at when it came in one piece, so the last one ends.
    const std::string wire = std::string(input.substr(1 + count)) + "\r\n\r\n";
    const Outcome whole = read(wire, Pieces({}, 1 << 20));
    SLUICE_ASSERT(read(wire, Pieces(sizes, 64)) == whole);
    SLUICE_ASSERT(read(wire, Pieces({}, 1)) == whole);
    return 0;
}
