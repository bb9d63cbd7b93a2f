#include "titles/pattern.h"

#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::titles {
namespace {

using Text = std::vector<std::uint8_t>;

Text random_text(Random& random, std::size_t most) {
    Text text(random.below(most + 1));
    const std::uint64_t letters = 1 + random.below(6);
    for (std::uint8_t& byte : text) {
        byte = static_cast<std::uint8_t>((random.below(letters) * 51) & 0xFF);
    }
    return text;
}

// The textbook's table.
std::size_t common(Bytes a, Bytes b) {
    std::vector<std::size_t> row(b.size() + 1, 0);
    for (const std::uint8_t byte : a) {
        std::size_t diagonal = 0;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] = byte == b[j - 1] ? diagonal + 1 : std::max(row[j], row[j - 1]);
            diagonal = above;
        }
    }
    return row.back();
}

// Every piece.
double partial(Bytes a, Bytes b) {
    if (a.size() > b.size()) {
        std::swap(a, b);
    }
    double best = 0.0;
    const auto look_at = [&](Bytes piece) {
        best = std::max(best, 2.0 * static_cast<double>(common(a, piece)) /
                                  static_cast<double>(a.size() + piece.size()));
    };
    for (std::size_t at = 0; at + a.size() <= b.size(); ++at) {
        look_at(b.subspan(at, a.size()));
    }
    for (std::size_t size = 1; size < a.size(); ++size) {
        look_at(b.first(size));
        look_at(b.last(size));
    }
    return best;
}

TEST(Pattern, FindsWhatTwoTextsHaveInCommon) {
    SeededRandom random(11);
    for (int i = 0; i < 8'000; ++i) {
        const Text a = random_text(random, Pattern::kMaxSize);
        const Text b = random_text(random, 100);
        ASSERT_EQ(Pattern(a).common(b), common(a, b)) << "round " << i;
    }
    const Text whole(Pattern::kMaxSize, 'x');
    EXPECT_EQ(Pattern(whole).common(whole), Pattern::kMaxSize);
}

// However many pieces are passed over, the best one is found, or there is none that reaches the
// floor.
TEST(Pattern, FindsTheBestPiece) {
    SeededRandom random(12);
    for (int i = 0; i < 8'000; ++i) {
        const Text a = random_text(random, i % 2 == 0 ? 12 : Pattern::kMaxSize);
        const Text b = random_text(random, i % 3 == 0 ? 12 : i % 50 == 1 ? 400 : 60);
        if (a.empty() || b.empty() || a.size() == b.size()) {
            continue;
        }
        const double best = partial(a, b);
        // Just at the best, a little beyond, and anywhere.
        const double floors[] = {std::max(best, 0.01), std::min(1.0, best + 0.001),
                                 0.01 + 0.99 * random.unit()};
        for (const double floor : floors) {
            const double found = Pattern(a).partial(b, common(a, b), floor);
            ASSERT_DOUBLE_EQ(found, best >= floor ? best : 0.0)
                << "round " << i << ", floor " << floor << ", sizes " << a.size() << " and "
                << b.size();
        }
    }
}

}  // namespace
}  // namespace sluice::titles
