#include "random_titles.h"

#include "base/text.h"
#include "titles/match_copy.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <rapidfuzz/fuzz.hpp>
#include <tuple>
#include <utility>

namespace sluice::titles {

namespace {

constexpr std::u32string_view kAlphabets[] = {
    U"abc",
    U"etaoinshrdlucmfwygp",
    U"abcde\u00e9\u00fc\u00f1",
    U"\u0430\u0431\u0432\u0433\u0434e",
    U"ab\u03b1\u03b2\u05d0\u05d1\u0142",
    U"\u65e5\u672c\u8a9e\u691c\u7d22\u30ac\u30a4\u30c9a",
    U"ab\U0001F680\U0001F4A5\u0431",
};

void append_utf8(std::string& out, char32_t c) {
    const auto part = [c](int shift, unsigned lead, unsigned mask) {
        return static_cast<char>(lead | ((c >> shift) & mask));
    };
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += {part(6, 0xC0, 0x1F), part(0, 0x80, 0x3F)};
    } else if (c < 0x10000) {
        out += {part(12, 0xE0, 0x0F), part(6, 0x80, 0x3F), part(0, 0x80, 0x3F)};
    } else {
        out +=
            {part(18, 0xF0, 0x07), part(12, 0x80, 0x3F), part(6, 0x80, 0x3F), part(0, 0x80, 0x3F)};
    }
}

std::vector<std::uint32_t> code_points(std::string_view utf8) {
    std::vector<std::uint32_t> out;
    while (!utf8.empty()) {
        const std::size_t size = first_utf8(utf8).bytes;
        auto c = static_cast<std::uint32_t>(static_cast<unsigned char>(utf8[0]));
        c &= size == 1 ? 0x7F : 0xFFU >> (size + 1);
        for (std::size_t i = 1; i < size; ++i) {
            c = c << 6 | (static_cast<unsigned char>(utf8[i]) & 0x3F);
        }
        out.push_back(c);
        utf8.remove_prefix(size);
    }
    return out;
}

}  // namespace

RandomTitles::RandomTitles(Random& random)
    : random_(random),
      alphabet_(kAlphabets[random.below(std::size(kAlphabets))]),
      longest_(1 + random.below(random.below(4) == 0 ? 30 : 8)) {
    for (std::uint64_t n = 1 + random.below(40); n > 0; --n) {
        std::u32string added;
        for (std::uint64_t letters = 1 + random.below(10); letters > 0; --letters) {
            added += alphabet_[random.below(alphabet_.size())];
        }
        known_.push_back(std::move(added));
    }
}

std::u32string RandomTitles::word() {
    std::u32string drawn = known_[random_.below(known_.size())];
    if (random_.below(4) == 0) {
        spoil(drawn);
    }
    return drawn;
}

std::u32string RandomTitles::joined(std::size_t words) {
    std::u32string text;
    for (; words > 0; --words) {
        if (!text.empty()) {
            text += random_.below(40) == 0 ? U'\x1f' : U' ';
        }
        text += word();
    }
    return text;
}

void RandomTitles::spoil(std::u32string& text) {
    const std::size_t at = random_.below(text.size() + 1);
    const char32_t letter = alphabet_[random_.below(alphabet_.size())];
    if (at == text.size() || random_.below(3) == 0) {
        text.insert(at, 1, letter);
    } else if (random_.below(2) == 0) {
        text[at] = letter;
    } else {
        text.erase(at, 1);
    }
}

std::string RandomTitles::match_copy_of(const std::u32string& text) {
    std::string utf8;
    for (const char32_t c : text) {
        append_utf8(utf8, c);
    }
    return match_copy(utf8);
}

std::string RandomTitles::title() {
    return match_copy_of(joined(random_.below(50) == 0 ? 0 : 1 + random_.below(longest_)));
}

std::string RandomTitles::query(const std::vector<std::string>& titles) {
    std::u32string text;
    if (random_.below(3) == 0) {
        text = joined(1 + random_.below(6));
    } else {
        const auto from = code_points(titles[random_.below(titles.size())]);
        std::u32string title(from.begin(), from.end());
        const std::size_t start = random_.below(title.size() + 1);
        text = title.substr(random_.below(2) == 0 ? 0 : start, 1 + random_.below(64));
        for (std::uint64_t n = random_.below(4); n > 0; --n) {
            spoil(text);
        }
        if (random_.below(3) == 0) {  // words in another order
            const std::size_t cut = std::min(text.find(U' '), text.size());
            text = text.substr(std::min(cut + 1, text.size())) + U' ' + text.substr(0, cut);
        }
    }
    const bool is_too_long = random_.below(40) == 0;
    std::string found = match_copy_of(is_too_long ? text + U' ' + joined(20) : text.substr(0, 64));
    return found.empty() ? "a" : found;
}

std::vector<Candidate> candidates_of(const std::vector<std::string>& titles) {
    std::vector<Candidate> candidates;
    for (const std::string& title : titles) {
        Candidate& added = candidates.emplace_back();
        // In no order, and different.
        added.id = static_cast<std::int64_t>((candidates.size() * 7'919) % 1'000'003);
        added.version = 1;
        added.title = title;
    }
    return candidates;
}

double wratio(std::string_view query, std::string_view title, double cutoff) {
    const rapidfuzz::fuzz::CachedWRatio<std::uint32_t> scorer(code_points(query));
    return scorer.similarity(code_points(title), cutoff);
}

Ranking plain_ranking(const std::vector<Candidate>& candidates, std::string_view query,
                      const ScoreLimits& limits) {
    struct Match {
        double score;
        std::string title;
        std::int64_t id;
    };
    std::vector<Match> matches;
    for (const Candidate& candidate : candidates) {
        std::string title = match_copy(candidate.title);
        const double score = wratio(query, title, limits.cutoff);
        if (score >= limits.cutoff) {
            matches.push_back({score, std::move(title), candidate.id});
        }
    }
    std::sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
        return std::tie(b.score, a.title, a.id) < std::tie(a.score, b.title, b.id);
    });
    Ranking ranking;
    ranking.total_matched = matches.size();
    for (const Match& match : matches) {
        if (ranking.pages.size() < limits.result_limit) {
            ranking.pages.push_back({match.id, match.score});
        }
    }
    return ranking;
}

}  // namespace sluice::titles
