#include "surface/pages/render.h"

#include "base/calendar.h"
#include "base/result.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "titles/highlight.h"

#include <algorithm>
#include <cmath>
#include <ctemplate/template_dictionary.h>
#include <ctemplate/template_string.h>
#include <initializer_list>
#include <iterator>
#include <utility>

namespace sluice::surface {

namespace {

using ctemplate::TemplateDictionary;
using titles::PageOrder;
using titles::QueryVerdict;
using titles::TitleOutcome;

constexpr std::string_view kSite = "Pages";
// Stands for a body. Nothing that comes behind it has control characters.
constexpr std::string_view kBodyMark = "\x01";

ctemplate::TemplateString view(std::string_view text) {
    return {text.data(), text.size()};
}

void set(TemplateDictionary& values, const char* name, std::string_view text) {
    values.SetValue(name, view(text));
}

// "1,234".
std::string grouped(std::size_t count) {
    std::string digits = std::to_string(count);
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, ",");
    }
    return digits;
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
    return grouped(count) + " " + std::string(count == 1 ? one : many);
}

// "12 minutes 5 seconds".
std::string in_words(std::chrono::seconds wait) {
    const auto minutes = static_cast<std::size_t>(wait.count() / 60);
    const auto seconds = static_cast<std::size_t>(wait.count() % 60);
    std::string out;
    if (minutes > 0) {
        out = counted(minutes, "minute", "minutes");
    }
    if (seconds > 0 || minutes == 0) {
        out += (out.empty() ? "" : " ") + counted(seconds, "second", "seconds");
    }
    return out;
}

// A link of a row of alternatives.
struct Choice {
    std::string_view name;
    std::string href;
    bool is_current = false;
};

void add_choices(TemplateDictionary& values, const char* section,
                 std::initializer_list<Choice> choices) {
    for (const Choice& choice : choices) {
        TemplateDictionary& row = *values.AddSectionDictionary(section);
        set(row, "NAME", choice.name);
        set(row, "HREF", choice.href);
        if (choice.is_current) {
            row.ShowSection("CURRENT");
        }
    }
}

// Markup keeps a text's direction of writing to itself (`dir`, `bdi`), but the title of a window
// has none: there what turns the text around it round is left out.
std::string for_window(std::string_view text) {
    constexpr std::string_view kEmbeddings[] = {"\u202A", "\u202B", "\u202C", "\u202D", "\u202E",
                                                "\u2066", "\u2067", "\u2068", "\u2069"};
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const auto* const found = std::ranges::find_if(
            kEmbeddings, [&](std::string_view one) { return text.substr(at).starts_with(one); });
        if (found != std::end(kEmbeddings)) {
            at += found->size();
        } else {
            out += text[at];
            at += 1;
        }
    }
    return out;
}

void set_author(TemplateDictionary& values, std::string_view author) {
    if (!author.empty()) {
        set(*values.AddSectionDictionary("BY"), "AUTHOR", author);
    }
}

void set_updated(TemplateDictionary& values, WallTime updated_at) {
    set(values, "UPDATED_AT", rfc3339(updated_at));
    set(values, "UPDATED", format_day(utc_day(updated_at)));
}

std::string ledger_path(PageOrder order, std::size_t number) {
    std::string path = "/?sort=" + std::string(to_string(order));
    return number > 1 ? path + "&page=" + std::to_string(number) : path;
}

std::string search_path(std::string_view query) {
    return "/search?q=" + percent_encode(query);
}

void add_title_pieces(TemplateDictionary& row, std::string_view title, std::string_view match) {
    auto add = [&](const char* kind, std::size_t begin, std::size_t end) {
        if (begin < end) {
            TemplateDictionary& piece = *row.AddSectionDictionary("PIECE");
            set(*piece.AddSectionDictionary(kind), "TEXT", title.substr(begin, end - begin));
        }
    };
    std::size_t at = 0;
    for (const titles::TextSpan& span : titles::highlight(title, match)) {
        add("PLAIN", at, span.begin);
        add("MARKED", span.begin, span.end);
        at = span.end;
    }
    add("PLAIN", at, title.size());
}

std::string count_of(const titles::TitleAnswer& answer) {
    if (answer.total_matched == 0) {
        return "No pages match.";
    }
    if (answer.is_truncated) {
        return "The first " + grouped(answer.hits.size()) + " of " + grouped(answer.total_matched) +
               " pages that match.";
    }
    return counted(answer.total_matched, "page matches.", "pages match.");
}

