#include "guard/health.h"

#include "property.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>

namespace sluice::guard {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000h};
constexpr HealthConfig kConfig{.down_after = 3, .up_after = 2, .hold = 30'000ms};

// One bad look, or several with a good one between, says nothing.
TEST(Health, GoesDownAfterSeveralFailuresInARow) {
    Health health(kStart);
    EXPECT_FALSE(health.report(Look::kProbe, false, kConfig, kStart));
    EXPECT_FALSE(health.report(Look::kProbe, false, kConfig, kStart));
    EXPECT_FALSE(health.report(Look::kProbe, true, kConfig, kStart));
    EXPECT_FALSE(health.report(Look::kProbe, false, kConfig, kStart));
    EXPECT_FALSE(health.report(Look::kProbe, false, kConfig, kStart + 1s));
    EXPECT_TRUE(health.is_up());
    EXPECT_TRUE(health.report(Look::kProbe, false, kConfig, kStart + 2s));
    EXPECT_FALSE(health.is_up());
    EXPECT_EQ(health.since(), kStart + 2s);
    EXPECT_FALSE(health.report(Look::kProbe, false, kConfig, kStart + 3s)) << "told once";
}

// What came back is not believed at once, and not before the hold time is over.
TEST(Health, ComesBackAfterSeveralSuccessesAndTheHoldTime) {
    Health health(kStart);
    for (int i = 0; i < 3; ++i) {
        health.report(Look::kProbe, false, kConfig, kStart);
    }
    ASSERT_FALSE(health.is_up());
    EXPECT_FALSE(health.report(Look::kProbe, true, kConfig, kStart + 31s));
    EXPECT_FALSE(health.report(Look::kProbe, false, kConfig, kStart + 32s));
    EXPECT_FALSE(health.report(Look::kProbe, true, kConfig, kStart + 33s));
    EXPECT_TRUE(health.report(Look::kProbe, true, kConfig, kStart + 34s));

    Health held(kStart);
    for (int i = 0; i < 3; ++i) {
        held.report(Look::kProbe, false, kConfig, kStart);
    }
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(held.report(Look::kProbe, true, kConfig, kStart + 30s - 1ms));
    }
    EXPECT_TRUE(held.report(Look::kProbe, true, kConfig, kStart + 30s));
}

// Good probes say nothing about uses that fail, nor good uses about failing probes; and as many
// failures of both kinds together as it takes are not as many of one.
TEST(Health, CountsUsesAndProbesApart) {
    for (const Look bad : {Look::kUse, Look::kProbe}) {
        const Look good = bad == Look::kUse ? Look::kProbe : Look::kUse;
        Health health(kStart);
        for (int i = 0; i < 2; ++i) {
            EXPECT_FALSE(health.report(bad, false, kConfig, kStart));
            EXPECT_FALSE(health.report(good, true, kConfig, kStart));
        }
        EXPECT_FALSE(health.report(good, false, kConfig, kStart));
        EXPECT_TRUE(health.report(bad, false, kConfig, kStart));
        for (int i = 0; i < 10; ++i) {
            EXPECT_FALSE(health.report(Look::kUse, true, kConfig, kStart + 40s));
        }
        EXPECT_FALSE(health.report(Look::kProbe, true, kConfig, kStart + 40s));
        EXPECT_FALSE(health.report(Look::kUse, false, kConfig, kStart + 40s));
        EXPECT_TRUE(health.report(Look::kProbe, true, kConfig, kStart + 40s)) << "probed twice";
        for (int i = 0; i < 2; ++i) {
            EXPECT_FALSE(health.report(bad, false, kConfig, kStart + 80s)) << "counted anew";
        }
        EXPECT_TRUE(health.report(bad, false, kConfig, kStart + 80s));
    }
}

// Beside any sequence of looks: it changes only by as many in a row as it takes, never twice within
// the hold time, and always when both have been waited for.
TEST(Health, NeverFlaps) {
    class Steps {
     public:
        void operator()(SeededRandom& random) {
            now_ += Millis(random.u64() % 5'000);
            if (random.u64() % 20 == 0) {
                mostly_good_ = !mostly_good_;
            }
            const bool good = (random.u64() % 8 != 0) == mostly_good_;
            last_.push_back(good);
            if (last_.size() > 3) {
                last_.pop_front();
            }
            const bool was_up = health_.is_up();
            const bool changed = health_.report(Look::kProbe, good, kConfig, now_);
            EXPECT_EQ(changed, health_.is_up() != was_up);
            const bool is_due = in_row(!was_up, was_up ? 3 : 2);
            const bool is_free = !changed_at_ || now_ - *changed_at_ >= kConfig.hold;
            EXPECT_EQ(changed, is_due && is_free);
            if (changed) {
                EXPECT_EQ(health_.since(), now_);
                changed_at_ = now_;
                last_.clear();
            }
        }

     private:
        bool in_row(bool good, std::size_t count) const {
            return last_.size() >= count &&
                   std::all_of(last_.end() - static_cast<std::ptrdiff_t>(count), last_.end(),
                               [good](bool each) { return each == good; });
        }

        Instant now_ = kStart;
        bool mostly_good_ = true;
        std::deque<bool> last_;
        std::optional<Instant> changed_at_;
        Health health_{kStart};
    };
    run_property([] { return Steps(); });
}

}  // namespace
}  // namespace sluice::guard
