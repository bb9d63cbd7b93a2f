// Any text as a recording: it is read or refused with one line, and what was read is written and
// read again as the same.
#include "base/text.h"
#include "io/exchange.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static constexpr std::array<std::string_view, 2> kUpstreams = {"serper", "brave"};
    static sluice::io::ExchangeFormat format;
    const auto read = format.read({reinterpret_cast<const char*>(data), size}, kUpstreams);
    if (!read.ok()) {
        const std::string& message = read.error().message;
        SLUICE_ASSERT(!message.empty() && sluice::is_valid_utf8(message));
        SLUICE_ASSERT(message.find('\n') == std::string::npos);
        return 0;
    }
    const auto again = format.read(format.write(*read), kUpstreams);
    SLUICE_ASSERT(again.ok());
    SLUICE_ASSERT(format.match_key(again->request) == format.match_key(read->request));
    SLUICE_ASSERT(again->outcome.ok() == read->outcome.ok());
    if (read->outcome.ok()) {
        SLUICE_ASSERT(again->outcome->status == read->outcome->status);
        SLUICE_ASSERT(again->outcome->body == read->outcome->body);
        SLUICE_ASSERT(again->outcome->headers == read->outcome->headers);
    }
    return 0;
}
