// The doors to the pages for whoever administers them: what is let in, what is refused, and what
// never comes out.
#include "surface/rest/pages.h"

#include "page_shelf.h"
#include "request.h"
#include "support/run_io.h"
#include "support/web_harness.h"
#include "surface/rest/page_request.h"
#include "titles/pin.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sluice::surface {
namespace {

using io::Method;

class PageAdminDoorTest : public testing::Test {
 protected:
    io::HttpResponse ask(Method method, const std::string& path, const std::string& body = {}) {
        TestRequest request(method, path, h.clock.now());
        if (!body.empty()) {
            request.header("Content-Type", "application/json").body(body);
        }
        io::HttpReply reply = router.handle(request.get());
        if (auto* ready = std::get_if<io::HttpResponse>(&reply)) {
            return std::move(*ready);
        }
        return test::run_io(h.io, std::get<Task<io::HttpResponse>>(std::move(reply)));
    }
    // The answer to a request that has to succeed; valid until the next one.
    JsonValue ask_ok(Method method, const std::string& path, const std::string& body = {}) {
        answer = ask(method, path, body).lead;
        const auto parsed = reader.parse(answer);
        SLUICE_ASSERT(parsed.ok());
        EXPECT_EQ(parsed->string_at("code"), "") << answer;
        return *parsed;
    }
    std::string add(const std::string& members) {
        const JsonValue page = ask_ok(Method::kPost, "/v1/pages", "{" + members + "}");
        return "/v1/pages/" + std::to_string(page.find("id")->as_integer().value());
    }
    std::string pin_hash(std::int64_t id) {
        return test::run_io(h.io, shelf.store.pin_hash(id)).value();
    }
    std::string detail_of(const io::HttpResponse& response) {
        const auto parsed = reader.parse(response.lead);
        return parsed.ok() ? std::string(parsed->string_at("detail")) : response.lead;
    }

