#include "web/plain_text.h"

#include "base/ascii.h"
#include "base/text.h"
#include "web/characters.h"
#include "web/host.h"

#include <algorithm>
#include <utility>

namespace sluice::web {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Character {
    std::string_view text;
    char32_t code = 0;
};

// The next one of `rest`, or U+FFFD for bytes that are none. `bytes` says how many they are.
Character first_character(std::string_view rest, std::size_t& bytes) {
    const Utf8Piece piece = first_utf8(rest);
    bytes = piece.bytes;
    const std::string_view text = piece.valid ? rest.substr(0, bytes) : kReplacement;
    return {text, code_point_of(text)};
}

// Reads a text without what hides in it: hidden characters are passed over, and so are joiners that
// join nothing. Those that do come together with the character behind them.
class CharacterReader {
 public:
    explicit CharacterReader(std::string_view text) : rest_(text) {}

    std::string_view rest() const { return rest_; }
    // Takes printable ASCII off as a whole.
    void skip_plain(std::size_t bytes) {
        rest_.remove_prefix(bytes);
        previous_ = 0;
    }

    // Nothing at the end of the text.
    std::optional<Character> next() {
        while (!rest_.empty()) {
            std::size_t bytes = 0;
            Character character = first_character(rest_, bytes);
            const CharacterKind kind = kind_of(character.code);
            const std::string_view from_here = rest_;
            rest_.remove_prefix(bytes);
            if (kind == CharacterKind::kJoiner && takes_joiners(previous_) && !rest_.empty()) {
                const Character joined = first_character(rest_, bytes);
                if (takes_joiners(joined.code)) {
                    rest_.remove_prefix(bytes);
                    previous_ = joined.code;
                    return Character{
                        from_here.substr(0, character.text.size() + joined.text.size()),
                        joined.code};
                }
            }
            if (kind != CharacterKind::kJoiner && kind != CharacterKind::kHidden) {
                previous_ = character.code;
                return character;
            }
        }
        return std::nullopt;
    }

 private:
    std::string_view rest_;
    char32_t previous_ = 0;
};

// Puts a line together: words, and one space for every gap between two.
class LineWriter {
 public:
    LineWriter(std::size_t max_bytes, std::size_t expected_bytes) : max_bytes_(max_bytes) {
        out_.reserve(std::min(expected_bytes, max_bytes));
    }

    bool is_full() const { return full_; }

    void add_gap() { gap_ = !out_.empty(); }

    // One character, or several in ASCII, of which as many are taken as there is room for.
    void add(std::string_view text) {
        const std::size_t taken = out_.size() + (gap_ ? 1 : 0);
        const std::size_t room = max_bytes_ - std::min(taken, max_bytes_);
        if (text.size() > room) {
            full_ = true;
            text = is_printable_ascii(text[0]) ? text.substr(0, room) : std::string_view();
            text = text.substr(0, text.find_last_not_of(' ') + 1);
        }
        if (text.empty()) {
            return;
        }
        if (gap_) {
            out_ += ' ';
            gap_ = false;
        }
        out_ += text;
    }

    void add_printable(std::string_view text) {
        while (!text.empty() && !full_) {
            if (text[0] == ' ') {
                add_gap();
                text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
                continue;
            }
            const std::string_view words = text.substr(0, text.find("  "));
            text.remove_prefix(words.size());
            const bool ends_in_gap = words.ends_with(' ');
            add(ends_in_gap ? words.substr(0, words.size() - 1) : words);
            if (ends_in_gap) {
                add_gap();
            }
        }
    }

    std::string take() && { return std::move(out_); }

 private:
    const std::size_t max_bytes_;
    std::string out_;
    bool gap_ = false;  // before whatever comes next
    bool full_ = false;
};

bool can_be_in_url(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte > 0x20) & (byte != 0x7F) & (byte != '"') & (byte != '<') & (byte != '>');
}

