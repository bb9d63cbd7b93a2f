// Simulation of the web side: the real pipeline over a random, lying, stalling upstream and clients
// that come, repeat themselves and leave, on a manual clock. After each run the invariants are
// checked; a violation prints the seed, and `web_sim --seed N` replays it.
//
//   web_sim [--seed N] [--runs N]
#include "base/random.h"
#include "support/web_harness.h"

#include <charconv>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace sluice;
using namespace std::chrono_literals;
using test::FakeAnswer;
using test::WebHarness;

constexpr int kClients = 120;
constexpr int kQueries = 25;

// What the upstream did, as far as the invariants need to know.
struct Upstream {
    Random& random;
    std::set<std::string> keys_blamed = {};  // last characters of keys that were told to rest

    FakeAnswer answer(const io::ClientRequest& request) {
        FakeAnswer answer = choose(request);
        answer.delay = Duration(static_cast<std::int64_t>(random.below(400'000'000)));
        return answer;
    }

    FakeAnswer choose(const io::ClientRequest& request) {
        const auto blames_key = [&] {
            keys_blamed.insert(std::string(request.secret_headers.at(0).second.last4()));
        };
        switch (random.below(16)) {
            case 0:
                blames_key();
                return test::status_answer(429);
            case 1: {
                blames_key();
                FakeAnswer limited = test::status_answer(429);
                limited.headers.emplace_back("retry-after", "7");
                return limited;
            }
            case 2:
                blames_key();
                return test::status_answer(401);
            case 3:
                return test::status_answer(403, "<html><body>Access denied</body></html>");
            case 4:
                return test::status_answer(500);
            case 5:
                return test::status_answer(503, "<html>busy</html>");
            case 6:
                return test::status_answer(200, "{\"organic\": [");
            case 7:
                return test::status_answer(200, "<html>captcha</html>");
            case 8: {
                FakeAnswer stalled;
                stalled.stall = true;
                return stalled;
            }
            case 9: {
                FakeAnswer cut;
                cut.error = Error{Code::kUnavailable, Blame::kProvider, "connection reset", {}};
                return cut;
            }
            case 10:
                return test::ok_answer(request, 0);
            case 11:
                return test::status_answer(302, "");
            default:
                return test::ok_answer(request, 1 + random.below(10));
        }
    }
};

class Violations {
 public:
    explicit Violations(std::uint64_t seed) : seed_(seed) {}
    void check(bool holds, std::string_view what) {
        if (!holds) {
            std::fprintf(stderr, "web_sim: seed %llu: violated: %.*s\n",
                         static_cast<unsigned long long>(seed_), static_cast<int>(what.size()),
                         what.data());
            any_ = true;
        }
    }
    bool any() const { return any_; }

 private:
    std::uint64_t seed_;
    bool any_ = false;
};

web::WebConfig random_config(Random& random) {
    web::WebConfig config = test::harness_config();
    config.lanes.fast.concurrency = 1 + random.below(20);
    config.lanes.deep.concurrency = 1 + random.below(5);
    config.lanes.total_concurrency =
        1 + random.below(config.lanes.fast.concurrency + config.lanes.deep.concurrency);
    config.lanes.max_queued = random.below(40);
    config.cache.ttl = Millis(static_cast<std::int64_t>(random.below(3'000)));
    config.cache.stale_ttl = Millis(static_cast<std::int64_t>(random.below(10'000)));
    config.merge.wait = Millis(static_cast<std::int64_t>(random.below(500)));
    config.hedge.initial_delay = Millis(static_cast<std::int64_t>(50 + random.below(300)));
    for (auto& [name, provider] : config.providers) {
        provider.rate.tokens = static_cast<std::int64_t>(random.below(3)) * 10;
    }
    return config;
}

web::CacheMode random_mode(Random& random) {
    switch (random.below(8)) {
        case 0:
            return web::CacheMode::kRefresh;
        case 1:
            return web::CacheMode::kBypass;
        case 2:
            return web::CacheMode::kOnly;
        default:
            return web::CacheMode::kUse;
    }
}

web::Strategy random_strategy(Random& random) {
    switch (random.below(4)) {
        case 0:
            return web::Strategy::kMerge;
        case 1:
            return web::Strategy::kHedge;
        default:
            return web::Strategy::kFailover;
    }
}

// Returns whether every invariant held.
bool run(std::uint64_t seed) {
    Violations violations(seed);
    SeededRandom random(seed);
    Upstream upstream{random};
    WebHarness harness(random_config(random));
    harness.http.set_responder(
        [&](const io::ClientRequest& request) { return upstream.answer(request); });
    for (int i = 0; i < 6; ++i) {
        harness.add_key("serper", "serper-secret-key-" + std::to_string(1000 + i));
        harness.add_key("tavily", "tavily-secret-key-" + std::to_string(2000 + i));
    }

    struct Sent {
        std::shared_ptr<WebHarness::Client> client;
        Instant deadline;
    };
    std::vector<Sent> sent;
    for (int i = 0; i < kClients; ++i) {
        auto request = harness.request("query " + std::to_string(random.below(kQueries)));
        request.lane = random.below(4) == 0 ? web::Lane::kDeep : web::Lane::kFast;
        request.cache = random_mode(random);
        request.strategy = random_strategy(random);
        const Instant deadline =
            harness.clock.now() +
            harness.web.config()->lanes.lane(web::kind_of(request.lane)).deadline;
        sent.push_back({harness.start(std::move(request)), deadline});
        if (random.below(5) == 0) {
            Sent& leaver = sent[static_cast<std::size_t>(random.below(sent.size()))];
            if (!leaver.client->reply) {
                harness.hang_up(*leaver.client);
            }
        }
        harness.run_for(Duration(static_cast<std::int64_t>(random.below(120'000'000))));
        for (const Sent& one : sent) {
            violations.check(
                one.client->reply || one.client->gone || harness.clock.now() <= one.deadline,
                "a client waits past its deadline");
        }
    }
    harness.run_for(60s);

    for (const Sent& one : sent) {
        violations.check(one.client->reply || one.client->gone, "a client got no reply");
    }
    violations.check(harness.http.under_way() == 0, "a call is still under way");
    violations.check(harness.http.started_late() == 0, "a call started after its deadline");
    std::size_t penalised = 0;
    for (const auto& [provider, counts] : harness.keys.counts()) {
        violations.check(counts.in_flight == 0, "a key lease was not returned");
        penalised += counts.active() - counts.available - counts.saturated;
    }
    violations.check(penalised <= upstream.keys_blamed.size(),
                     "a key rests although no answer blamed it");
    const web::Search::Overview end = harness.overview();
    violations.check(end.flights == 0, "a flight never landed");
    violations.check(end.fast.running == 0 && end.deep.running == 0,
                     "a lane ticket was not returned");
    violations.check(end.fast.queued == 0 && end.deep.queued == 0,
                     "somebody waits in a queue for ever");
    return !violations.any();
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t first = 1;
    std::uint64_t runs = 20;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view flag = argv[i];
        const std::string_view text = argv[i + 1];
        std::uint64_t number = 0;
        std::from_chars(text.data(), text.data() + text.size(), number);
        if (flag == "--seed") {
            first = number;
            runs = 1;
        } else if (flag == "--runs") {
            runs = number;
        }
    }
    for (std::uint64_t seed = first; seed < first + runs; ++seed) {
        if (!run(seed)) {
            return 1;
        }
    }
    std::printf("web_sim: %llu runs of %d clients, every invariant held\n",
                static_cast<unsigned long long>(runs), kClients);
    return 0;
}
