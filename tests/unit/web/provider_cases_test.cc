// Runs every case file of every provider: tests/cases/providers/<name>/*.json. A case expects one
// of
//   "expect_http"     what is sent for the request, with "without_option" what for the second try
//   "expect_honoured" how each of its constraints is honoured: {"include_domains": "operator"}
//   "expect_unmet"    the constraint of the request that the provider can't honour, or null
//   "expect_windows"  the rate windows that the answer tells of
//   "expect_price"    what the call is expected to cost
//   "expect"          what is made of the answer: {"answer": ...} or {"verdict": ...}
#include "case_file.h"
#include "web/constraints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>

namespace sluice::web {
namespace {

using namespace testing;  // NOLINT: the vocabulary of this file

const std::string kCases = "tests/cases/providers/";
constexpr std::string_view kUsualEngine = "0123456789abcdef0";

std::string folder_of(const Provider& provider) {
    return kCases + std::string(provider.spec().name) + "/";
}

SearchRequest request_of(const JsonValue& root) {
    const auto fields = root.find("request");
    return fields ? read_request(*fields) : usual_request();
}

std::string describe(const io::ClientRequest& call) {
    std::string out;
    JsonWriter json(out);
    json.begin_object().field("method", io::to_string(call.method)).field("url", call.url);
    json.key("headers").begin_object();
    for (const auto& [name, value] : call.headers) {
        json.field(name, value);
    }
    json.end_object().key("secret_headers").begin_object();
    for (const auto& [name, value] : call.secret_headers) {
        json.field(name, value.reveal());
    }
    json.end_object();
    if (!call.secret_query.empty()) {
        json.key("secret_query").begin_object();
        for (const auto& [name, value] : call.secret_query) {
            json.field(name, value.reveal());
        }
        json.end_object();
    }
    if (!call.body.empty()) {
        json.key("body").raw(call.body);
    }
    json.end_object();
    return canonical(out);
}

void check_http(const Provider& provider, const JsonValue& root, const JsonValue& expected) {
    const SearchRequest request = request_of(root);
    const CallPlan plan = plan_call(provider.spec(), request);
    EXPECT_EQ(plan.unmet(), std::nullopt) << "a request that would be skipped is never built";
    const std::string base_url = "https://" + std::string(provider.spec().name) + ".test";
    CallSite site{base_url, usual_now(), kUsualEngine};
    if (root.find("without_option")) {
        EXPECT_TRUE(provider.sends_option(plan.sent(request)));
        site.variant = BuildVariant::kWithoutOption;
    }
    EXPECT_EQ(describe(provider.build(plan.sent(request), usual_key(), site)), canonical(expected));
}

void check_unmet(const Provider& provider, const JsonValue& root, const JsonValue& expected) {
    EXPECT_EQ(plan_call(provider.spec(), request_of(root)).unmet(), expected.as_string());
}

void check_honoured(const Provider& provider, const JsonValue& root, const JsonValue& expected) {
    const SearchRequest request = request_of(root);
    const auto variant =
        root.find("without_option") ? BuildVariant::kWithoutOption : BuildVariant::kFull;
    std::map<std::string, std::string> words;
    for (const Honoured& entry :
         honoured(plan_call(provider.spec(), request), provider.spec(), request, variant)) {
        EXPECT_EQ(entry.provider, provider.spec().name);
        std::string& how = words[entry.constraint];
        how.append(how.empty() ? "" : ", ").append(to_string(entry.how));
    }
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    for (const auto& [constraint, how] : words) {
        json.field(constraint, how);
    }
    json.end_object();
    EXPECT_EQ(canonical(out), canonical(expected));
}

void check_windows(const Provider& provider, const JsonValue& root, const JsonValue& expected) {
    std::array<RateWindow, 8> windows;
    const std::size_t count =
        provider.rate_windows(read_answer(root, folder_of(provider)), windows);
    std::string out;
    JsonWriter json(out);
    json.begin_array();
    for (const RateWindow& window : std::span(windows).first(count)) {
        json.begin_object().field("length_s", window.length.count() / 1000);
        json.field("limit", window.limit).field("remaining", window.remaining);
        json.field("reset_s", window.reset.count() / 1000).end_object();
    }
    json.end_array();
    EXPECT_EQ(canonical(out), canonical(expected));
}

void check_price(const Provider& provider, const JsonValue& root, const JsonValue& expected) {
    const SearchRequest request = request_of(root);
    const Cost price = provider.price(plan_call(provider.spec(), request).sent(request));
    EXPECT_EQ(price.units, expected.find("units")->as_integer());
    EXPECT_EQ(price.micro_usd, expected.find("micro_usd")->as_integer());
}

void check_judgement(const Provider& provider, const JsonValue& root, const JsonValue& expected) {
    const io::ClientResponse response = read_answer(root, folder_of(provider));
    const SearchRequest request = request_of(root);
    const ProviderKey key = usual_key();
    const auto now = root.find("now");
    JsonReader reader;
    const Judgement judgement = judge({provider, request, key}, response, reader,
                                      now ? read_time(*now->as_string()) : usual_now());
    EXPECT_EQ(testing::describe(judgement), canonical(expected));
    // What is reserved for a call is the dearest that the price list has for it.
    if (const auto* answer = std::get_if<ProviderAnswer>(&judgement); answer && answer->cost) {
        const Cost reserved = provider.price(plan_call(provider.spec(), request).sent(request));
        EXPECT_LE(answer->cost->micro_usd, reserved.micro_usd);
    }
}

void run_case(const Provider& provider, const std::string& path) {
    SCOPED_TRACE(path);
    const Document file(read_file(path));
    const JsonValue& root = file.root();
    EXPECT_FALSE(root.string_at("why").empty()) << "a case says what it is for";
    for (const auto& [name, value] : root.members()) {
        static const std::set<std::string_view> known = {
            "why",          "request",        "fixture",     "response",
            "now",          "without_option", "expect_http", "expect_unmet",
            "expect_price", "expect_windows", "expect",      "expect_honoured"};
        EXPECT_TRUE(known.contains(name)) << name;
    }
    int expectations = 0;
    if (const auto expected = root.find("expect_http")) {
        ++expectations;
        check_http(provider, root, *expected);
    }
    if (const auto expected = root.find("expect_unmet")) {
        ++expectations;
        check_unmet(provider, root, *expected);
    }
    if (const auto expected = root.find("expect_honoured")) {
        ++expectations;
        check_honoured(provider, root, *expected);
    }
    if (const auto expected = root.find("expect_windows")) {
        ++expectations;
        check_windows(provider, root, *expected);
    }
    if (const auto expected = root.find("expect_price")) {
        ++expectations;
        check_price(provider, root, *expected);
    }
    if (const auto expected = root.find("expect")) {
        ++expectations;
        check_judgement(provider, root, *expected);
    }
    EXPECT_EQ(expectations, 1) << "a case expects exactly one thing";
}

// What each provider is sent, what is made of its answers and whom its errors are blamed on is
// exactly what its case files say.
TEST(ProviderCases, EveryCaseHolds) {
    for (const Provider* provider : all_providers()) {
        const auto cases = json_files(folder_of(*provider));
        EXPECT_GE(cases.size(), 30U) << provider->spec().name;
        for (const std::string& path : cases) {
            run_case(*provider, path);
        }
    }
}

// A recorded answer that no case reads protects nothing.
TEST(ProviderCases, EveryFixtureIsRead) {
    for (const Provider* provider : all_providers()) {
        std::set<std::string> read;
        for (const std::string& path : json_files(folder_of(*provider))) {
            const Document file(read_file(path));
            read.emplace(file.root().string_at("fixture"));
        }
        for (const std::string& path : json_files(folder_of(*provider) + "fixtures")) {
            const std::string name = std::filesystem::path(path).stem().string();
            EXPECT_TRUE(read.contains(name)) << provider->spec().name << ": " << name;
        }
    }
}

// A folder of cases whose provider does not exist would never run.
TEST(ProviderCases, EveryFolderHasAProvider) {
    for (const auto& entry : std::filesystem::directory_iterator(kCases)) {
        EXPECT_NE(find_provider(entry.path().filename().string()), nullptr) << entry.path();
    }
}

// Names, addresses and variables are what settings, routes and operators rely on.
TEST(ProviderSpecs, AreCompleteAndDistinct) {
    std::set<std::string_view> names;
    std::set<std::string_view> variables;
    for (const Provider* provider : all_providers()) {
        const ProviderSpec& spec = provider->spec();
        SCOPED_TRACE(spec.name);
        EXPECT_TRUE(names.insert(spec.name).second);
        EXPECT_TRUE(variables.insert(spec.keys_variable).second);
        EXPECT_TRUE(variables.insert(spec.key_variable).second);
        EXPECT_EQ(find_provider(spec.name), provider);
        EXPECT_TRUE(spec.default_base_url.starts_with("https://"));
        EXPECT_FALSE(spec.default_base_url.ends_with('/'));
        EXPECT_GT(spec.default_timeout, Millis(0));
        EXPECT_TRUE(std::ranges::is_sorted(spec.can.countries));
    }
    EXPECT_EQ(find_provider("altavista"), nullptr);
    EXPECT_EQ(find_provider(""), nullptr);
}

// The secret travels in the headers or parameters that logs never see, and nowhere else.
TEST(ProviderSpecs, SecretsStayInSecretPlaces) {
    for (const Provider* provider : all_providers()) {
        SearchRequest request = usual_request();
        request.want_answer = true;
        const auto call =
            provider->build(request, usual_key(), {"https://upstream.test", usual_now()});
        const std::string secret(kUsualSecret);
        EXPECT_EQ(call.url.find(secret), std::string::npos);
        EXPECT_EQ(call.body.find(secret), std::string::npos);
        for (const auto& [name, value] : call.headers) {
            EXPECT_EQ(value.find(secret), std::string::npos) << name;
        }
        ASSERT_EQ(call.secret_headers.size() + call.secret_query.size(), 1U);
        const auto& [name, value] =
            call.secret_headers.empty() ? call.secret_query[0] : call.secret_headers[0];
        EXPECT_TRUE(value.reveal().ends_with(secret)) << name;
    }
}

}  // namespace
}  // namespace sluice::web
