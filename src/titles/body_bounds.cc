#include "titles/body_bounds.h"

#include <algorithm>

namespace sluice::titles {

namespace {

constexpr std::size_t kTab = 4;
constexpr std::size_t kLeastIndent = 2;  // that an item of a list takes
constexpr std::size_t kMostDigits = 9;   // of the number of an item
constexpr std::size_t kTextIndent = 4;   // from here on a ">" may be part of a text

bool is_space(char c) {
    return c == ' ' || c == '\t';
}

// What a line begins with.
struct Prefix {
    std::size_t indent = 0;  // columns of white space, wherever they stand between the markers
    std::size_t quotes = 0;
    std::size_t items = 0;
    bool is_blank = false;  // nothing else is on the line, so that no text goes on after it
};

// Finds lines across the page: three or more of one of "*" and "-", and nothing else, in what is
// left of a line. One look at the whole line answers for every part of it.
class Breaks {
 public:
    explicit Breaks(std::string_view line)
        : line_(line), after_stars_(after_others("* \t")), after_dashes_(after_others("- \t")) {}

    bool begins_at(std::size_t at) const {
        const char c = line_[at];
        if ((c != '*' && c != '-') || at < (c == '*' ? after_stars_ : after_dashes_)) {
            return false;
        }
        return std::ranges::count(line_.substr(at), c) >= 3;
    }

 private:
    // Where the last other character has been passed.
    std::size_t after_others(const char* these) const {
        const std::size_t other = line_.find_last_not_of(these);
        return other == std::string_view::npos ? 0 : other + 1;
    }

    std::string_view line_;
    std::size_t after_stars_;
    std::size_t after_dashes_;
};

// The bytes of the marker of an item that `line` begins with; 0: there is none.
std::size_t marker_bytes(std::string_view line) {
    std::size_t digits = 0;
    while (digits < line.size() && line[digits] >= '0' && line[digits] <= '9') {
        digits += 1;
    }
    const std::string_view ends = digits == 0 ? "-+*" : ".)";
    if (digits > kMostDigits || digits == line.size() ||
        ends.find(line[digits]) == std::string_view::npos) {
        return 0;
    }
    const std::size_t bytes = digits + 1;
    return bytes == line.size() || is_space(line[bytes]) ? bytes : 0;
}

Prefix prefix_of(std::string_view line) {
    Prefix prefix;
    const Breaks breaks(line);
    bool may_be_text = false;
    for (std::size_t at = 0; at < line.size();) {
        std::size_t taken = 1;
        if (is_space(line[at])) {
            prefix.indent += line[at] == '\t' ? kTab : 1;
        } else if (line[at] == '>') {
            prefix.quotes += 1;
            may_be_text = may_be_text || prefix.indent >= kTextIndent;
        } else {
            taken = breaks.begins_at(at) ? 0 : marker_bytes(line.substr(at));
            if (taken == 0) {
                return prefix;
            }
            prefix.items += 1;
        }
        at += taken;
    }
    prefix.is_blank = prefix.items == 0 && !may_be_text;
    return prefix;
}

// How deep the lists and quotes are that may be open.
class Depth {
 public:
    // False when it is too much.
    bool add(const Prefix& prefix) {
        const std::size_t goes_on = std::min(depth_, prefix.indent / kLeastIndent);
        const std::size_t opened = goes_on + prefix.quotes + prefix.items;
        // A line without anything leaves lists open, and the next one goes on in them only as far
        // as it is indented. Text right after text may go on however little it is.
        depth_ = prefix.is_blank || was_text_ ? std::max(depth_, opened) : opened;
        was_text_ = !prefix.is_blank;
        return depth_ <= kMaxBodyDepth;
    }

 private:
    std::size_t depth_ = 0;
    bool was_text_ = false;
};

// What looking back from links to images comes to.
class ImagePairs {
 public:
    bool add(std::string_view line, bool ends_paragraph) {
        if (ends_paragraph) {
            images_ = 0;
        }
        char before = 0;
        for (const char c : line) {
            images_ += c == '[' && before == '!' ? 1 : 0;
            pairs_ += c == ']' ? images_ : 0;
            before = c;
        }
        return pairs_ <= kMaxImagePairs;
    }

 private:
    std::uint64_t images_ = 0;
    std::uint64_t pairs_ = 0;
};

}  // namespace

std::optional<BodyProblem> body_problem(std::string_view markdown) {
    Depth depth;
    ImagePairs images;
    for (std::size_t number = 1; !markdown.empty(); ++number) {
        const std::size_t end = std::min(markdown.find_first_of("\n\r"), markdown.size());
        const std::string_view line = markdown.substr(0, end);
        const Prefix prefix = prefix_of(line);
        if (!depth.add(prefix)) {
            return BodyProblem{BodyExcess::kDepth, number};
        }
        if (!images.add(line, prefix.is_blank)) {
            return BodyProblem{BodyExcess::kImages, number};
        }
        const bool is_pair = markdown.substr(end).starts_with("\r\n");
        markdown.remove_prefix(std::min(end + (is_pair ? 2 : 1), markdown.size()));
    }
    return std::nullopt;
}

}  // namespace sluice::titles
