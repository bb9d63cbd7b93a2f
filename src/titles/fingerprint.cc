#include "titles/fingerprint.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace sluice::titles {

namespace {

constexpr char kUnitSeparator = 0x1F;
constexpr char kRecordSeparator = 0x1E;

void append_decimal(std::string& out, std::int64_t number) {
    char digits[20];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
    out.append(digits, end);
}

}  // namespace

Sha256 corpus_fingerprint(std::vector<PageVersion> pages) {
    std::sort(pages.begin(), pages.end(),
              [](const PageVersion& a, const PageVersion& b) { return a.id < b.id; });
    std::string bytes;
    bytes.reserve(pages.size() * 12);
    for (const PageVersion& page : pages) {
        append_decimal(bytes, page.id);
        bytes += kUnitSeparator;
        append_decimal(bytes, page.version);
        bytes += kRecordSeparator;
    }
    return sha256(bytes);
}

}  // namespace sluice::titles