Notice limited(const titles::TitleAnswer& answer) {
    Notice out{"Too many searches", "You have searched often enough for now.", answer.retry_after};
    if (!answer.budget || !answer.budget->refused) {
        return out;
    }
    const titles::BudgetWindow window = *answer.budget->refused;
    if (const auto& state = answer.budget->windows[static_cast<std::size_t>(window)]) {
        out.text = "You may search " +
                   counted(static_cast<std::size_t>(state->limit), "time", "times") +
                   (window == titles::BudgetWindow::kMinute ? " a minute." : " an hour.");
    }
    return out;
}

Notice notice_of(const titles::TitleAnswer& answer) {
    Notice out{"Something went wrong", "The search broke. That is our fault; trying again may do."};
    if (answer.outcome == TitleOutcome::kLimited) {
        out = limited(answer);
    } else if (answer.outcome == TitleOutcome::kBusy) {
        out = {"Many people are searching", "There is no room for your search right now.",
               answer.retry_after};
    } else if (answer.outcome == TitleOutcome::kUnavailable) {
        out = {"Searching is not possible", "The pages can't be searched right now.",
               answer.retry_after};
    }
    out.query = answer.query.display.reveal();
    out.again = search_path(out.query);
    return out;
}

std::string guidance_text(QueryVerdict verdict) {
    switch (verdict) {
        case QueryVerdict::kTooShort:
            return "Enter at least " + std::to_string(titles::kMinQueryCodePoints) + " characters.";
        case QueryVerdict::kTooLong:
            return "Enter at most " + std::to_string(titles::kMaxQueryCodePoints) + " characters.";
        case QueryVerdict::kInvalid:
            return "That text can't be read. Type it again.";
        case QueryVerdict::kBlank:
        case QueryVerdict::kUsable:
            break;
    }
    return "Enter what to search for.";
}

}  // namespace

// The dictionary of layout.html with those of the two templates that it includes.
struct PageRenderer::Layout {
    Layout(const PageRenderer& renderer, const Frame& frame, std::string_view title,
           const char* main_file)
        : renderer_(renderer),
          form(*values.AddIncludeDictionary("SEARCH")),
          main(*values.AddIncludeDictionary("MAIN")) {
        form.SetFilename("search_form.html");
        main.SetFilename(main_file);
        set(values, "TITLE", for_window(title) + " · " + std::string(kSite));
        set(values, "STYLE", renderer.assets_.path_of("pages.css"));
        set(values, "SCRIPT", renderer.assets_.path_of("pages.js"));
        set(values, "ICON", renderer.assets_.path_of("icon.svg"));
        if (!frame.is_indexed) {
            values.ShowSection("NOINDEX");
        }
        if (frame.theme != Theme::kAuto) {
            set(*values.AddSectionDictionary("THEMED"), "THEME", to_string(frame.theme));
        }
        const std::string back =
            "?back=" + percent_encode(is_local_page(frame.here) ? frame.here : "/");
        auto choice = [&](std::string_view name, Theme theme) {
            return Choice{name, "/theme/" + std::string(to_string(theme)) + back,
                          theme == frame.theme};
        };
        add_choices(values, "THEME_CHOICE",
                    {choice("Light", Theme::kLight), choice("Dark", Theme::kDark),
                     choice("As the browser", Theme::kAuto)});
    }
    std::string expand() const { return renderer_.templates_.expand("layout.html", values); }

 private:
    const PageRenderer& renderer_;

 public:
    TemplateDictionary values{"layout"};
    TemplateDictionary& form;
    TemplateDictionary& main;
};

std::string path_of_page(std::string_view slug) {
    return "/p/" + percent_encode(slug);
}

std::string PageRenderer::ledger(const Ledger& ledger, const Frame& frame) const {
    Layout layout(*this, frame, "All pages", "ledger.html");
    auto choice = [&](std::string_view name, PageOrder order) {
        return Choice{name, ledger_path(order, 1), order == ledger.order};
    };
    if (ledger.list.total > 1) {
        add_choices(*layout.main.AddSectionDictionary("ORDER"), "ORDER_CHOICE",
                    {choice("Newest", PageOrder::kNewest), choice("Oldest", PageOrder::kOldest),
                     choice("By title", PageOrder::kTitle)});
    }
    set(layout.main, "COUNT",
        ledger.list.total == 0 ? "There are no pages yet."
                               : counted(ledger.list.total, "page", "pages"));
    TemplateDictionary* const table =
        ledger.list.pages.empty() ? nullptr : layout.main.AddSectionDictionary("TABLE");
    for (const titles::PageRecord& page : ledger.list.pages) {
        TemplateDictionary& row = *table->AddSectionDictionary("ROW");
        set(row, "HREF", path_of_page(page.slug));
        set(row, "TITLE", page.title);
        set_author(row, page.author);
        set_updated(row, page.updated_at);
    }
    if (ledger.last > 1) {
        TemplateDictionary& paging = *layout.main.AddSectionDictionary("PAGING");
        set(paging, "NUMBER", grouped(ledger.number));
        set(paging, "LAST", grouped(ledger.last));
        if (ledger.number > 1) {
            set(*paging.AddSectionDictionary("PREVIOUS"), "HREF",
                ledger_path(ledger.order, ledger.number - 1));
        }
        if (ledger.number < ledger.last) {
            set(*paging.AddSectionDictionary("NEXT"), "HREF",
                ledger_path(ledger.order, ledger.number + 1));
        }
    }
    return layout.expand();
}

