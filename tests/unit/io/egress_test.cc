#include "io/egress.h"

#include "io/egress_monitor.h"
#include "support/collecting_sink.h"
#include "support/fake_http_client.h"
#include "support/manual_clock.h"
#include "support/run_task.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::io {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kCheckUrl = "http://check.example.org/";

EgressConfig config_of(EgressPolicy policy, std::initializer_list<std::string_view> names) {
    EgressConfig config;
    config.policy = policy;
    config.health_check_url = kCheckUrl;
    for (const std::string_view name : names) {
        EgressEndpointConfig endpoint;
        endpoint.address = "http://" + std::string(name) + ":8080";
        endpoint.url = Secret("http://me:hush@" + std::string(name) + ":8080");
        config.endpoints.emplace(name, std::move(endpoint));
    }
    return config;
}

Result<ClientResponse> answered(int status) {
    ClientResponse response;
    response.status = status;
    return response;
}

Result<ClientResponse> failed(Code code, Blame blame) {
    return Error{code, blame, "through the proxy: the connection was refused", {}};
}

class EgressTest : public testing::Test {
 protected:
    void configure(EgressConfig config) {
        router.configure(std::move(config), {{"one"}, {"two"}, {"three"}});
    }
    std::string name(const EgressAsk& ask = {}) { return std::string(router.route(ask).name()); }
    void report(const EgressRoute& route, const Result<ClientResponse>& end, int times = 1) {
        for (int i = 0; i < times; ++i) {
            router.report(route, end);
        }
    }
    // The route of a call that happens to take `endpoint`.
    EgressRoute through(std::string_view endpoint) {
        for (int i = 0; i < 1'000; ++i) {
            EgressRoute route = router.route({});
            if (route.name() == endpoint) {
                return route;
            }
        }
        ADD_FAILURE() << "nothing goes through " << endpoint;
        return EgressRoute();
    }
    std::set<std::string> in_use() {
        std::set<std::string> names;
        for (int i = 0; i < 100; ++i) {
            names.insert(name());
        }
        return names;
    }
    std::size_t logged(std::string_view event) const {
        std::size_t count = 0;
        for (const std::string& line : sink.lines()) {
            count += line.find("\"" + std::string(event) + "\"") != std::string::npos ? 1 : 0;
        }
        return count;
    }
    double metric(const std::string& sample) const {
        const std::string text = metrics.expose();
        const auto at = text.find("\n" + sample + " ");
        return at == std::string::npos ? -1 : std::stod(text.substr(at + sample.size() + 2));
    }

    test::ManualClock clock;
    test::CollectingSink sink;
    obs::Log log{clock, sink, obs::Level::kDebug};
    obs::Metrics metrics;
    EgressRouter router{clock, log, metrics};
};

const Result<ClientResponse> kProxyFault = failed(Code::kUnavailable, Blame::kGateway);

// Nothing configured, and the policy direct: no proxy, and nothing is counted.
TEST_F(EgressTest, IsDirectByDefault) {
    EXPECT_EQ(name(), "direct");
    configure(config_of(EgressPolicy::kDirect, {"a"}));
    const EgressRoute route = router.route({});
    EXPECT_TRUE(route.is_direct());
    EXPECT_TRUE(route.proxy().empty());
    router.report(route, kProxyFault);
    EXPECT_EQ(router.other(route, {}), std::nullopt);
    EXPECT_EQ(router.view().endpoints[0].calls, 0U);
}

// Every user's calls spread evenly, whoever else calls in between.
TEST_F(EgressTest, RotatesForEachUser) {
    configure(config_of(EgressPolicy::kRotating, {"a", "b", "c"}));
    std::set<std::string> first;
    for (std::size_t user = 0; user < 3; ++user) {
        first.insert(std::string(router.peek({user}).name()));
    }
    EXPECT_EQ(first.size(), 3U) << "not all begin with the same one";
    std::map<std::pair<std::size_t, std::string>, int> counts;
    for (int i = 0; i < 300; ++i) {
        for (const std::size_t user : {std::size_t{0}, std::size_t{1}}) {
            const EgressAsk ask{user};
            const std::string next(router.peek(ask).name());
            EXPECT_EQ(name(ask), next) << "looking takes no turn";
            counts[{user, next}] += 1;
        }
    }
    ASSERT_EQ(counts.size(), 6U);
    for (const auto& [key, count] : counts) {
        EXPECT_EQ(count, 100) << key.second;
    }
}

