#include "base/secret.h"

#include <gtest/gtest.h>

#include <array>
#include <concepts>
#include <cstring>
#include <new>
#include <ostream>
#include <sstream>

namespace sluice {
namespace {

template <class T>
concept Printable = requires(std::ostream& out, const T& value) { out << value; };
static_assert(!Printable<Secret> && !Printable<QueryText>);
static_assert(!std::convertible_to<Secret, std::string_view>);
static_assert(!std::convertible_to<std::string, Secret>);

// The standard library itself ends a moved-from string at its first character; the rest is our
// work.
constexpr std::string_view kTail = "hort-key";
constexpr std::string_view kShort = "short-key";  // lives inside the object, where a move copies it

// A Secret in memory that outlives it, to look at what is left.
class Buried {
 public:
    explicit Buried(std::string_view text)
        : secret_(new(memory_.data()) Secret(std::string(text))) {}

    Secret& secret() { return *secret_; }
    void destroy() { std::launder(secret_)->~Secret(); }
    bool holds(std::string_view text) const {
        return std::string_view(memory_.data(), memory_.size()).find(text) !=
               std::string_view::npos;
    }

 private:
    alignas(Secret) std::array<char, sizeof(Secret)> memory_{};
    Secret* secret_;
};

// A core dump or a reused buffer must not show keys that are no longer in use.
TEST(Secret, LeavesNothingBehind) {
    Buried destroyed(kShort);
    EXPECT_TRUE(destroyed.holds(kShort));
    destroyed.destroy();
    EXPECT_FALSE(destroyed.holds(kTail));

    Buried moved(kShort);
    const Secret target(std::move(moved.secret()));
    EXPECT_EQ(target.reveal(), kShort);
    EXPECT_TRUE(moved.secret().empty());
    EXPECT_FALSE(moved.holds(kTail));
    moved.destroy();

    Buried move_assigned(kShort);
    Secret other(std::string("before"));
    other = std::move(move_assigned.secret());
    EXPECT_EQ(other.reveal(), kShort);
    EXPECT_FALSE(move_assigned.holds(kTail));
    move_assigned.destroy();

    Buried overwritten("longer-key-1");
    const Secret replacement(std::string("xy"));
    overwritten.secret() = replacement;
    EXPECT_EQ(overwritten.secret().reveal(), "xy");
    EXPECT_FALSE(overwritten.holds("ger-key-1"));
    overwritten.destroy();
}

TEST(Secret, CopiesAndAssignsToItself) {
    Secret a(std::string("a key of some length that is allocated"));
    const Secret b = a;
    EXPECT_TRUE(b.equals(a.reveal()));
    Secret& alias = a;
    a = alias;
    EXPECT_TRUE(b.equals(a.reveal()));
    a = std::move(alias);
    EXPECT_TRUE(b.equals(a.reveal()));
}

// Lists of keys show the end of each; of a short key that would be most of it.
TEST(Secret, ShowsFourCharactersOfLongOnesOnly) {
    EXPECT_EQ(Secret(std::string("abcdefghijkl")).last4(), "ijkl");
    EXPECT_EQ(Secret(std::string("abcdefghijk")).last4(), "");
    EXPECT_EQ(Secret().last4(), "");
}

struct CompareCase {
    std::string_view a;
    std::string_view b;
    bool equal;
};

TEST(Secret, Compares) {
    const CompareCase cases[] = {
        {"", "", true},
        {"key", "key", true},
        {"key", "kez", false},
        {"key", "Key", false},
        {"key", "key2", false},
        {"key", "", false},
        {std::string_view("a\0b", 3), std::string_view("a\0c", 3), false},
    };
    for (const CompareCase& c : cases) {
        EXPECT_EQ(constant_time_equal(c.a, c.b), c.equal) << c.a << " " << c.b;
        EXPECT_EQ(Secret(std::string(c.a)).equals(c.b), c.equal) << c.a << " " << c.b;
    }
}

TEST(QueryText, ComparesByContent) {
    EXPECT_EQ(QueryText("a"), QueryText("a"));
    EXPECT_NE(QueryText("a"), QueryText("b"));
    EXPECT_TRUE(QueryText().empty());
    EXPECT_EQ(QueryText("a").reveal(), "a");
}

}  // namespace
}  // namespace sluice