// What would not be seen in an address is written as it is sent.
std::string with_all_seen(std::string_view url) {
    std::string out;
    out.reserve(url.size());
    while (!url.empty()) {
        const std::size_t plain = plain_prefix(url, [](char c) { return is_ascii(c); });
        out.append(url.substr(0, plain));
        url.remove_prefix(plain);
        if (url.empty()) {
            break;
        }
        std::size_t bytes = 0;
        const Character character = first_character(url, bytes);
        out += kind_of(character.code) == CharacterKind::kShown ? std::string(character.text)
                                                                : percent_encode(character.text);
        url.remove_prefix(bytes);
    }
    return out;
}

// What stands behind a backslash or an '@' of an authority is its host to some readers only.
bool leads_to_one_host(std::string_view url) {
    const auto parts = split_url(url);
    return parts && parts->user.empty() && !parts->tail.starts_with('\\') &&
           port_number(parts->port) && is_host(parts->host);
}

}  // namespace

std::string_view looked_at(std::string_view text, std::size_t max_bytes) {
    constexpr std::size_t kAtLeast = 4096;
    constexpr std::size_t kTimes = 4;
    if (text.size() <= kAtLeast || text.size() / kTimes < max_bytes) {
        return text;
    }
    return text.substr(0, std::max(kAtLeast, kTimes * max_bytes));
}

std::string one_line(std::string_view text, std::size_t max_bytes) {
    text = looked_at(text, max_bytes);
    LineWriter line(max_bytes, text.size());
    CharacterReader reader(text);
    while (!line.is_full()) {
        const std::string_view plain =
            reader.rest().substr(0, plain_prefix(reader.rest(), is_printable_ascii));
        if (!plain.empty()) {
            line.add_printable(plain);
            reader.skip_plain(plain.size());
            continue;
        }
        const auto character = reader.next();
        if (!character) {
            break;
        }
        if (kind_of(character->code) == CharacterKind::kShown) {
            line.add(character->text);
        } else {
            line.add_gap();
        }
    }
    return std::move(line).take();
}

std::string many_lines(std::string_view text, std::size_t max_bytes) {
    text = trim(looked_at(text, max_bytes));
    std::string out;
    out.reserve(std::min(text.size(), max_bytes));
    CharacterReader reader(text);
    while (auto character = reader.next()) {
        const CharacterKind kind = kind_of(character->code);
        std::string_view shown = character->text;
        if (shown == "\r") {
            if (reader.rest().starts_with('\n')) {
                continue;
            }
            shown = "\n";
        } else if (kind == CharacterKind::kLineBreak) {
            shown = "\n";
        } else if (kind == CharacterKind::kControl && shown != "\n" && shown != "\t") {
            shown = " ";
        }
        if (out.size() + shown.size() > max_bytes) {
            break;
        }
        out += shown;
    }
    return std::string(trim(out));
}

std::optional<std::string> answer_text(std::string_view text) {
    std::string lines = many_lines(text, kMaxAnswerBytes);
    return lines.empty() ? std::nullopt : std::optional(std::move(lines));
}

std::optional<std::string> usable_url(std::string_view text) {
    const std::string_view url = trim(text);
    if (url.size() > kMaxUrlBytes || !is_valid_utf8(url) ||
        plain_prefix(url, can_be_in_url) != url.size()) {
        return std::nullopt;
    }
    const auto scheme_end = url.find("://");
    if (scheme_end == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view scheme = url.substr(0, scheme_end);
    if (!equals_ignoring_case(scheme, "https") && !equals_ignoring_case(scheme, "http")) {
        return std::nullopt;
    }
    if (!leads_to_one_host(url)) {
        return std::nullopt;
    }
    if (is_ascii(url)) {
        return std::string(url);
    }
    std::string seen = with_all_seen(url);
    return seen.size() > kMaxUrlBytes ? std::nullopt : std::optional(std::move(seen));
}

}  // namespace sluice::web
