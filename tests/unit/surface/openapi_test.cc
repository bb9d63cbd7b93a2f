// The description of the API agrees with what is parsed, routed and answered.
#include "surface/rest/openapi.h"

#include "base/text.h"
#include "page_shelf.h"
#include "request.h"
#include "support/fake_key_store.h"
#include "support/web_harness.h"
#include "surface/all.h"
#include "surface/common/errors.h"
#include "surface/rest/search_fields.h"
#include "web/key_watch.h"

#include <gtest/gtest.h>

#include <set>

namespace sluice::surface {
namespace {

class OpenapiTest : public testing::Test {
 protected:
    OpenapiTest() : text(render_openapi("1.2.3")) {
        auto parsed = reader.parse(text);
        EXPECT_TRUE(parsed.ok()) << parsed.error().message;
        root.emplace(*parsed);
    }

    std::string text;
    JsonReader reader;
    std::optional<JsonValue> root;
};

// The text is JSON, indented, with the version it was asked for.
TEST_F(OpenapiTest, IsIndentedJson) {
    EXPECT_EQ(root->string_at("openapi"), "3.1.0");
    EXPECT_EQ(root->string_at("info", "version"), "1.2.3");
    EXPECT_TRUE(text.starts_with("{\n  \"openapi\": \"3.1.0\",\n"));
    EXPECT_TRUE(text.ends_with("}\n"));
}

// Each field that is parsed is described, with its choices and bounds, for both ways to send it.
TEST_F(OpenapiTest, DescribesEveryField) {
    const auto properties =
        root->find("components", "schemas", "SearchRequest", "properties").value();
    std::set<std::string_view> parameters;
    for (const JsonValue& parameter :
         root->find("paths", "/v1/search", "get", "parameters")->elements()) {
        parameters.insert(parameter.string_at("name"));
    }
    for (const SearchField& field : search_fields()) {
        SCOPED_TRACE(field.name);
        const auto property = properties.find(field.name);
        ASSERT_TRUE(property);
        EXPECT_EQ(property->string_at("description"), field.help);
        EXPECT_TRUE(parameters.contains(field.name == "query" ? "q" : field.name));
        if (field.type == FieldType::kInteger) {
            EXPECT_EQ(property->find("minimum")->as_integer(), field.min);
            EXPECT_EQ(property->find("maximum")->as_integer(), field.max);
        }
        const auto choices = property->find("enum");
        ASSERT_EQ(choices.has_value(), !field.choices.empty());
        EXPECT_EQ(choices ? choices->elements().size() : 0, field.choices.size());
    }
    EXPECT_EQ(properties.members().size(), search_fields().size());
}

// Each route that the network reaches is described under its method, and nothing else is.
TEST_F(OpenapiTest, DescribesEveryRoute) {
    test::WebHarness h;
    SearchDoor search(h.web, h.access, h.clock);
    OpsDoor ops(h.web, h.access, nullptr, h.metrics, h.clock, "1.2.3", TitlesServed::kYes);
    const auto paths = root->find("paths").value();
    std::set<std::string> described;
    for (const auto& [path, item] : paths.members()) {
        for (const auto& [method, operation] : item.members()) {
            described.insert(std::string(method) + " " + std::string(path));
        }
    }
    std::set<std::string> routed;
    test::FakeKeyStore store(h.clock);
    web::KeyWatch watch(store, h.keys, h.clock, h.log, h.metrics);
    web::KeyTrial trial(h.keys, h.budgets, h.web.providers(), h.http, h.egress, h.clock,
                        [&h] { return h.web.config(); });
    web::KeyAdmin admin(h.io.get_executor(), store, watch, h.keys, trial);
    KeysDoor keys(admin, h.access, h.clock);
    UsageDoor usage(h.budgets, h.access, h.clock);
    PageShelf shelf(h.clock);
    PageAdminDoor pages(shelf.store, shelf.hashing, h.access);
    io::SqliteStore budget_file(
        "budget",
        io::SqliteConnection::open(shelf.dir.file("budget.db"), titles::budget_schema()).value(),
        h.metrics);
    titles::SearchBudget budget(budget_file, h.clock);
    SeededRandom random(1);
    titles::TitleSearch titles(h.io.get_executor(), {}, h.access, shelf.store, budget, h.clock,
                               random, h.log, h.metrics);
    PageSearchDoor programs(titles, h.access);
    BodyRenderer bodies(h.io.get_executor(), h.clock, [](const std::exception_ptr&) {});
    PinGate pins(shelf.hashing, 100, h.clock, random, h.metrics);
    PagesDoor people(titles, shelf.store, bodies, pins, h.access);
    std::set<std::string> for_people;  // which read HTML
    for (const Route& route : pages_routes(people)) {
        for_people.insert(route.path);
    }
    for (const Route& route :
         all_routes(search, ops, keys, usage, pages, TitleDoors{programs, people})) {
        if (!route.admin_socket_only && !for_people.contains(route.path)) {
            routed.insert(to_lower(to_string(route.method)) + " " + route.path);
        }
    }
    EXPECT_EQ(described, routed);
}

// Every code that an answer can carry is listed.
TEST_F(OpenapiTest, ListsEveryCode) {
    std::set<std::string_view> listed;
    for (const JsonValue& code : root->find("components", "schemas", "Problem", "properties")
                                     ->find("code", "enum")
                                     ->elements()) {
        listed.insert(code.as_string().value());
    }
    for (const ErrorRow& row : all_error_rows()) {
        EXPECT_TRUE(listed.contains(to_string(row.code))) << to_string(row.code);
    }
    EXPECT_EQ(listed.size(), all_error_rows().size());
}

// References lead to schemas that are there.
TEST_F(OpenapiTest, ReferencesResolve) {
    const auto schemas = root->find("components", "schemas").value();
    constexpr std::string_view kPrefix = "\"$ref\": \"#/components/schemas/";
    std::size_t count = 0;
    for (auto at = text.find(kPrefix); at != std::string::npos; at = text.find(kPrefix, at + 1)) {
        const std::size_t begin = at + kPrefix.size();
        const std::string name = text.substr(begin, text.find('"', begin) - begin);
        EXPECT_TRUE(schemas.find(name)) << name;
        ++count;
    }
    EXPECT_GT(count, 5u);
}

}  // namespace
}  // namespace sluice::surface
