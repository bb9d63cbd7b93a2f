// Scoring leaves most titles out; what it lists and counts is what scoring each of them gives.
#include "titles/score.h"

#include "base/json.h"
#include "random_titles.h"
#include "support/json_list.h"
#include "titles/match_copy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace sluice::titles {
namespace {

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<const Corpus> corpus_of(std::vector<Candidate> candidates) {
    auto built = Corpus::build(std::move(candidates));
    EXPECT_TRUE(built.ok());
    return *std::move(built);
}

Ranking ranking_of(const Corpus& corpus, std::string_view query, const ScoreLimits& limits) {
    auto ranking = score_titles(corpus, QueryText(std::string(query)), limits);
    EXPECT_TRUE(ranking);
    return *std::move(ranking);
}

// 40 queries with mistakes over 60 titles, scored by Python's rapidfuzz: tests/cases/titles/.
class TitleCases : public testing::Test {
 protected:
    TitleCases() {
        JsonReader reader;
        const std::string titles = read_file("tests/cases/titles/titles.json");
        for (const JsonValue& title : test::listed(*reader.parse(titles))) {
            Candidate& added = candidates_.emplace_back();
            added.id = *title.find("id")->as_integer();
            added.version = *title.find("version")->as_integer();
            added.title = title.string_at("title");
        }
        corpus_ = corpus_of(candidates_);
    }

    std::string title(std::int64_t id) const {
        for (const Candidate& candidate : candidates_) {
            if (candidate.id == id) {
                return candidate.title;
            }
        }
        return {};
    }

    void expect(const JsonValue& row) const {
        const std::string query = match_copy(row.string_at("query"));
        EXPECT_EQ(query, row.string_at("normalized"));
        const Ranking all = ranking_of(*corpus_, query, {.cutoff = 0.0});
        EXPECT_EQ(all.total_matched, candidates_.size());
        ASSERT_EQ(all.pages.size(), 50u);
        EXPECT_EQ(all.pages[0].id, *row.find("top_id")->as_integer());
        EXPECT_NEAR(all.pages[0].score, *row.find("top_score")->as_number(), 5e-7);
        EXPECT_EQ(title(all.pages[1].id), row.string_at("second_title"));
        EXPECT_NEAR(all.pages[1].score, *row.find("second_score")->as_number(), 5e-7);
        for (const int cutoff : {60, 70}) {
            const auto matched = row.find("matched_at_cutoff_" + std::to_string(cutoff));
            const Ranking ranking = ranking_of(*corpus_, query, {.cutoff = double(cutoff)});
            EXPECT_EQ(std::int64_t(ranking.total_matched), *matched->as_integer()) << cutoff;
            EXPECT_EQ(ranking, plain_ranking(candidates_, query, {.cutoff = double(cutoff)}));
        }
    }

    std::vector<Candidate> candidates_;
    std::shared_ptr<const Corpus> corpus_;
};

TEST_F(TitleCases, ScoreAsWrittenDown) {
    JsonReader reader;
    const std::string expected = read_file("tests/cases/titles/expected.json");
    const auto rows = test::listed(reader.parse(expected)->find("cases"));
    ASSERT_EQ(rows.size(), 40u);
    for (const JsonValue& row : rows) {
        SCOPED_TRACE(row.string_at("query"));
        expect(row);
    }
}

// The same scores to the last bit, the same matches, order and number, whatever titles and queries
// are.
TEST(ScoreTitles, IsWhatScoringEachTitleGives) {
    for (std::uint64_t seed = 1; seed <= 80; ++seed) {
        SeededRandom random(seed);
        RandomTitles texts(random);
        std::vector<std::string> titles(1 + random.below(120));
        for (std::string& title : titles) {
            title = texts.title();
        }
        const auto candidates = candidates_of(titles);
        const auto corpus = corpus_of(candidates);
        for (int i = 0; i < 12; ++i) {
            const std::string query = texts.query(titles);
            ScoreLimits limits;
            constexpr double kCutoffs[] = {60.0, 60.0, 60.0, 0.0, 57.0, 85.5, 95.0, 100.0, 100.5};
            limits.cutoff = kCutoffs[random.below(std::size(kCutoffs))];
            limits.result_limit = random.below(2) == 0 ? 50 : random.below(8);
            ASSERT_EQ(ranking_of(*corpus, query, limits), plain_ranking(candidates, query, limits))
                << "seed " << seed << ": '" << query << "', cutoff " << limits.cutoff << ", "
                << limits.result_limit << " listed";
        }
    }
}

// Among equal scores the title decides, then the id; also at the end of the list.
TEST(ScoreTitles, OrdersEqualScoresByTitleAndId) {
    std::vector<Candidate> candidates;
    for (const std::string_view title :
         {"redis zone", "Redis alpha", "redis alpha", "redis beta"}) {
        for (int i = 0; i < 20; ++i) {
            Candidate& added = candidates.emplace_back();
            added.id = static_cast<std::int64_t>(1'000 - candidates.size());
            added.title = title;
        }
    }
    const auto corpus = corpus_of(candidates);
    const Ranking ranking = ranking_of(*corpus, "redis", {});
    EXPECT_EQ(ranking.total_matched, 80u);
    EXPECT_TRUE(ranking.is_truncated());
    ASSERT_EQ(ranking.pages.size(), 50u);
    EXPECT_EQ(ranking, plain_ranking(candidates, "redis", {}));
    EXPECT_LT(ranking.pages[0].id, ranking.pages[1].id);
    EXPECT_FALSE(ranking_of(*corpus, "redis", {.result_limit = 80}).is_truncated());
    EXPECT_TRUE(ranking_of(*corpus, "redis", {.result_limit = 0}).pages.empty());
    EXPECT_EQ(ranking_of(*corpus, "redis", {.result_limit = 0}).total_matched, 80u);
}

TEST(ScoreTitles, FindsNothingAmongNothing) {
    const auto empty = corpus_of({});
    EXPECT_EQ(ranking_of(*empty, "redis", {}), Ranking());
    const auto blank = corpus_of({{.id = 1, .title = " "}});
    EXPECT_EQ(ranking_of(*blank, "redis", {}), Ranking());
    EXPECT_EQ(ranking_of(*blank, "", {}), Ranking());
}

// Who searches may go away: then there is no answer, and not half of one.
TEST(ScoreTitles, StopsWhenAsked) {
    const auto corpus = corpus_of(candidates_of(std::vector<std::string>(2'000, "redis cache")));
    std::stop_source source;
    EXPECT_TRUE(score_titles(*corpus, QueryText("redis"), {}, source.get_token()));
    source.request_stop();
    EXPECT_FALSE(score_titles(*corpus, QueryText("redis"), {}, source.get_token()));
}

// Several threads search in one corpus.
TEST(ScoreTitles, SharesACorpusBetweenThreads) {
    SeededRandom random(5);
    RandomTitles texts(random);
    std::vector<std::string> titles(300);
    for (std::string& title : titles) {
        title = texts.title();
    }
    const auto corpus = corpus_of(candidates_of(titles));
    const std::string query = texts.query(titles);
    const Ranking expected = ranking_of(*corpus, query, {});
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 20; ++round) {
                EXPECT_EQ(*score_titles(*corpus, QueryText(query), {}), expected);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace
}  // namespace sluice::titles