// Static: by provider. Sticky: by session, and by whoever asks where there is none.
TEST_F(EgressTest, StaysWithWhatItBelongsTo) {
    configure(config_of(EgressPolicy::kStatic, {"a", "b", "c"}));
    for (std::size_t user = 0; user < 3; ++user) {
        const std::string first = name({user});
        EXPECT_EQ(name({user, "de", "some session", "some caller"}), first);
    }
    configure(config_of(EgressPolicy::kSticky, {"a", "b", "c"}));
    std::set<std::string> sessions;
    for (int i = 0; i < 30; ++i) {
        const std::string session = "session " + std::to_string(i);
        const std::string first = name({0, "", session, "x"});
        EXPECT_EQ(name({2, "de", session, "y"}), first);
        EXPECT_EQ(name({1, "", "", session}), first) << "a caller in place of a session";
        sessions.insert(first);
    }
    EXPECT_EQ(sessions.size(), 3U);
}

// Limits of keyless providers are those of an address: their calls stay on one, whatever the policy
// and whoever asks.
TEST_F(EgressTest, KeylessUsersNeverRotate) {
    for (const auto policy : {EgressPolicy::kRotating, EgressPolicy::kSticky, EgressPolicy::kGeo,
                              EgressPolicy::kStatic}) {
        EgressConfig config = config_of(policy, {"a", "b", "c"});
        int country = 0;
        for (auto& [endpoint, its] : config.endpoints) {
            its.country = std::string(1, static_cast<char>('a' + country++)) + "a";
        }
        EgressUser user{"keyless", {}, true};
        EgressUser own{"own", EgressChoice{policy, ""}, true};
        router.configure(std::move(config), {user, own});
        for (const std::size_t index : {std::size_t{0}, std::size_t{1}}) {
            std::set<std::string> names;
            for (int i = 0; i < 50; ++i) {
                const std::string session = std::to_string(i);
                const std::string wanted = std::string(1, static_cast<char>('a' + i % 3)) + "a";
                names.insert(name({index, wanted, session, session}));
            }
            EXPECT_EQ(names.size(), 1U) << to_string(policy);
        }
    }
    router.configure(config_of(EgressPolicy::kDirect, {"a"}), {{"keyless", {}, true}});
    EXPECT_EQ(name(), "direct");
}

// A provider's own choice wins over the policy, and an endpoint by name is never left for another.
TEST_F(EgressTest, AUserMayHaveAChoiceOfItsOwn) {
    router.configure(config_of(EgressPolicy::kRotating, {"a", "b"}),
                     {{"pinned", EgressChoice{{}, "b"}},
                      {"direct", EgressChoice{EgressPolicy::kDirect, ""}},
                      {"others"}});
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(name({0}), "b");
        EXPECT_EQ(name({1}), "direct");
    }
    const EgressRoute pinned = router.route({0});
    EXPECT_EQ(pinned.proxy().reveal(), "http://me:hush@b:8080");
    report(pinned, kProxyFault, 3);
    EXPECT_EQ(name({0}), "b") << "down, and still the only one";
    EXPECT_EQ(router.other(pinned, {0}), std::nullopt);
    EXPECT_EQ(name({2}), "a");
}

