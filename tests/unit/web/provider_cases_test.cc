// Runs every case file of every provider: tests/cases/providers/<name>/*.json. A case expects one
// of
//   "expect_http"    what is sent for the request
//   "expect_unmet"   the constraint of the request that the provider can't honour, or null
//   "expect"         what is made of the answer: {"answer": ...} or {"verdict": ...}
#include "case_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

namespace sluice::web {
namespace {

using namespace testing;  // NOLINT: the vocabulary of this file

const std::string kCases = "tests/cases/providers/";

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
    json.end_object().key("body").raw(call.body).end_object();
    return canonical(out);
}

void check_http(const Provider& provider, const JsonValue& root, const JsonValue& expected) {
    const SearchRequest request = request_of(root);
    EXPECT_EQ(unmet_constraint(provider.spec().can, request), std::nullopt)
        << "a request that would be skipped is never built";
    const std::string base_url = "https://" + std::string(provider.spec().name) + ".test";
    const CallSite site{base_url, usual_now()};
    EXPECT_EQ(describe(provider.build(request, usual_key(), site)), canonical(expected));
}

void check_unmet(const Provider& provider, const JsonValue& root, const JsonValue& expected) {
    const auto unmet = unmet_constraint(provider.spec().can, request_of(root));
    EXPECT_EQ(unmet, expected.as_string());
}

void check_judgement(const Provider& provider, const JsonValue& root, const JsonValue& expected) {
    io::ClientResponse response;
    if (const auto inline_response = root.find("response")) {
        response = read_response(*inline_response);
    } else {
        const std::string fixture(root.string_at("fixture"));
        const Document file(read_file(folder_of(provider) + "fixtures/" + fixture + ".json"));
        response = read_response(file.root());
    }
    const SearchRequest request = request_of(root);
    const ProviderKey key = usual_key();
    const auto now = root.find("now");
    JsonReader reader;
    const Judgement judgement = judge({provider, request, key}, response, reader,
                                      now ? read_time(*now->as_string()) : usual_now());
    EXPECT_EQ(testing::describe(judgement), canonical(expected));
}

void run_case(const Provider& provider, const std::string& path) {
    SCOPED_TRACE(path);
    const Document file(read_file(path));
    const JsonValue& root = file.root();
    EXPECT_FALSE(root.string_at("why").empty()) << "a case says what it is for";
    for (const auto& [name, value] : root.members()) {
        static const std::set<std::string_view> known = {"why",          "request", "fixture",
                                                         "response",     "now",     "expect_http",
                                                         "expect_unmet", "expect"};
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

// The secret travels in the headers that logs never see, and nowhere else.
TEST(ProviderSpecs, SecretsStayInSecretHeaders) {
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
        ASSERT_EQ(call.secret_headers.size(), 1U);
        EXPECT_TRUE(call.secret_headers[0].second.reveal().ends_with(secret));
    }
}

}  // namespace
}  // namespace sluice::web