    test::WebHarness h;
    PageShelf shelf{h.clock};
    PageAdminDoor door{shelf.store, shelf.hashing, h.access};
    Router router{page_admin_routes(door), h.access};
    JsonReader reader;
    std::string answer;
};

std::vector<std::string> names_of(const JsonValue& object) {
    std::vector<std::string> names;
    for (const auto& [name, value] : object.members()) {
        names.emplace_back(name);
    }
    return names;
}

// A record has exactly the members that are promised, and no PIN is in any.
TEST_F(PageAdminDoorTest, ARecordIsAsPromised) {
    const io::HttpResponse response =
        ask(Method::kPost, "/v1/pages",
            R"({"id":7,"title":"C++ build flags","slug":"flags","author":"Ada","body":"*x*",)"
            R"("current_version":3,"lifecycle":"unlisted","claimed":true,"pin":"2468-secret"})");
    EXPECT_EQ(response.status, 201) << response.lead;
    EXPECT_TRUE(has_header(response, "Location: /v1/pages/7"));
    const std::vector<std::string> names = {"id",         "title",     "slug",    "author",
                                            "lifecycle",  "claimed",   "has_pin", "current_version",
                                            "created_at", "updated_at"};
    EXPECT_EQ(names_of(*reader.parse(response.lead)), names) << response.lead;
    EXPECT_EQ(response.lead.find("2468"), std::string::npos);
    EXPECT_EQ(response.lead.find("argon2"), std::string::npos);
    const JsonValue shown = ask_ok(Method::kGet, "/v1/pages/7");
    std::vector<std::string> with_body = names;
    with_body.emplace_back("body");
    EXPECT_EQ(names_of(shown), with_body);
    EXPECT_EQ(shown.string_at("body"), "*x*");
    EXPECT_EQ(shown.string_at("lifecycle"), "unlisted");
    EXPECT_EQ(shown.find("claimed")->as_boolean(), true);
    EXPECT_EQ(shown.find("has_pin")->as_boolean(), true);
    EXPECT_EQ(shown.find("current_version")->as_integer(), 3);
    EXPECT_TRUE(titles::verify_pin(pin_hash(7), Secret("2468-secret")).value());
}

// A list has what is listed for everybody; with `all` the rest, too.
TEST_F(PageAdminDoorTest, ListsAsAsked) {
    add(R"("title":"b")");
    add(R"("title":"a")");
    add(R"("title":"c","lifecycle":"archived")");
    add(R"("title":"d","claimed":true)");
    const auto titles_of = [this](const std::string& query) {
        std::string titles;
        for (const JsonValue& page :
             ask_ok(Method::kGet, "/v1/pages" + query).find("pages")->elements()) {
            titles += page.string_at("title");
        }
        return titles;
    };
    EXPECT_EQ(titles_of("?sort=title"), "ab");
    EXPECT_EQ(titles_of("?sort=title&all=true"), "abcd");
    EXPECT_EQ(titles_of("?sort=title&all=true&limit=2&offset=1"), "bc");
    EXPECT_EQ(titles_of("?sort=oldest&all=false"), "ba");
    EXPECT_EQ(titles_of(""), "ab") << "the newest first";
    EXPECT_EQ(ask_ok(Method::kGet, "/v1/pages?all=true&limit=1").find("total")->as_integer(), 4);
}

// A patch changes what it names; releasing a page takes its PIN, and a new PIN takes the old one's
// place.
TEST_F(PageAdminDoorTest, APatchChangesWhatItNames) {
    const std::string page = add(R"("title":"Old","author":"Ada","body":"text")");
    EXPECT_EQ(ask_ok(Method::kPatch, page, R"({"title":"New"})").string_at("author"), "Ada");
    EXPECT_EQ(ask_ok(Method::kGet, page).string_at("body"), "text");
    ask_ok(Method::kPatch, page, R"({"claimed":true,"pin":"first-pin"})");
    EXPECT_TRUE(titles::verify_pin(pin_hash(1), Secret("first-pin")).value());
    ask_ok(Method::kPatch, page, R"({"pin":"second-pin"})");
    EXPECT_TRUE(titles::verify_pin(pin_hash(1), Secret("second-pin")).value());
    EXPECT_EQ(ask_ok(Method::kPatch, page, R"({"pin":null})").find("has_pin")->as_boolean(), false);
    EXPECT_EQ(pin_hash(1), "");
    ask_ok(Method::kPatch, page, R"({"pin":"third-pin"})");
    EXPECT_EQ(ask_ok(Method::kPatch, page, R"({"claimed":false})").find("claimed")->as_boolean(),
              false);
    EXPECT_EQ(pin_hash(1), "");
    EXPECT_EQ(ask(Method::kDelete, page).status, 204);
    EXPECT_EQ(ask(Method::kGet, page).status, 404);
}

// Every mistake is told by field, with the nearest name, and changes nothing; a PIN is not told.
TEST_F(PageAdminDoorTest, MistakesAreTold) {
    const std::string one = add(R"("title":"One")");
    add(R"("title":"Two")");
    struct Case {
        Method method;
        std::string path;
        std::string body;
        int status;
        std::string_view said;
    };
    const std::string all = "/v1/pages";
    const Case cases[] = {
        {Method::kPost, all, "[]", 400, "JSON object"},
        {Method::kPost, all, "{", 400, "JSON"},
        {Method::kPost, all, "{}", 400, "title: expected 1 to 200"},
        {Method::kPost, all, R"({"titel":"x"})", 400, "'title'"},
        {Method::kPost, all, R"({"title":"x","title":"y"})", 400, "title: given twice"},
        {Method::kPost, all, R"({"title":7})", 400, "title: expected a text"},
        {Method::kPost, all, R"({"title":"a\nb"})", 400, "title: expected one line"},
        {Method::kPost, all, R"({"title":"x","slug":"A b"})", 400, "slug: expected"},
        {Method::kPost, all, R"({"title":"x","slug":"two"})", 409, "slug: another page"},
        {Method::kPost, all, R"({"title":"x","id":1})", 409, "id: another page"},
        {Method::kPost, all, R"({"title":"x","id":0})", 400, "id: expected a whole number"},
        {Method::kPost, all, R"({"title":"x","id":4503599627370496})", 400, "4503599627370495"},
        {Method::kPost, all, R"({"title":"x","id":9007199254740992})", 400, "4503599627370495"},
        {Method::kPost, all, R"({"title":"x","current_version":1.5})", 400, "current_version: exp"},
        {Method::kPost, all, R"({"title":"x","lifecycle":"live"})", 400, "active, unlisted or"},
        {Method::kPost, all, R"({"title":"x","claimed":"yes"})", 400, "claimed: expected true"},
        {Method::kPost, all, R"({"title":"x","body":"a\u0000b"})", 400, "body: expected UTF-8"},
        {Method::kPost, all, R"({"title":"x","pin":"hidden-pin"})", 400, "claimed: true"},
        {Method::kPost, all, R"({"title":"x","claimed":true,"pin":"hid"})", 400, "pin: expected 4"},
        {Method::kPost, all, R"({"title":"x","claimed":true,"pin":1234})", 400, "pin: expected 4"},
        {Method::kPost, all, R"({"title":"x","updated_at":"now"})", 400, "unknown field"},
        {Method::kPatch, one, "{}", 400, "at least one of: title"},
        {Method::kPatch, one, R"({"slug":"two"})", 409, "slug: another page"},
        {Method::kPatch, one, R"({"slug":""})", 400, "slug: expected"},
        {Method::kPatch, one, R"({"pin":"hidden-pin"})", 400, "claimed: true"},
        {Method::kPatch, one, R"({"claimed":false,"pin":"hidden-pin"})", 400, "claimed: true"},
        {Method::kPatch, one, R"({"id":3})", 400, "unknown field 'id'"},
        {Method::kPatch, all + "/99", R"({"title":"x"})", 404, "no such page"},
        {Method::kPatch, all + "/one", R"({"title":"x"})", 404, "no such page"},
        {Method::kGet, all + "/99", "", 404, "no such page"},
        {Method::kGet, all + "/-1", "", 404, "no such page"},
        {Method::kGet, all + "/99999999999999999999", "", 404, "no such page"},
        {Method::kDelete, all + "/99", "", 404, "no such page"},
        {Method::kGet, all + "/1/2", "", 404, "no such path"},
        {Method::kGet, all + "?limit=0", "", 400, "limit: expected a whole number from 1 to 1000"},
        {Method::kGet, all + "?limit=1001", "", 400, "limit: expected"},
        {Method::kGet, all + "?limit=1&limit=2", "", 400, "given twice"},
        {Method::kGet, all + "?offset=-1", "", 400, "offset: expected"},
        {Method::kGet, all + "?sort=best", "", 400, "sort: expected newest, oldest or title"},
        {Method::kGet, all + "?all=1", "", 400, "all: expected true or false"},
        {Method::kGet, all + "?limt=1", "", 400, "'limit'"},
        {Method::kPut, one, "{}", 405, "DELETE, GET, HEAD, OPTIONS, PATCH"},
    };
    for (const Case& c : cases) {
        const io::HttpResponse response = ask(c.method, c.path, c.body);
        EXPECT_EQ(response.status, c.status) << c.path << " " << c.body << "\n" << response.lead;
        EXPECT_NE(detail_of(response).find(c.said), std::string::npos)
            << c.path << " " << c.body << "\n"
            << detail_of(response);
        EXPECT_EQ(response.lead.find("hid"), std::string::npos) << response.lead;
    }
    EXPECT_EQ(ask_ok(Method::kGet, all + "?all=true").find("total")->as_integer(), 2);
    EXPECT_EQ(ask_ok(Method::kGet, one).find("current_version")->as_integer(), 1);
}

// As soon as tokens exist, only one with the scope admin comes in.
TEST_F(PageAdminDoorTest, NeedsTheScopeAdmin) {
    std::vector<access::StoredToken> stored(1);
    stored[0].record.id = "t";
    stored[0].record.scopes = {access::Scope::kSearch, access::Scope::kStatus};
    h.tokens.reload(stored);
    EXPECT_EQ(ask(Method::kGet, "/v1/pages").status, 401);
    EXPECT_EQ(ask(Method::kPost, "/v1/pages", "{}").status, 401);
    EXPECT_EQ(ask(Method::kGet, "/v1/pages/1").status, 401);
    EXPECT_EQ(ask(Method::kPatch, "/v1/pages/1", "{}").status, 401);
    EXPECT_EQ(ask(Method::kDelete, "/v1/pages/1").status, 401);
}

// While every thread that hashes is taken, a PIN is refused for now, and nothing was changed.
TEST_F(PageAdminDoorTest, TooManyPinsAreRefused) {
    const auto taken = shelf.hashing.try_acquire();
    const io::HttpResponse response =
        ask(Method::kPost, "/v1/pages", R"({"title":"x","claimed":true,"pin":"2468"})");
    EXPECT_EQ(response.status, 503) << response.lead;
    EXPECT_TRUE(has_header(response, "Retry-After: 1")) << response.headers;
    EXPECT_EQ(ask_ok(Method::kGet, "/v1/pages?all=true").find("total")->as_integer(), 0);
}

// A line of an import is a new page without a PIN.
TEST(PageLine, IsReadAsABodyIs) {
    JsonReader reader(kPageLimits);
    const auto page =
        parse_page_line(reader, R"({"id":3,"title":"T","slug":"s","body":"b","current_version":2,)"
                                R"("lifecycle":"archived","claimed":true,"author":"A"})");
    ASSERT_TRUE(page.ok()) << page.error().message;
    EXPECT_EQ(page->id, 3);
    EXPECT_EQ(page->title + page->slug + page->body + page->author, "TsbA");
    EXPECT_EQ(page->version, 2);
    EXPECT_EQ(page->lifecycle, titles::Lifecycle::kArchived);
    EXPECT_TRUE(page->is_claimed);
    const auto pin = parse_page_line(reader, R"({"title":"T","claimed":true,"pin":"2468"})");
    ASSERT_FALSE(pin.ok());
    EXPECT_TRUE(pin.error().message.starts_with("unknown field 'pin'")) << pin.error().message;
}

}  // namespace
}  // namespace sluice::surface