// Calls tell whether an endpoint works: only what is its fault counts, and it is told once.
TEST_F(EgressTest, LeavesTheRotationAfterFailedCalls) {
    configure(config_of(EgressPolicy::kRotating, {"a", "b"}));
    const EgressRoute a = through("a");
    const auto ends = {answered(500),
                       answered(429),
                       failed(Code::kUnavailable, Blame::kProvider),
                       failed(Code::kTimeout, Blame::kProvider),
                       failed(Code::kTimeout, Blame::kGateway),
                       failed(Code::kCancelled, Blame::kCaller),
                       failed(Code::kInvalidRequest, Blame::kGateway)};
    for (const auto& end : ends) {
        report(a, end, 10);
    }
    EXPECT_EQ(in_use(), (std::set<std::string>{"a", "b"}));
    EXPECT_EQ(router.view().endpoints[0].failures, 0U);
    report(a, kProxyFault, 2);
    report(a, answered(407));
    EXPECT_EQ(in_use(), std::set<std::string>{"b"});
    const EgressView::Endpoint shown = router.view().endpoints[0];
    EXPECT_FALSE(shown.up);
    EXPECT_EQ(shown.address, "http://a:8080");
    EXPECT_EQ(shown.failures, 3U);
    EXPECT_EQ(shown.calls, 73U);
    EXPECT_EQ(shown.since, clock.wall_now());
    EXPECT_THAT(shown.last_error, HasSubstr("407"));
    report(a, kProxyFault, 10);
    EXPECT_EQ(logged("egress_endpoint_down"), 1U);
    EXPECT_EQ(metric(R"(sluice_egress_up{endpoint="a"})"), 0);
    EXPECT_EQ(metric(R"(sluice_egress_up{endpoint="b"})"), 1);
    EXPECT_EQ(metric(R"(sluice_egress_failures_total{endpoint="a",source="call"})"), 13);
    for (const std::string& line : sink.lines()) {
        EXPECT_THAT(line, Not(HasSubstr("hush")));
    }
}

// A proxy whose probe passes and through which no call gets anywhere is left, however often it is
// probed between the calls; probes bring it back when the hold time is over.
TEST_F(EgressTest, GoodProbesDoNotHideFailingCalls) {
    configure(config_of(EgressPolicy::kRotating, {"a", "b"}));
    const EgressRoute a = through("a");
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(in_use(), (std::set<std::string>{"a", "b"}));
        router.report_probe(a, {});
        report(a, kProxyFault);
        router.report_probe(a, {});
    }
    EXPECT_EQ(in_use(), std::set<std::string>{"b"});
    clock.advance(30s - 1ms);
    router.report_probe(a, {});
    EXPECT_EQ(in_use(), std::set<std::string>{"b"});
    clock.advance(1ms);
    router.report_probe(a, {});
    EXPECT_EQ(in_use(), (std::set<std::string>{"a", "b"}));
}

// A call that got nowhere through one and was answered through another is a failed call of the
// first, as one is that the proxy is to blame for.
TEST_F(EgressTest, WhatAnotherEndpointReachesIsItsFailure) {
    configure(config_of(EgressPolicy::kRotating, {"a", "b"}));
    const EgressRoute a = through("a");
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(in_use(), (std::set<std::string>{"a", "b"}));
        report(a, failed(Code::kUnavailable, Blame::kProvider));
        router.report_outdone(a, "the proxy answered 502 to CONNECT");
    }
    EXPECT_EQ(in_use(), std::set<std::string>{"b"});
    const EgressView::Endpoint shown = router.view().endpoints[0];
    EXPECT_EQ(shown.calls, 3U);
    EXPECT_EQ(shown.failures, 3U);
    EXPECT_EQ(shown.last_error, "the proxy answered 502 to CONNECT");
    EXPECT_EQ(metric(R"(sluice_egress_failures_total{endpoint="a",source="call"})"), 3);
}

// Only what was not sent may be made once more.
TEST(MayGoAnotherWay, IsForWhatWasNotSent) {
    EXPECT_TRUE(may_go_another_way(answered(407)));
    for (const Blame blame : {Blame::kGateway, Blame::kProvider}) {
        EXPECT_TRUE(may_go_another_way(failed(Code::kUnavailable, blame)));
        EXPECT_FALSE(may_go_another_way(failed(Code::kTimeout, blame)));
        EXPECT_FALSE(may_go_another_way(failed(Code::kUpstreamFailed, blame)));
    }
    EXPECT_FALSE(may_go_another_way(answered(502)));
    EXPECT_FALSE(may_go_another_way(failed(Code::kCancelled, Blame::kCaller)));
}

// What nothing probes could never be seen to be back: without a check all count as up.
TEST_F(EgressTest, NothingGoesDownWithoutProbes) {
    EgressConfig config = config_of(EgressPolicy::kRotating, {"a", "b"});
    configure(config);
    report(through("a"), kProxyFault, 3);
    ASSERT_EQ(in_use(), std::set<std::string>{"b"});
    config.health_check_url.clear();
    configure(config);
    EXPECT_EQ(in_use(), (std::set<std::string>{"a", "b"})) << "the check was taken away";
    report(through("a"), kProxyFault, 100);
    EXPECT_EQ(in_use(), (std::set<std::string>{"a", "b"}));
    EXPECT_EQ(metric(R"(sluice_egress_up{endpoint="a"})"), 1);
}

