// Any bytes as a title, an author, a query and a page's body: whatever they are, the pages have the
// same elements and attributes as with harmless ones, and a body has none that do anything.
#include "base/result.h"
#include "surface/pages/markdown.h"
#include "surface/pages/render.h"
#include "titles/query.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace sluice;

std::string whole(const surface::PageHtml& page) {
    return page.before_body + page.after_body;
}

constexpr std::string_view kSpace = " \t\r\n\f";

// What a browser makes of HTML, near enough: "p", "a href", "/p" and so on in their order. `<mark>`
// is left out, since how much is marked depends on the text.
std::vector<std::string> tags_of(std::string_view html) {
    std::vector<std::string> tags;
    for (std::size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at)) {
        at += 1;
        std::string tag;
        bool is_name = true;  // not inside a value
        char quote = 0;
        for (; at < html.size() && (quote != 0 || html[at] != '>'); ++at) {
            const char c = html[at];
            if (quote != 0) {
                quote = c == quote ? '\0' : quote;
            } else if (c == '"' || c == '\'') {
                quote = c;
            } else if (c == '=') {
                is_name = false;
            } else if (kSpace.find(c) != std::string_view::npos) {
                is_name = true;
                tag += ' ';
            } else if (is_name) {
                tag += c;
            } else {
                tag += "?";  // a value without quotes, which no template has
            }
        }
        SLUICE_ASSERT(at < html.size());  // a tag that ends nowhere
        if (tag != "mark" && tag != "/mark") {
            tags.push_back(std::move(tag));
        }
    }
    return tags;
}

struct Texts {
    std::string title, author, query;
};

std::vector<std::string> pages_with(const surface::PageRenderer& renderer, const Texts& texts) {
    const WallTime when(std::chrono::seconds{1'700'000'000});
    titles::Candidate candidate{1, 1, texts.title, texts.title, texts.author, when};
    titles::TitleAnswer answer;
    answer.outcome = titles::TitleOutcome::kFound;
    answer.query = titles::read_title_query(texts.query);
    answer.hits = {{&candidate, 75.0}};
    answer.total_matched = 1;
    surface::Ledger ledger;
    titles::PageRecord record;
    record.title = record.slug = texts.title;
    record.author = texts.author;
    record.updated_at = when;
    ledger.list.pages = {record};
    ledger.list.total = 1;
    surface::Frame frame;
    frame.here = texts.query;
    const surface::Notice notice{texts.title, texts.author, std::chrono::seconds{3},
                                 "/search?q=" + texts.query, texts.query};
    return {renderer.search(answer, frame), renderer.ledger(ledger, frame),
            whole(renderer.page(record, surface::PageBody::kText, frame)),
            renderer.pin_form(texts.title, surface::PinForm::kWrong, frame),
            renderer.notice(notice, frame)};
}

void check_pages(const Texts& texts) {
    static const surface::Assets assets;
    static const surface::PageRenderer renderer(assets);
    static const std::vector<std::string> harmless =
        pages_with(renderer, {"title", "author", "query"});
    const std::vector<std::string> pages = pages_with(renderer, texts);
    for (std::size_t i = 0; i < pages.size(); ++i) {
        SLUICE_ASSERT(tags_of(pages[i]) == tags_of(harmless[i]));
    }
}

void check_body(std::string_view markdown) {
    static const std::vector<std::string_view> names = {
        "p",  "h2", "h3", "h4",   "h5", "h6", "a",          "img", "em", "strong",
        "ul", "ol", "li", "code", "br", "hr", "blockquote", "pre", "!--"};
    static const std::vector<std::string_view> attributes = {"href",  "src",   "alt", "title",
                                                             "class", "start", "/"};
    for (const std::string& tag : tags_of(surface::markdown_to_html(markdown))) {
        std::string_view rest = tag;
        if (rest.starts_with("!--")) {
            SLUICE_ASSERT(rest == "!-- raw HTML omitted --");
            continue;
        }
        if (rest.starts_with('/')) {
            rest.remove_prefix(1);
        }
        const std::string_view name = rest.substr(0, rest.find(' '));
        SLUICE_ASSERT(std::ranges::find(names, name) != names.end());
        rest.remove_prefix(name.size());
        while (!rest.empty()) {
            rest.remove_prefix(1);
            const std::string_view attribute = rest.substr(0, rest.find(' '));
            SLUICE_ASSERT(std::ranges::find(attributes, attribute) != attributes.end());
            rest.remove_prefix(attribute.size());
        }
    }
}

}  // namespace

// The input is three texts with line breaks between them; all of it is a body as well.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    std::string_view rest = bytes;
    auto next = [&] {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        return std::string(line);
    };
    Texts texts{next(), "a" + next(), next()};  // without an author a line is left out
    check_pages(texts);
    check_body(bytes);
    return 0;
}
