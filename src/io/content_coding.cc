#include "io/content_coding.h"

#include "base/result.h"
#include "base/text.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>

namespace sluice::io {

namespace {

constexpr std::size_t kMaxStoredBlock = 65'535;   // DEFLATE, RFC 1951 section 3.2.4
constexpr std::size_t kMaxRawBlock = 128 * 1024;  // Zstandard, RFC 8878 section 3.1.1.2.3

void append_little_endian(std::string& out, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
        out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
    }
}

// A qvalue in thousandths: "1", "0.5", "0.125". Nothing when it is not one.
std::optional<int> parse_quality(std::string_view text) {
    if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) {
        return std::nullopt;
    }
    int quality = (text[0] - '0') * 1000;
    if (text.size() > 1 && text[1] != '.') {
        return std::nullopt;
    }
    int weight = 100;
    for (const char c : text.substr(std::min<std::size_t>(2, text.size()))) {
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        quality += (c - '0') * weight;
        weight /= 10;
    }
    return quality <= 1000 ? std::optional(quality) : std::nullopt;
}

// The qualities named for each coding so far; nothing where none was named.
struct Qualities {
    std::array<std::optional<int>, 3> of;  // by Coding
    std::optional<int> any;                // "*"

    int quality(Coding coding) const {
        const std::optional<int>& named = of[static_cast<std::size_t>(coding)];
        if (named) {
            return *named;
        }
        if (any) {
            return *any;
        }
        return coding == Coding::kIdentity ? 1 : 0;  // acceptable, but anything named is preferred
    }
};

// One element of the list: "gzip", "br;q=0.8", "*;q=0". A malformed one counts as refused.
void take_element(std::string_view element, Qualities& qualities) {
    const std::size_t semicolon = element.find(';');
    const std::string_view name = trim(element.substr(0, semicolon));
    int quality = 1000;
    if (semicolon != std::string_view::npos) {
        const std::string_view parameter = trim(element.substr(semicolon + 1));
        const bool is_quality = parameter.size() > 2 &&
                                (parameter[0] == 'q' || parameter[0] == 'Q') && parameter[1] == '=';
        quality = is_quality ? parse_quality(parameter.substr(2)).value_or(0) : 0;
    }
    if (name == "*") {
        qualities.any = quality;
    } else if (equals_ignoring_case(name, "gzip") || equals_ignoring_case(name, "x-gzip")) {
        qualities.of[static_cast<std::size_t>(Coding::kGzip)] = quality;
    } else if (equals_ignoring_case(name, "zstd")) {
        qualities.of[static_cast<std::size_t>(Coding::kZstd)] = quality;
    } else if (equals_ignoring_case(name, "identity")) {
        qualities.of[static_cast<std::size_t>(Coding::kIdentity)] = quality;
    }
}

void append_stored_block(std::string& out, std::string_view block, bool is_last) {
    out.push_back(is_last ? '\1' : '\0');
    append_little_endian(out, block.size(), 2);
    append_little_endian(out, ~block.size(), 2);
    out.append(block);
}

// All but what fits into one block, which is left in `text`.
void append_stored_blocks(std::string& out, std::string_view& text) {
    while (text.size() > kMaxStoredBlock) {
        append_stored_block(out, text.substr(0, kMaxStoredBlock), false);
        text.remove_prefix(kMaxStoredBlock);
    }
}

std::uint32_t checksum_on(std::uint32_t before, std::string_view text) {
    if (text.empty()) {
        return before;  // zlib would begin anew, since an empty text may be nowhere
    }
    return static_cast<std::uint32_t>(
        crc32_z(before, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

// One zstd frame that holds `text` as it is; nothing for none.
void append_raw_frame(std::string& out, std::string_view text) {
    if (text.empty()) {
        return;
    }
    append_little_endian(out, 0xFD2FB528, 4);  // magic number
    // The content's size in four bytes, a single segment, no checksum, no dictionary.
    out.push_back('\xa0');
    append_little_endian(out, text.size(), 4);
    while (!text.empty()) {
        const std::string_view block = text.substr(0, kMaxRawBlock);
        text.remove_prefix(block.size());
        append_little_endian(out, block.size() << 3 | (text.empty() ? 1 : 0), 3);
        out.append(block);
    }
}

}  // namespace

std::string_view to_string(Coding coding) {
    switch (coding) {
        case Coding::kIdentity:
            return "";
        case Coding::kGzip:
            return "gzip";
        case Coding::kZstd:
            return "zstd";
    }
    SLUICE_ASSERT(false && "a Coding outside its enumeration");
}

CodingChoice choose_coding(std::span<const HeaderField> fields) {
    Qualities qualities;
    bool present = false;
    for (const HeaderField& field : fields) {
        if (!equals_ignoring_case(field.name, "accept-encoding")) {
            continue;
        }
        present = true;
        std::string_view rest = field.value;
        while (!rest.empty()) {
            const std::size_t comma = std::min(rest.find(','), rest.size());
            take_element(rest.substr(0, comma), qualities);
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
    }
    if (!present) {
        return {};
    }
    CodingChoice choice;
    choice.identity_refused = qualities.quality(Coding::kIdentity) == 0;
    int best = qualities.quality(Coding::kIdentity);
    for (const Coding coding : {Coding::kGzip, Coding::kZstd}) {
        const int quality = qualities.quality(coding);
        if (quality > 0 && quality >= best) {
            best = quality;
            choice.coding = coding;
        }
    }
    return choice;
}

CodedBody splice_gzip(std::string_view lead, const HttpBody& body, std::string_view tail) {
    const HttpBody::Encoded& encoded = body.gzip();
    CodedBody coded;
    // Magic, DEFLATE, no flags, no time, no extra flags, an unknown file system (RFC 1952).
    coded.before.assign("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", 10);
    std::string_view rest = lead;
    append_stored_blocks(coded.before, rest);
    if (!rest.empty()) {
        append_stored_block(coded.before, rest, false);
    }
    coded.shared = encoded.data;
    rest = tail;
    append_stored_blocks(coded.after, rest);
    append_stored_block(coded.after, rest, true);  // empty where there is no tail

    const auto lead_crc = checksum_on(0, lead);
    const uLong crc = crc32_combine(lead_crc, encoded.crc32, static_cast<z_off_t>(body.size()));
    append_little_endian(coded.after, checksum_on(static_cast<std::uint32_t>(crc), tail), 4);
    append_little_endian(coded.after, lead.size() + body.size() + tail.size(), 4);
    return coded;
}

CodedBody splice_zstd(std::string_view lead, const HttpBody& body, std::string_view tail) {
    CodedBody coded;
    append_raw_frame(coded.before, lead);
    coded.shared = body.zstd().data;
    append_raw_frame(coded.after, tail);
    return coded;
}

}  // namespace sluice::io