// A call whose proxy failed has one more way, as long as there is another endpoint.
TEST_F(EgressTest, NamesAnotherWay) {
    configure(config_of(EgressPolicy::kRotating, {"a", "b"}));
    const EgressRoute a = through("a");
    EXPECT_EQ(router.other(a, {})->name(), "b");
    report(through("b"), kProxyFault, 3);
    EXPECT_EQ(in_use(), std::set<std::string>{"a"});
    EXPECT_EQ(router.other(a, {})->name(), "b") << "what is up has just failed";
    report(a, kProxyFault, 3);
    EXPECT_EQ(router.other(a, {})->name(), "b") << "all are down";
    configure(config_of(EgressPolicy::kRotating, {"a"}));
    EXPECT_EQ(router.other(through("a"), {}), std::nullopt) << "there is no other";
}

// With all down every one is used, which is told once, and each that comes back is used alone.
TEST_F(EgressTest, UsesAllWhenAllAreDown) {
    configure(config_of(EgressPolicy::kRotating, {"a", "b"}));
    const EgressRoute a = through("a");
    const EgressRoute b = through("b");
    report(a, kProxyFault, 5);
    EXPECT_EQ(logged("egress_all_down"), 0U);
    report(b, kProxyFault, 5);
    EXPECT_EQ(logged("egress_all_down"), 1U);
    configure(config_of(EgressPolicy::kRotating, {"a", "b"}));
    EXPECT_EQ(logged("egress_all_down"), 1U) << "a reload tells it again";
    EXPECT_EQ(in_use(), (std::set<std::string>{"a", "b"}));
    clock.advance(30s);
    report(b, answered(200), 2);
    EXPECT_EQ(in_use(), (std::set<std::string>{"a", "b"})) << "probes bring it back";
    router.report_probe(b, {});
    router.report_probe(b, {});
    EXPECT_EQ(in_use(), std::set<std::string>{"b"});
    EXPECT_EQ(logged("egress_endpoint_up"), 1U);
}

// A reload keeps what is known of an endpoint that stays; a call under way ends through the one
// that it began with.
TEST_F(EgressTest, AReloadKeepsWhatStays) {
    configure(config_of(EgressPolicy::kRotating, {"a", "b", "c"}));
    const EgressRoute a = through("a");
    const EgressRoute c = through("c");
    report(a, kProxyFault, 3);
    EgressConfig next = config_of(EgressPolicy::kRotating, {"a", "b"});
    next.endpoints["b"].url = Secret("http://elsewhere:1");
    configure(next);
    EXPECT_EQ(in_use(), std::set<std::string>{"b"}) << "a is still down";
    EXPECT_EQ(router.route({}).proxy().reveal(), "http://elsewhere:1");
    EXPECT_EQ(c.proxy().reveal(), "http://me:hush@c:8080");
    report(c, kProxyFault, 3);
    EXPECT_EQ(router.other(c, {})->name(), "b");
    EXPECT_EQ(router.view().endpoints.size(), 2U);
    EXPECT_TRUE(std::isnan(metric(R"(sluice_egress_up{endpoint="c"})")));
    EXPECT_EQ(logged("egress_endpoint_down"), 1U);
    next.endpoints["a"].url = Secret("http://mended:1");
    configure(next);
    EXPECT_EQ(in_use(), (std::set<std::string>{"a", "b"})) << "another proxy";
}

class EgressMonitorTest : public EgressTest {
 protected:
    ~EgressMonitorTest() override {
        boost::asio::co_spawn(io, monitor.stop(), boost::asio::detached);
        test::run_ready(io);
        EXPECT_EQ(http.under_way(), 0U);
    }

    void start(EgressConfig config) {
        http.set_responder([this](const ClientRequest& request) {
            EXPECT_EQ(request.url, kCheckUrl);
            const std::string proxy(request.proxy.reveal());
            probes.push_back(proxy.substr(proxy.find('@') + 1, 1));
            return answers[probes.back()];
        });
        configure(std::move(config));
        monitor.start();
        test::run_ready(io);
    }
    void pass(Duration time) {
        const Instant end = clock.now() + time;
        for (auto next = clock.next_deadline(); next && *next <= end;
             next = clock.next_deadline()) {
            clock.advance_to(*next);
            test::run_ready(io);
        }
        clock.advance_to(end);
        test::run_ready(io);
    }

