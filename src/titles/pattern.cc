#include "titles/pattern.h"

#include "base/result.h"

#include <algorithm>
#include <bit>

namespace sluice::titles {

namespace {

// What rounding may take from a product of figures between 0 and 100.
constexpr double kRounding = 1e-9;

std::size_t round_up(double figure) {
    const double less = std::max(0.0, figure - kRounding);
    const auto down = static_cast<std::size_t>(less);
    return down + (static_cast<double>(down) < less ? 1 : 0);
}

double ratio(std::size_t common, std::size_t sizes) {
    return 2.0 * static_cast<double>(common) / static_cast<double>(sizes);
}

// Follows pieces at one end of a text, which grow by a byte at a time: which ones are worth a
// count. A piece of k bytes has k in common at most, and each further byte adds one at most.
class GrowingPieces {
 public:
    GrowingPieces(std::size_t whole, double floor) : whole_(whole), best_(floor) {
        next_ =
            std::max<std::size_t>(1, round_up(floor * static_cast<double>(whole) / (2.0 - floor)));
    }

    bool is_done() const { return next_ >= whole_; }
    std::size_t next() const { return next_; }
    // Of the next piece; more than this many are needed of any.
    std::size_t needed() const {
        return round_up(best_ * static_cast<double>(whole_ + next_) / 2.0);
    }

    void count(std::size_t common) {
        const double value = ratio(common, whole_ + next_);
        const double lacking =
            best_ * static_cast<double>(whole_ + next_) / 2.0 - static_cast<double>(common);
        if (lacking <= kRounding) {
            best_ = std::max(best_, value);
            found_ = std::max(found_, value);
            next_ += 1;
            return;
        }
        next_ += std::max<std::size_t>(1, round_up(lacking / (1.0 - best_ / 2.0)));
    }

    double found() const { return found_; }

 private:
    std::size_t whole_;
    double best_;  // what a piece must reach
    double found_ = 0.0;
    std::size_t next_ = 1;
};

// How many bytes of a piece of a text occur in the pattern at all, which is the most that they can
// have in common. Like that, it differs by one at most between neighbouring pieces.
class CountsOfKnown {
 public:
    template <class Table>
    CountsOfKnown(Bytes text, const Table& table) : is_counted_(text.size() <= kMost) {
        std::uint8_t count = 0;
        for (std::size_t i = 0; is_counted_ && i < text.size(); ++i) {
            up_to_[i] = count;
            count = static_cast<std::uint8_t>(count + (table[text[i]] != 0 ? 1 : 0));
        }
        if (is_counted_) {
            up_to_[text.size()] = count;
        }
    }

    std::size_t in(std::size_t start, std::size_t size) const {
        return is_counted_ ? static_cast<std::size_t>(up_to_[start + size] - up_to_[start]) : size;
    }

 private:
    static constexpr std::size_t kMost = 255;  // a longer text is not counted

    bool is_counted_;
    std::array<std::uint8_t, kMost + 1> up_to_;  // written as far as the text goes
};

}  // namespace

Pattern::Pattern(Bytes text) : size_(text.size()) {
    SLUICE_ASSERT(size_ <= kMaxSize);
    for (std::size_t i = 0; i < size_; ++i) {
        forward_[text[i]] |= Row{1} << i;
        backward_[text[i]] |= Row{1} << (size_ - 1 - i);
    }
}

// With only the places in `window`.
Pattern::Row Pattern::common_row(Bytes text, Row window) const {
    Row row = ~Row{0};
    for (const std::uint8_t byte : text) {
        row = step(row, forward_[byte] & window);
    }
    return ~row;
}

std::size_t Pattern::common(Bytes text) const {
    Row row = ~Row{0};
    for (const std::uint8_t byte : text) {
        row = step(row, forward_[byte]);
    }
    return static_cast<std::size_t>(std::popcount(~row));
}

double Pattern::partial(Bytes text, std::size_t all_common, double floor) const {
    const std::size_t shorter = std::min(size_, text.size());
    const GrowingPieces ends(shorter, floor);
    double best = 0.0;
    if (all_common >= round_up(floor * static_cast<double>(shorter))) {
        best = size_ < text.size() ? pieces_of_text(text, floor) : pieces_of_pattern(text, floor);
    }
    if (best == 1.0 || ends.is_done() || all_common < ends.needed()) {
        return best;
    }
    floor = std::max(floor, best);
    if (size_ < text.size()) {
        const auto from_front = [text](std::size_t i) { return text[i]; };
        const auto from_back = [text](std::size_t i) { return text[text.size() - 1 - i]; };
        best = std::max(best, ends_of_text(forward_, from_front, floor));
        return std::max(best, ends_of_text(backward_, from_back, std::max(floor, best)));
    }
    best = std::max(best, ends_of_pattern(common_row(text, ~Row{0}), text.size(), floor));
    Row row = ~Row{0};
    for (std::size_t i = text.size(); i > 0; --i) {
        row = step(row, backward_[text[i - 1]]);
    }
    return std::max(best, ends_of_pattern(~row, text.size(), std::max(floor, best)));
}

double Pattern::pieces_of_text(Bytes text, double floor) const {
    std::size_t needed = std::max<std::size_t>(1, round_up(floor * static_cast<double>(size_)));
    std::size_t best = 0;
    const CountsOfKnown known(text, forward_);
    for (std::size_t at = 0; at + size_ <= text.size();) {
        std::size_t found = known.in(at, size_);
        if (found >= needed) {
            found = common(text.subspan(at, size_));
        }
        if (found >= needed) {
            best = found;
            needed = found + 1;
        }
        at += needed - found;
    }
    return static_cast<double>(best) / static_cast<double>(size_);
}

double Pattern::pieces_of_pattern(Bytes text, double floor) const {
    const std::size_t size = text.size();
    std::size_t needed = std::max<std::size_t>(1, round_up(floor * static_cast<double>(size)));
    std::size_t best = 0;
    const Row window = (Row{1} << size) - 1;  // size < size_ <= 64
    for (std::size_t at = 0; at + size <= size_;) {
        const auto found = static_cast<std::size_t>(std::popcount(common_row(text, window << at)));
        if (found >= needed) {
            best = found;
            needed = found + 1;
        }
        at += needed - found;
    }
    return static_cast<double>(best) / static_cast<double>(size);
}

template <class Next>
double Pattern::ends_of_text(const Table& table, Next next, double floor) const {
    GrowingPieces pieces(size_, floor);
    Row row = ~Row{0};
    for (std::size_t length = 0; !pieces.is_done();) {
        for (; length < pieces.next(); ++length) {
            row = step(row, table[next(length)]);
        }
        pieces.count(static_cast<std::size_t>(std::popcount(~row)));
    }
    return pieces.found();
}

double Pattern::ends_of_pattern(Row row, std::size_t piece, double floor) const {
    GrowingPieces pieces(piece, floor);
    while (!pieces.is_done()) {
        const Row places = (Row{1} << pieces.next()) - 1;
        pieces.count(static_cast<std::size_t>(std::popcount(row & places)));
    }
    return pieces.found();
}

}  // namespace sluice::titles
