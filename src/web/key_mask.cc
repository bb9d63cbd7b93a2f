#include "web/key_mask.h"

#include "base/percent.h"
#include "base/text.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::web {
namespace {

// Six bytes are 48 bits, in which seven whole characters of base64 fit wherever they begin.
constexpr std::size_t kMinBase64Part = 7;

// A character of the text, and the bytes that it is written with.
struct Unit {
    char character;
    std::size_t begin;
    std::size_t end;
};

// Both alphabets of base64 as one, and the case left out.
char folded(char c) {
    if (c >= 'A' && c <= 'Z') {
        return static_cast<char>(c - 'A' + 'a');
    }
    return c == '-' ? '+' : c == '_' ? '/' : c;
}

// The byte that two hexadecimal digits at `at` are; -1 where there are none.
int hex_byte(std::string_view text, std::size_t at) {
    if (text.size() < 2 || at > text.size() - 2) {
        return -1;
    }
    const int high = hex_value(text[at]);
    const int low = hex_value(text[at + 1]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// "%2B" is '+', and so is "%252B".
std::vector<Unit> units_of(std::string_view text) {
    std::vector<Unit> units;
    units.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        Unit unit{text[at], at, at + 1};
        for (int byte = 0; unit.character == '%' && (byte = hex_byte(text, unit.end)) >= 0;) {
            unit.character = static_cast<char>(byte);
            unit.end += 2;
        }
        unit.character = folded(unit.character);
        at = unit.end;
        units.push_back(unit);
    }
    return units;
}

// All pieces of a fixed length of some texts, for asking whether a piece is one of them.
class Pieces {
 public:
    explicit Pieces(std::size_t length) : length_(length) {}

    std::size_t length() const { return length_; }

    void add(std::string_view text) {
        std::uint64_t piece = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            piece = next(piece, folded(text[i]));
            if (i + 1 >= length_) {
                pieces_.push_back(piece);
            }
        }
    }

    void finish() { std::ranges::sort(pieces_); }

    // The piece that ends in `c`, after the one before it.
    std::uint64_t next(std::uint64_t piece, char c) const {
        const std::uint64_t shifted = (piece << 8) | static_cast<unsigned char>(c);
        return shifted & ((std::uint64_t{1} << (8 * length_)) - 1);
    }

    bool have(std::uint64_t piece) const { return std::ranges::binary_search(pieces_, piece); }

 private:
    const std::size_t length_;  // below eight: a piece is a number
    std::vector<std::uint64_t> pieces_;
};
static_assert(kMinKeyPart < 8 && kMinBase64Part < 8);

// What base64 has of `key` whole, when `before` bytes of the group that it begins in are others.
std::string base64_inside(std::string_view key, std::size_t before) {
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    constexpr std::size_t kBits = 6;
    std::string out;
    std::uint32_t bits = 0;
    std::size_t count = 0;
    // The first character that is the key's alone begins so many bits into it.
    std::size_t skipped = (kBits - before * 8 % kBits) % kBits;
    for (const char c : key) {
        bits = (bits << 8) | static_cast<unsigned char>(c);
        count += 8 - skipped;
        skipped = 0;
        while (count >= kBits) {
            count -= kBits;
            out += kAlphabet[(bits >> count) & 63];
        }
    }
    return out;
}

void mark(std::vector<bool>& found, const std::vector<Unit>& units, const Pieces& pieces) {
    std::uint64_t piece = 0;
    for (std::size_t i = 0; i < units.size(); ++i) {
        piece = pieces.next(piece, units[i].character);
        if (i + 1 >= pieces.length() && pieces.have(piece)) {
            const auto at = [&](std::size_t byte) {
                return found.begin() + static_cast<std::ptrdiff_t>(byte);
            };
            std::fill(at(units[i + 1 - pieces.length()].begin), at(units[i].end), true);
        }
    }
}

}  // namespace

std::vector<bool> key_bytes(std::string_view text, const Secret& key) {
    std::vector<bool> found(text.size());
    if (key.empty()) {
        return found;
    }
    const std::vector<Unit> units = units_of(text);
    Pieces plain(std::min(kMinKeyPart, key.reveal().size()));
    plain.add(key.reveal());
    plain.finish();
    mark(found, units, plain);
    Pieces base64(kMinBase64Part);
    for (const std::size_t before : {0U, 1U, 2U}) {
        base64.add(base64_inside(key.reveal(), before));
    }
    base64.finish();
    mark(found, units, base64);
    return found;
}

}  // namespace sluice::web
