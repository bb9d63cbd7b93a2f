#include "titles/corpus.h"

#include "random_titles.h"
#include "titles/fingerprint.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::titles {
namespace {

using testing::Test;

std::string text(Bytes bytes) {
    return {bytes.begin(), bytes.end()};
}

std::shared_ptr<const Corpus> corpus_of(std::vector<Candidate> candidates) {
    auto built = Corpus::build(std::move(candidates));
    EXPECT_TRUE(built.ok());
    return *std::move(built);
}

// The value that other programs compute, too: the order of pages does not count, versions do.
TEST(Fingerprint, IsOfIdsAndVersions) {
    EXPECT_EQ(to_hex(corpus_fingerprint({{1, 1}, {2, 5}})),
              "6c4efeab2c83862168f0f0e13de7087e5131143b10ccfc6b21e73130d9ff7c29");
    EXPECT_EQ(corpus_fingerprint({{2, 5}, {1, 1}}), corpus_fingerprint({{1, 1}, {2, 5}}));
    EXPECT_NE(corpus_fingerprint({{1, 1}, {2, 6}}), corpus_fingerprint({{1, 1}, {2, 5}}));
    EXPECT_NE(corpus_fingerprint({{1, 12}}), corpus_fingerprint({{11, 2}}));
    // By number: 9 comes before 10.
    EXPECT_EQ(corpus_fingerprint({{10, 1}, {9, 1}}), sha256("9\x1f"
                                                            "1\x1e"
                                                            "10\x1f"
                                                            "1\x1e"));
    EXPECT_EQ(corpus_fingerprint({}), sha256(""));
}

// Equal scores are listed by title, then by id: candidates are numbered so.
TEST(Corpus, NumbersTitlesInTheirOrder) {
    const auto corpus = corpus_of({{.id = 4, .title = "Zebra"},
                                   {.id = 9, .title = "apple  PIE"},
                                   {.id = 3, .title = "Apple pie"},
                                   {.id = 1, .title = "\U0001F680"},
                                   {.id = 2, .title = "\uFFFD"},
                                   {.id = 5, .title = "\u00c4pfel"}});
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < corpus->size(); ++i) {
        ids.push_back(corpus->candidate(i).id);
    }
    EXPECT_EQ(ids, (std::vector<std::int64_t>{3, 9, 4, 5, 2, 1}));
    EXPECT_EQ(corpus->candidate(1).title, "apple  PIE");
}

// Each title takes the narrowest units that hold it, and one byte a code point beside them.
TEST(Corpus, KeepsTheFormsOfATitle) {
    const auto corpus = corpus_of({{.id = 1, .title = "The cat and the Hat"},
                                   {.id = 2, .title = "Caf\u00e9 \u00fc"},
                                   {.id = 3, .title = "\u041f\u043e\u0438\u0441\u043a a"},
                                   {.id = 4, .title = "\U0001F680 \u0430"}});
    const TitleForms cafe = corpus->forms(0);
    EXPECT_EQ(std::get<0>(cafe.text).size(), 6u);
    EXPECT_EQ(text(cafe.as_is), "caf\xe9 \xfc");
    EXPECT_EQ(cafe.block, 1u);

    const TitleForms cat = corpus->forms(1);
    EXPECT_EQ(text(cat.as_is), "the cat and the hat");
    EXPECT_EQ(text(cat.sorted), "and cat hat the the");
    EXPECT_EQ(text(cat.unique), "and cat hat the");
    EXPECT_EQ(cat.unique_words, 4u);
    EXPECT_EQ(cat.block, kAsciiOnly);

    const TitleForms search = corpus->forms(2);
    ASSERT_EQ(std::get<1>(search.text).size(), 7u);
    EXPECT_EQ(std::get<1>(search.text)[0], 0x43F);
    EXPECT_EQ(text(search.as_is), "\xbf\xbe\xb8\xc1\xba a");
    EXPECT_EQ(text(search.sorted), "a \xbf\xbe\xb8\xc1\xba");
    EXPECT_EQ(search.block, 0x400u >> 7);

    const TitleForms rocket = corpus->forms(3);
    ASSERT_EQ(std::get<2>(rocket.text).size(), 3u);
    EXPECT_EQ(std::get<2>(rocket.text)[0], 0x1F680u);
    EXPECT_EQ(rocket.block, kManyBlocks);
}

TEST(Corpus, KnowsWhichTitlesHaveAWord) {
    const auto corpus = corpus_of({{.id = 1, .title = "a b"},
                                   {.id = 2,
                                    .title = "b b\x1f"
                                             "c"},
                                   {.id = 3, .title = "bc"},
                                   {.id = 4, .title = " "}});
    const auto with = [&corpus](std::string_view word) {
        const auto found = corpus->tokens().titles_with(word);
        return std::vector<std::uint32_t>(found.begin(), found.end());
    };
    EXPECT_EQ(with("a"), (std::vector<std::uint32_t>{1}));
    EXPECT_EQ(with("b"), (std::vector<std::uint32_t>{1, 2}));
    EXPECT_EQ(with("c"), (std::vector<std::uint32_t>{2}));
    EXPECT_TRUE(with("").empty());
    EXPECT_TRUE(with("d").empty());
}

}  // namespace
}  // namespace sluice::titles
