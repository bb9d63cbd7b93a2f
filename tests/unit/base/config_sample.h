// A set of settings of every type, for the tests of how settings are read and rendered.
#pragma once

#include "base/config_reader.h"

#include <limits>
#include <map>
#include <string>
#include <vector>

namespace sluice::test {

enum class Rotation { kLeastUsed, kRoundRobin, kWeighted };

struct SampleConfig {
    struct Endpoint {
        std::string url;
        int weight = 1;

        static Endpoint read(ConfigReader in) {
            Endpoint c;
            in.text({"url", "where it is"}, c.url);
            in.integer({"weight", "share of the calls"}, c.weight, 0, 10);
            if (c.url.empty()) {
                in.fail("url", "expected a url");
            }
            return c;
        }
    };

    std::string motto = "none";
    std::vector<std::string> listen = {"127.0.0.1:8080"};
    std::size_t max_body = 1024 * 1024;
    bool tls = false;
    std::size_t most = 0;
    int concurrency = 64;
    double ratio = 0.5;
    Millis deadline{10'000};
    Millis pause{250};
    Rotation rotation = Rotation::kLeastUsed;
    Secret password;
    std::map<std::string, Endpoint> endpoints;

    static SampleConfig read(ConfigReader in) {
        using namespace std::chrono_literals;
        SampleConfig c;
        in.text({"motto", "a line | shown to people"}, c.motto);
        ConfigReader server = in.section("server");
        server.explain_absent("motto", "it stands at the top");
        server.list({"listen", "addresses to listen on"}, c.listen);
        server.size({"max_body_bytes", "a request's body", "MAX_BODY", false}, c.max_body, 1024,
                    std::size_t{1} << 30);
        server.boolean({"tls", "whether to speak TLS"}, c.tls);
        server.size({"most", "no limit above"}, c.most, 0, std::numeric_limits<std::size_t>::max());
        ConfigReader fast = in.section("lanes").section("fast");
        fast.integer({"concurrency", "executions at once", "CONCURRENCY"}, c.concurrency, 1, 4096);
        fast.number({"ratio", "of something", {}, false}, c.ratio, 0, 1);
        fast.duration({"deadline_s", "whole request", "DEADLINE", false}, c.deadline, 10ms, 10min);
        fast.duration({"pause", "between two"}, c.pause, 0ms, 24h);
        in.section("keys").choice({"rotation", "which key is next"}, c.rotation,
                                  {{"least_used", Rotation::kLeastUsed},
                                   {"round_robin", Rotation::kRoundRobin},
                                   {"weighted", Rotation::kWeighted}});
        in.section("redis").secret({"password", "to log in with", "REDIS_PASSWORD"}, c.password);
        ConfigReader egress = in.section("egress");
        for (const std::string& name : egress.names("endpoints")) {
            c.endpoints[name] = Endpoint::read(egress.section("endpoints").section(name));
        }
        Endpoint::read(egress.template_section("endpoints"));
        return c;
    }
};

}  // namespace sluice::test
