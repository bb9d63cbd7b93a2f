#include "guard/circuit.h"

#include "base/config_reader.h"
#include "property.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace sluice::guard {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000h};

CircuitConfig threshold(std::size_t failures) {
    CircuitConfig config;
    config.failure_threshold = failures;
    config.open_for = 5s;
    config.max_open_for = 60s;
    return config;
}

// One call that ends as told. Expects that it may start.
void call(Circuit& circuit, CallOutcome outcome, Instant now) {
    auto pass = circuit.try_enter(now);
    ASSERT_TRUE(pass.has_value());
    pass->report(outcome, now);
}

// Only failures in a row open the circuit, and only for its time.
TEST(Circuit, OpensAtTheThreshold) {
    Circuit circuit(threshold(3));
    call(circuit, CallOutcome::kFailure, kStart);
    call(circuit, CallOutcome::kFailure, kStart);
    call(circuit, CallOutcome::kSuccess, kStart);
    call(circuit, CallOutcome::kFailure, kStart);
    call(circuit, CallOutcome::kFailure, kStart);
    EXPECT_EQ(circuit.state(kStart), CircuitState::kClosed);
    EXPECT_EQ(circuit.failures(), 2U);
    EXPECT_EQ(circuit.reopens_at(), std::nullopt);
    call(circuit, CallOutcome::kFailure, kStart);
    EXPECT_EQ(circuit.state(kStart), CircuitState::kOpen);
    EXPECT_EQ(circuit.reopens_at(), kStart + 5s);
    EXPECT_FALSE(circuit.try_enter(kStart + 5s - 1ns));
    EXPECT_EQ(circuit.state(kStart + 5s), CircuitState::kHalfOpen);
}

// Half-open lets exactly one call through until that call has said something.
TEST(Circuit, HasOneProbe) {
    Circuit circuit(threshold(1));
    call(circuit, CallOutcome::kFailure, kStart);
    auto probe = circuit.try_enter(kStart + 5s);
    ASSERT_TRUE(probe && probe->is_probe());
    EXPECT_FALSE(circuit.try_enter(kStart + 5s));
    EXPECT_FALSE(circuit.try_enter(kStart + 100h)) << "however long it takes";
    EXPECT_EQ(circuit.state(kStart + 100h), CircuitState::kHalfOpen);
    probe->report(CallOutcome::kSuccess, kStart + 100h);
    EXPECT_EQ(circuit.state(kStart + 100h), CircuitState::kClosed);
    EXPECT_TRUE(circuit.try_enter(kStart + 100h));
    EXPECT_TRUE(circuit.try_enter(kStart + 100h));
}

// A probe that ends without a word frees its place for the next, and changes nothing else.
TEST(Circuit, AProbeMayBeAbandoned) {
    Circuit circuit(threshold(1));
    call(circuit, CallOutcome::kFailure, kStart);
    {
        const auto probe = circuit.try_enter(kStart + 5s);
        ASSERT_TRUE(probe);
    }
    EXPECT_EQ(circuit.state(kStart + 5s), CircuitState::kHalfOpen);
    auto next = circuit.try_enter(kStart + 5s);
    ASSERT_TRUE(next);
    CircuitPass moved = std::move(*next);
    next.reset();
    EXPECT_FALSE(circuit.try_enter(kStart + 5s)) << "a pass that moved is still one";
    moved.report(CallOutcome::kFailure, kStart + 6s);
    EXPECT_EQ(circuit.reopens_at(), kStart + 16s);
}

// Each failed probe doubles the time up to the longest; a success starts from the beginning.
TEST(Circuit, Doubles) {
    Circuit circuit(threshold(1));
    Instant now = kStart;
    call(circuit, CallOutcome::kFailure, now);
    for (const Duration expected : {5s, 10s, 20s, 40s, 60s, 60s}) {
        EXPECT_EQ(circuit.reopens_at(), now + expected);
        now += expected;
        call(circuit, CallOutcome::kFailure, now);
    }
    now = *circuit.reopens_at();
    call(circuit, CallOutcome::kSuccess, now);
    call(circuit, CallOutcome::kFailure, now);
    EXPECT_EQ(circuit.reopens_at(), now + 5s);
}

// One failure is enough under the other policy, and the time never changes.
TEST(Circuit, OneStrike) {
    CircuitConfig config;
    config.policy = TripPolicy::kOneStrike;
    Circuit circuit(config);
    Instant now = kStart;
    for (int i = 0; i < 4; ++i) {
        call(circuit, CallOutcome::kFailure, now);
        EXPECT_EQ(circuit.reopens_at(), now + 300s);
        EXPECT_FALSE(circuit.try_enter(now + 300s - 1ns));
        now += 300s;
    }
    call(circuit, CallOutcome::kSuccess, now);
    EXPECT_EQ(circuit.state(now), CircuitState::kClosed);
}

