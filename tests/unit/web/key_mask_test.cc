#include "web/key_mask.h"

#include "base/text.h"
#include "web/detail.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

namespace sluice::web {
namespace {

const Secret kKey(std::string("tvly-dev-abc+/DEFghijkl"));

std::string masked(std::string_view text, const Secret& key = kKey) {
    return safe_detail(text, key, QueryText());
}

// Whatever is left of a key is hidden, however it is written.
TEST(KeyMask, HidesParts) {
    struct Row {
        std::string_view text;
        std::string_view masked;
    };
    for (const Row& row : {
             Row{"", ""},
             Row{"no key here", "no key here"},
             Row{"tvly-dev-abc+/DEFghijkl", "[key]"},
             Row{"bad tvly-d...", "bad [key]..."},
             Row{"bad tvly-", "bad tvly-"},
             Row{"...ghijkl", "...[key]"},
             Row{"...hijkl", "...hijkl"},
             Row{"x v-abc+/De y", "x [key] y"},
             Row{"TVLY-DEV-ABC", "[key]"},
             Row{"tvly-dev-***hijkl!", "[key]***hijkl!"},
             Row{"abc%2B%2FDEF", "[key]"},
             Row{"abc%2b%2fdef", "[key]"},
             Row{"abc%252B%25252FDEF", "[key]"},
             Row{"%74%76%6C%79%2D%64", "[key]"},
             Row{"100%, %zz and %", "100%, %zz and %"},
             Row{"tvly-devtvly-dev", "[key]"},
             Row{"Bearer tvly-dev-abc+/DEFghijkl, Basic x", "Bearer [key], Basic x"},
             Row{"dHZseS1kZXYtYWJjKy9ERUZnaGlqa2w=", "[key]w="},
         }) {
        EXPECT_EQ(masked(row.text), row.masked) << row.text;
    }
    EXPECT_EQ(masked("key k7 is bad", Secret("k7")), "key [key] is bad");
    EXPECT_EQ(masked("words", Secret()), "words");
}

class RandomTexts {
 public:
    explicit RandomTexts(unsigned seed) : random_(seed) {}

    std::size_t below(std::size_t bound) { return random_() % bound; }

    std::string text(std::string_view alphabet, std::size_t size) {
        std::string out;
        while (out.size() < size) {
            out += alphabet[below(alphabet.size())];
        }
        return out;
    }

    std::string encoded(std::string_view plain) {
        static constexpr std::string_view kDigits = "0123456789abcdef";
        std::string out;
        for (const char c : plain) {
            if (below(2) == 0) {
                out += c;
                continue;
            }
            out.append(below(4) == 0 ? "%25" : "%");
            out += kDigits[static_cast<unsigned char>(c) >> 4];
            out += kDigits[static_cast<unsigned char>(c) & 15];
        }
        return out;
    }

 private:
    std::mt19937 random_;
};

std::string base64(std::string_view bytes) {
    constexpr std::string_view kAlphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k) {
            group = group * 256 +
                    (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
        }
        for (const int shift : {18, 12, 6, 0}) {
            out += kAlphabet[(group >> shift) & 63];
        }
    }
    return out;
}

// The longest run of `key` that `text` has.
std::size_t longest_run(std::string_view text, std::string_view key) {
    const std::string in = to_lower(text);
    const std::string of = to_lower(key);
    std::size_t longest = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
        for (std::size_t k = 0; k < of.size(); ++k) {
            std::size_t same = 0;
            while (i + same < in.size() && k + same < of.size() && in[i + same] == of[k + same]) {
                same += 1;
            }
            longest = std::max(longest, same);
        }
    }
    return longest;
}

// Random keys, cut anywhere, written in any way, among other words, in a text of any length: no
// detail has six characters of one in a row.
TEST(KeyMask, NoPartOfAnyKeyGetsIntoADetail) {
    constexpr std::string_view kKeyBytes =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.+/=";
    for (unsigned seed = 0; seed < 2000; ++seed) {
        RandomTexts random(seed);
        const std::string key = random.text(kKeyBytes, 6 + random.below(60));
        std::string text = random.text("words .:\"=", random.below(220));
        for (std::size_t parts = 1 + random.below(4); parts > 0; --parts) {
            const std::size_t from = random.below(key.size() - 5);
            const std::string part = key.substr(from, 6 + random.below(key.size()));
            switch (random.below(4)) {
                case 0:
                    text += part;
                    break;
                case 1:
                    text += to_upper(part);
                    break;
                case 2:
                    text += random.encoded(part);
                    break;
                default: {
                    // Bytes before and after it, as "user:key" has them.
                    const std::string whole =
                        random.text("u:", random.below(3)) + part + random.text("x", 3);
                    text += base64(whole);
                    break;
                }
            }
            text += random.text("words .:\"=", random.below(30));
        }
        const std::string detail = safe_detail(text, Secret(key), QueryText());
        EXPECT_LE(detail.size(), kMaxDetailBytes);
        const std::string plain = percent_decode(detail, PlusIsSpace::kNo).value_or(detail);
        EXPECT_LT(longest_run(plain, key), kMinKeyPart) << "seed " << seed << ": " << key << "\n"
                                                        << text << "\n"
                                                        << detail;
        for (const std::string_view front : {"", "u", "uu"}) {
            const std::string whole = base64(std::string(front) + key);
            EXPECT_LT(longest_run(detail, whole.substr(front.empty() ? 0 : 4)), 11U)
                << "seed " << seed << ": " << key << "\n"
                << text << "\n"
                << detail;
        }
    }
}

}  // namespace
}  // namespace sluice::web
