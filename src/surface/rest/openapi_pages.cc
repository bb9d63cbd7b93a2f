#include "surface/rest/openapi_pages.h"

#include "base/result.h"
#include "surface/rest/openapi_schema.h"
#include "surface/rest/page_search.h"
#include "surface/rest/pages.h"
#include "titles/page.h"
#include "titles/page_store.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

namespace sluice::surface {

namespace {

constexpr std::string_view kText = R"("type":"string")";
// The schema of a whole number from 1 to `most`, which has 16 digits.
constexpr auto number_up_to(std::int64_t most) {
    constexpr std::string_view kBefore = R"("type":"integer","minimum":1,"maximum":)";
    std::array<char, kBefore.size() + 16> text{};
    std::ranges::copy(kBefore, text.begin());
    for (std::size_t at = text.size(); at > kBefore.size(); most /= 10) {
        at -= 1;
        text[at] = static_cast<char>('0' + most % 10);
    }
    SLUICE_ASSERT(most == 0 && text[kBefore.size()] != '0');
    return text;
}

constexpr auto kNumberText = number_up_to(2 * titles::kMaxPageNumber + 1);
constexpr std::string_view kNumber(kNumberText.data(), kNumberText.size());
// Of what is given: what follows by itself has room above it.
constexpr auto kGivenText = number_up_to(titles::kMaxPageNumber);
constexpr std::string_view kGiven(kGivenText.data(), kGivenText.size());
constexpr std::string_view kBoolean = R"("type":"boolean")";
constexpr std::string_view kTitle = R"("type":"string","minLength":1,"maxLength":200)";
constexpr std::string_view kSlug = R"("type":"string","maxLength":200)";
constexpr std::string_view kAuthor = R"("type":"string","maxLength":80)";
constexpr std::string_view kLifecycle =
    R"("type":"string","enum":["active","unlisted","archived"])";
constexpr std::string_view kPin = R"("type":["string","null"],"minLength":4,"maxLength":128)";
static_assert(titles::kMaxTitleCodePoints == 200 && titles::kMaxSlugBytes == 200 &&
              titles::kMaxAuthorCodePoints == 80 && titles::kMinPinBytes == 4 &&
              titles::kMaxPinBytes == 128);

constexpr std::string_view kAboutSlug =
    "The last part of its address: lower-case letters and digits, joined by single hyphens.";
constexpr std::string_view kAboutLifecycle =
    "Only an active page is listed and found; an unlisted one is shown to whoever has its address, "
    "an archived one to nobody.";
constexpr std::string_view kAboutClaimed =
    "A claimed page is neither listed nor found, and shown to whoever knows its PIN.";
constexpr std::string_view kAboutVersion = "Rises with the title, the lifecycle and the body.";
constexpr std::string_view kAboutBody = "Markdown, at most 1 MiB.";

constexpr Property kPageText[] = {
    {"id", kNumber, "Stable, and never used again."},
    {"title", kTitle, "One line."},
    {"slug", kSlug, kAboutSlug},
    {"author", kAuthor, "A label; may be empty."},
    {"lifecycle", kLifecycle, kAboutLifecycle},
    {"claimed", kBoolean, kAboutClaimed},
    {"has_pin", kBoolean, "Whether a PIN opens it; only a claimed page has one."},
    {"current_version", kNumber, kAboutVersion},
    {"created_at", kText, "RFC 3339."},
    {"updated_at", kText, "RFC 3339."},
    {"body", kText, kAboutBody},
};
// All but the body, which is the last.
constexpr auto kPage = std::span(kPageText).first<std::size(kPageText) - 1>();

constexpr Property kNewPage[] = {
    {"id", kGiven, "Left out: the next one."},
    {"title", kTitle, "One line."},
    {"slug", kSlug, "Left out: made of the title, with a number where that is taken."},
    {"author", kAuthor, "A label."},
    {"body", kText, kAboutBody},
    {"current_version", kGiven, "Left out: 1."},
    {"lifecycle", kLifecycle, kAboutLifecycle},
    {"claimed", kBoolean, kAboutClaimed},
    {"pin", kPin, "Of a claimed page. It is kept as a hash and never shown again."},
};

constexpr Property kPageChange[] = {
    {"title", kTitle, "One line."},
    {"slug", kSlug, kAboutSlug},
    {"author", kAuthor, "A label."},
    {"body", kText, kAboutBody},
    {"lifecycle", kLifecycle, kAboutLifecycle},
    {"claimed", kBoolean, "false takes the PIN away, too."},
    {"pin", kPin, "Of a claimed page; null takes it away."},
};

constexpr QueryParameter kListParameters[] = {
    {"limit", R"({"type":"integer","minimum":1,"maximum":1000,"default":50})", "How many."},
    {"offset", R"({"type":"integer","minimum":0,"maximum":1000000,"default":0})",
     "How many are passed over."},
    {"sort", R"({"type":"string","enum":["newest","oldest","title"],"default":"newest"})",
     "By the last change, or by title."},
    {"all", R"({"type":"boolean","default":false})",
     "Also pages that are unlisted, archived or claimed."},
};
static_assert(titles::kMaxListed == 1'000 && titles::kMaxPages == 1'000'000);

constexpr Operation kAll[] = {
    {"get", "listPages", "Pages, without their bodies.", "", "200", "PageList", kListParameters},
    {"post", "addPage", "Add a page; the next search finds it.", "NewPage", "201", "Page", {}},
};
constexpr Operation kOne[] = {
    {"get", "getPage", "One page with its body.", "", "200", "PageText", {}},
    {"patch", "changePage", "Change what is named of a page.", "PageChange", "200", "Page", {}},
    {"delete", "removePage", "Remove a page for good.", "", "204", "", {}},
};

constexpr Property kTitleHits[] = {
    {"query", kText, "What was asked, with what can't be shown replaced."},
    {"total_matched", R"("type":"integer","minimum":0)", "Pages like it, listed or not."},
    {"truncated", kBoolean, "Whether more match than are listed."},
    {"results", R"("type":"array","items":{"$ref":"#/components/schemas/TitleHit"})",
     "The best first."},
};
constexpr Property kTitleHit[] = {
    {"id", R"("type":"integer")", "The page."},
    {"title", kText, "As it is now."},
    {"slug", kText, "The last part of its address."},
    {"score", R"("type":"number","minimum":0,"maximum":100)",
     "How alike the two are, to six decimals."},
    {"updated_at", kText, "RFC 3339."},
};
constexpr QueryParameter kSearchParameters[] = {
    {"q", R"({"type":"string","minLength":2,"maxLength":64})", "What the title is like."},
};
constexpr Operation kSearch[] = {
    {"get", "searchPages", "Pages whose titles are like a query, typing mistakes and all.", "",
     "200", "TitleHits", kSearchParameters},
};

}  // namespace

void write_page_paths(JsonWriter& json) {
    write_path(json, kPagesPath, kAll);
    write_path(json, kPagePath, kOne);
    write_path(json, kPageSearchPath, kSearch);
}

void write_page_schemas(JsonWriter& json) {
    json.key("PageList")
        .raw(R"({"type":"object","properties":{"pages":{"type":"array",)"
             R"("items":{"$ref":"#/components/schemas/Page"}},)"
             R"("total":{"type":"integer","minimum":0,)"
             R"("description":"Of that kind, listed or not."}}})");
    write_schema(json, "Page", kPage, "");
    write_schema(json, "PageText", kPageText, "");
    write_schema(json, "NewPage", kNewPage, R"(["title"])");
    write_schema(json, "PageChange", kPageChange, "[]");
    write_schema(json, "TitleHits", kTitleHits, "");
    write_schema(json, "TitleHit", kTitleHit, "");
}

}  // namespace sluice::surface