// What was under way before the circuit changed says nothing about it afterwards.
TEST(Circuit, IgnoresOldReports) {
    Circuit circuit(threshold(2));
    std::vector<CircuitPass> slow;
    for (int i = 0; i < 6; ++i) {
        slow.push_back(*circuit.try_enter(kStart));
    }
    slow[0].report(CallOutcome::kFailure, kStart);
    slow[1].report(CallOutcome::kFailure, kStart);
    ASSERT_EQ(circuit.state(kStart), CircuitState::kOpen);
    slow[2].report(CallOutcome::kFailure, kStart + 1s);
    EXPECT_EQ(circuit.reopens_at(), kStart + 5s);
    slow[3].report(CallOutcome::kSuccess, kStart + 1s);
    EXPECT_EQ(circuit.state(kStart + 1s), CircuitState::kOpen);
    auto probe = circuit.try_enter(kStart + 5s);
    slow[4].report(CallOutcome::kFailure, kStart + 5s);
    EXPECT_FALSE(circuit.try_enter(kStart + 5s)) << "the probe is still under way";
    probe->report(CallOutcome::kSuccess, kStart + 6s);
    slow[5].report(CallOutcome::kFailure, kStart + 6s);
    EXPECT_EQ(circuit.failures(), 0U);
    slow[5].report(CallOutcome::kFailure, kStart + 6s);
    EXPECT_EQ(circuit.state(kStart + 6s), CircuitState::kClosed);
}

// A plain model: what it knows is written down without passes or eras, by asking who began when.
TEST(Circuit, AgreesWithTheModel) {
    struct Call {
        CircuitPass pass;
        bool probe;
        int change;  // changes of state before it began
    };
    run_property([] {
        return [circuit = std::make_shared<Circuit>(threshold(3)),
                calls = std::make_shared<std::vector<Call>>(), now = kStart, changes = 0,
                failures = 0, opened = 0,
                reopens = std::optional<Instant>()](Random& random) mutable {
            now += Millis(random.below(2000));
            const bool probing = std::any_of(calls->begin(), calls->end(), [&](const Call& c) {
                return c.probe && c.change == changes;
            });
            const bool may = !reopens || (now >= *reopens && !probing);
            if (random.below(2) == 0) {
                auto pass = circuit->try_enter(now);
                ASSERT_EQ(pass.has_value(), may);
                if (pass) {
                    ASSERT_EQ(pass->is_probe(), reopens.has_value());
                    calls->push_back(Call{std::move(*pass), reopens.has_value(), changes});
                }
            } else if (!calls->empty()) {
                const std::size_t at = random.below(calls->size());
                Call ended = std::move((*calls)[at]);
                (*calls)[at] = std::move(calls->back());
                calls->pop_back();
                const std::uint64_t how = random.below(4);
                const bool counts = ended.change == changes;
                if (how == 0) {
                    ended.pass.report(CallOutcome::kSuccess, now);
                    if (counts) {
                        failures = 0;
                        if (ended.probe) {
                            changes += 1;
                            opened = 0;
                            reopens.reset();
                        }
                    }
                } else if (how < 3) {
                    ended.pass.report(CallOutcome::kFailure, now);
                    failures += counts ? 1 : 0;
                    if (counts && (ended.probe || failures == 3)) {
                        reopens = now + std::min<Duration>(5s * (1 << std::min(opened, 6)), 60s);
                        opened += 1;
                        changes += 1;
                        failures = 0;
                    }
                }
            }
            ASSERT_EQ(circuit->reopens_at(), reopens);
            ASSERT_EQ(circuit->failures(), static_cast<std::size_t>(failures));
        };
    });
}

// The settings have the documented names and defaults, and contradictions are told.
TEST(CircuitConfig, Reads) {
    ConfigLayers layers;
    layers.add_file("good.toml",
                    "[circuit]\nfailure_threshold = 5\nopen_s = 2\nmax_open_s = \"1m\"");
    ConfigReader in(layers);
    ConfigReader section = in.section("circuit");
    const CircuitConfig config = CircuitConfig::read(section);
    layers.finish();
    EXPECT_TRUE(layers.errors().empty());
    EXPECT_EQ(config.failure_threshold, 5U);
    EXPECT_EQ(config.open_for, 2s);
    EXPECT_EQ(config.max_open_for, 60s);
    EXPECT_EQ(config.strike_open_for, 300s);

    ConfigLayers bad;
    bad.add_file("bad.toml", "[circuit]\nopen_s = 60\nmax_open_s = 5");
    ConfigReader bad_section = ConfigReader(bad).section("circuit");
    CircuitConfig::read(bad_section);
    bad.finish();
    ASSERT_EQ(bad.errors().size(), 1U);
    EXPECT_EQ(bad.errors()[0].key, "circuit.max_open_s");
}

}  // namespace
}  // namespace sluice::guard
