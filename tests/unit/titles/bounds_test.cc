#include "titles/bounds.h"

#include "random_titles.h"
#include "titles/title_forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::titles {
namespace {

FormsOfTitles forms_of(std::string_view match_copy) {
    FormsOfTitles forms;
    forms.add(match_copy, sorted_words(match_copy));
    return forms;
}

SharedWords shared_words(std::string_view query, std::string_view title) {
    std::vector<std::string_view> words = sorted_words(query);
    words.erase(std::unique(words.begin(), words.end()), words.end());
    const std::vector<std::string_view> others = sorted_words(title);
    SharedWords shared = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (std::find(others.begin(), others.end(), words[i]) != others.end()) {
            shared |= SharedWords{1} << i;
        }
    }
    return shared;
}

ScoreRange bounds(std::string_view query, std::string_view title, double cutoff) {
    const FormsOfTitles query_forms = forms_of(query);
    return QueryBounds(query_forms.of(0), cutoff)
        .of(forms_of(title).of(0), shared_words(query, title));
}

// The score lies in its range, whatever the texts are; below the cutoff that is all that is told.
TEST(QueryBounds, AreSound) {
    int close = 0;
    int pairs = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        SeededRandom random(seed);
        RandomTitles texts(random);
        for (int i = 0; i < 100; ++i) {
            const std::string title = texts.title();
            const std::string query = texts.query({title, texts.title()});
            if (!QueryBounds::can_bound(forms_of(query).of(0))) {
                continue;
            }
            const double cutoff = random.below(2) == 0 ? 60.0 : 100.0 * random.unit();
            const double score = wratio(query, title, cutoff);
            const ScoreRange range = bounds(query, title, cutoff);
            if (range.high < cutoff - kBoundSlack) {
                ASSERT_EQ(score, 0.0) << "seed " << seed << ": '" << query << "' '" << title << "'";
                continue;
            }
            ASSERT_LE(score, range.high)
                << "seed " << seed << ": '" << query << "' '" << title << "'";
            if (range.low > cutoff + kBoundSlack) {
                ASSERT_GE(score, range.low)
                    << "seed " << seed << ": '" << query << "' '" << title << "'";
            }
            pairs += 1;
            close += range.high - range.low < 3 * kBoundSlack ? 1 : 0;
        }
    }
    // And they say something: most are nearly the score itself.
    EXPECT_GT(pairs, 5'000);
    EXPECT_GT(close, pairs / 2);
}

// A score that follows from a shared word alone is known to the last bit.
TEST(QueryBounds, KnowTheScoreOfASharedWord) {
    const ScoreRange range = bounds("redis evicton", "redis cache settings by provider", 60.0);
    EXPECT_EQ(range.low, range.high);
    EXPECT_EQ(range.high, wratio("redis evicton", "redis cache settings by provider", 60.0));
}

TEST(QueryBounds, AreThereForQueriesOfOneMachineWord) {
    EXPECT_TRUE(QueryBounds::can_bound(forms_of(std::string(64, 'x')).of(0)));
    EXPECT_FALSE(QueryBounds::can_bound(forms_of(std::string(65, 'x')).of(0)));
    EXPECT_FALSE(QueryBounds::can_bound(forms_of("\x1f\x1e").of(0)));
    EXPECT_FALSE(QueryBounds::can_bound(forms_of("").of(0)));
}

}  // namespace
}  // namespace sluice::titles