    boost::asio::io_context io{1};
    test::FakeHttpClient http{clock, nullptr};
    std::vector<std::string> probes;
    std::map<std::string, test::FakeAnswer> answers;  // by endpoint; a good one unless set
    EgressMonitor monitor{io.get_executor(), router, http, clock, log};
};

test::FakeAnswer refused() {
    test::FakeAnswer answer;
    answer.error = Error{Code::kUnavailable, Blame::kGateway, "refused", {}};
    return answer;
}

// Each endpoint, at once and at every interval; a dead one leaves and comes back after damping.
TEST_F(EgressMonitorTest, ProbesEachThroughItself) {
    answers["b"] = refused();
    start(config_of(EgressPolicy::kRotating, {"a", "b"}));
    EXPECT_THAT(probes, ElementsAre("a", "b"));
    pass(15s - 1ms);
    EXPECT_EQ(probes.size(), 2U);
    pass(1ms);
    EXPECT_EQ(probes.size(), 4U);
    EXPECT_EQ(in_use(), (std::set<std::string>{"a", "b"})) << "two failures are not enough";
    pass(15s);
    EXPECT_EQ(in_use(), std::set<std::string>{"a"});
    answers.erase("b");
    pass(15s);
    EXPECT_EQ(in_use(), std::set<std::string>{"a"});
    pass(15s);
    EXPECT_EQ(in_use(), (std::set<std::string>{"a", "b"}));
    EXPECT_EQ(logged("egress_endpoint_down"), 1U);
    EXPECT_EQ(logged("egress_endpoint_up"), 1U);
    EXPECT_EQ(metric(R"(sluice_egress_failures_total{endpoint="b",source="probe"})"), 3);
}

// An endpoint that answers every other probe keeps the state that it has.
TEST_F(EgressMonitorTest, AFlappingEndpointStays) {
    start(config_of(EgressPolicy::kRotating, {"a", "b"}));
    for (int i = 0; i < 40; ++i) {
        answers["b"] = i % 2 == 0 ? refused() : test::FakeAnswer{};
        pass(15s);
    }
    EXPECT_EQ(logged("egress_endpoint_down"), 0U);
    EXPECT_EQ(in_use(), (std::set<std::string>{"a", "b"}));
}

// Good is 2xx and 3xx: any other answer may be the proxy's own.
TEST_F(EgressMonitorTest, JudgesByTheStatus) {
    answers["a"].status = 204;
    answers["b"].status = 302;
    answers["c"].status = 403;
    answers["d"].status = 502;
    answers["e"].stall = true;
    start(config_of(EgressPolicy::kRotating, {"a", "b", "c", "d", "e"}));
    pass(60s);
    EXPECT_EQ(in_use(), (std::set<std::string>{"a", "b"}));
    EXPECT_THAT(router.view().endpoints[2].last_error, HasSubstr("HTTP 403"));
}

// A reload is in force at once: another interval, another check, none at all.
TEST_F(EgressMonitorTest, FollowsAReload) {
    EgressConfig config = config_of(EgressPolicy::kRotating, {"a"});
    start(config);
    ASSERT_EQ(probes.size(), 1U);
    config.health_interval = 1s;
    configure(config);
    monitor.reconfigured();
    test::run_ready(io);
    EXPECT_EQ(probes.size(), 2U);
    pass(3s);
    EXPECT_EQ(probes.size(), 5U);
    config.health_check_url.clear();
    configure(config);
    monitor.reconfigured();
    pass(60s);
    EXPECT_EQ(probes.size(), 5U);
}

// Stopping waits for nothing.
TEST_F(EgressMonitorTest, StopsInTheMiddleOfAProbe) {
    answers["a"].stall = true;
    start(config_of(EgressPolicy::kRotating, {"a", "b"}));
    ASSERT_EQ(http.under_way(), 1U);
    const Instant before = clock.now();
    test::run_task(io, clock, monitor.stop());
    EXPECT_EQ(clock.now(), before);
    EXPECT_EQ(http.under_way(), 0U);
    EXPECT_EQ(metric(R"(sluice_egress_failures_total{endpoint="a",source="probe"})"), 0);
}

}  // namespace
}  // namespace sluice::io