std::string PageRenderer::search(const titles::TitleAnswer& answer, const Frame& frame) const {
    if (answer.outcome == TitleOutcome::kFound) {
        return results(answer, frame);
    }
    if (answer.outcome == TitleOutcome::kRejected) {
        return guidance(answer, frame);
    }
    return notice(notice_of(answer), frame);
}

std::string PageRenderer::results(const titles::TitleAnswer& answer, const Frame& frame) const {
    const std::string_view query = answer.query.display.reveal();
    Layout layout(*this, frame, "Results for “" + std::string(query) + "”", "results.html");
    set(layout.form, "QUERY", query);
    set(layout.main, "QUERY", query);
    set(layout.main, "COUNT", count_of(answer));
    if (answer.hits.empty()) {
        layout.main.ShowSection("NONE");
        return layout.expand();
    }
    TemplateDictionary& table = *layout.main.AddSectionDictionary("TABLE");
    for (const titles::TitleHit& hit : answer.hits) {
        TemplateDictionary& row = *table.AddSectionDictionary("ROW");
        set(row, "HREF", path_of_page(hit.page->slug));
        add_title_pieces(row, hit.page->title, answer.query.match.reveal());
        set_author(row, hit.page->author);
        set_updated(row, hit.page->updated_at);
        set(row, "SCORE", std::to_string(std::lround(hit.score)));
    }
    return layout.expand();
}

std::string PageRenderer::guidance(const titles::TitleAnswer& answer, const Frame& frame) const {
    Layout layout(*this, frame, "Search", "message.html");
    set(layout.form, "QUERY", answer.query.display.reveal());
    layout.form.ShowSection("INVALID");
    set(*layout.form.AddSectionDictionary("NOTE"), "NOTE_TEXT",
        guidance_text(answer.query.verdict));
    set(layout.main, "HEADING", "Search");
    set(layout.main, "TEXT", "Nothing was searched yet.");
    layout.main.ShowSection("ELSEWHERE");
    return layout.expand();
}

PageHtml PageRenderer::page(const titles::PageRecord& page, PageBody body,
                            const Frame& frame) const {
    Layout layout(*this, frame, page.title, "page.html");
    set(layout.main, "TITLE", page.title);
    set_author(layout.main, page.author);
    set_updated(layout.main, page.updated_at);
    PageHtml html;
    if (body == PageBody::kEmpty) {
        layout.main.ShowSection("EMPTY");
        html.before_body = layout.expand();
        return html;
    }
    set(*layout.main.AddSectionDictionary("TEXT"), "BODY", kBodyMark);
    html.before_body = layout.expand();
    const std::size_t at = html.before_body.rfind(kBodyMark);
    SLUICE_ASSERT(at != std::string::npos);
    html.after_body = html.before_body.substr(at + kBodyMark.size());
    html.before_body.resize(at);
    return html;
}

std::string PageRenderer::pin_form(std::string_view slug, PinForm state, const Frame& frame) const {
    Layout layout(*this, frame, "This page is claimed", "pin.html");
    set(layout.main, "ACTION", path_of_page(slug));
    if (state == PinForm::kWrong) {
        layout.main.ShowSection("WRONG");
    }
    return layout.expand();
}

std::string PageRenderer::notice(const Notice& notice, const Frame& frame) const {
    Layout layout(*this, frame, notice.heading, "message.html");
    set(layout.form, "QUERY", notice.query);
    set(layout.main, "HEADING", notice.heading);
    set(layout.main, "TEXT", notice.text);
    if (!notice.again.empty()) {
        set(*layout.main.AddSectionDictionary("AGAIN"), "HREF", notice.again);
    }
    if (notice.again != "/") {
        layout.main.ShowSection("ELSEWHERE");
    }
    if (notice.wait) {
        set(*layout.values.AddSectionDictionary("COUNTDOWN"), "COUNTDOWN_STYLE",
            assets_.countdown_path(*notice.wait));
        TemplateDictionary& countdown = *layout.main.AddSectionDictionary("COUNTDOWN");
        set(countdown, "SECONDS", std::to_string(notice.wait->count()));
        set(countdown, "LEFT", in_words(*notice.wait));
    }
    return layout.expand();
}

}  // namespace sluice::surface
