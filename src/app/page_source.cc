#include "app/page_source.h"

#include "app/page_folder.h"
#include "app/page_lines.h"
#include "base/text.h"
#include "titles/slug.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace sluice::app {

namespace {

constexpr std::string_view kMarkdownSuffixes[] = {".md", ".markdown"};
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Takes the first line off `text`, without its line break.
std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

std::string_view without_quotes(std::string_view text) {
    for (const char quote : {'"', '\''}) {
        if (text.size() >= 2 && text.front() == quote && text.back() == quote) {
            return text.substr(1, text.size() - 2);
        }
    }
    return text;
}

// What stands between two lines "---" at the beginning is taken off `text`. Without the second one
// there is none.
void take_front_matter(std::string_view& text, titles::NewPage& page) {
    std::string_view rest = text;
    if (take_line(rest) != "---") {
        return;
    }
    std::string_view title;
    std::string_view author;
    while (!rest.empty()) {
        const std::string_view line = take_line(rest);
        if (line == "---" || line == "...") {
            page.title = title;
            page.author = author;
            text = rest;
            return;
        }
        for (auto& [name, value] : {std::pair<std::string_view, std::string_view&>{"title:", title},
                                    {"author:", author}}) {
            if (line.starts_with(name)) {
                value = without_quotes(trim(line.substr(name.size())));
            }
        }
    }
}

// "# Title #" is "Title"; nothing of what is no heading of level 1.
std::string_view heading_of(std::string_view line) {
    if (!line.starts_with("# ") && !line.starts_with("#\t")) {
        return {};
    }
    std::string_view text = trim(line.substr(1));
    const std::size_t end = text.find_last_not_of('#');
    if (end == std::string_view::npos) {
        return {};
    }
    if (end + 1 < text.size() && text[end] == ' ') {
        text = trim(text.substr(0, end));
    }
    return text;
}

// The body without its first heading of level 1, which becomes the title. What stands in a fence is
// code.
std::string take_heading(std::string_view body, titles::NewPage& page) {
    std::string_view rest = body;
    std::string_view fence;
    while (!rest.empty()) {
        const std::size_t begin = body.size() - rest.size();
        const std::string_view line = take_line(rest);
        const std::string_view mark = line.substr(0, 3);
        if (fence.empty() && (mark == "```" || mark == "~~~")) {
            fence = mark;
        } else if (!fence.empty()) {
            fence = mark == fence ? std::string_view() : fence;
        } else if (const std::string_view heading = heading_of(line); !heading.empty()) {
            page.title = heading;
            return std::string(body.substr(0, begin)) + std::string(rest);
        }
    }
    return std::string(body);
}

std::string_view without_suffix(std::string_view path) {
    for (const std::string_view suffix : kMarkdownSuffixes) {
        if (path.size() > suffix.size() &&
            equals_ignoring_case(path.substr(path.size() - suffix.size()), suffix)) {
            return path.substr(0, path.size() - suffix.size());
        }
    }
    return path;
}

// "guides/Getting started" is "guides-getting-started".
std::string slug_of_path(std::string_view path) {
    std::string slug;
    for (const std::string_view part : split_list(path, '/')) {
        slug += (slug.empty() ? "" : "-") + titles::slug_of(part);
    }
    return slug;
}

// "guides/getting_started" is "getting started".
std::string name_of_path(std::string_view path) {
    std::string name(path.substr(path.rfind('/') + 1));
    std::ranges::replace(name, '_', ' ');
    std::ranges::replace(name, '-', ' ');
    return name;
}

}  // namespace

bool is_markdown_name(std::string_view name) {
    return without_suffix(name).size() < name.size();
}

Result<titles::NewPage> parse_markdown_page(std::string_view text, std::string_view path) {
    titles::NewPage page;
    if (text.starts_with(kByteOrderMark)) {
        text.remove_prefix(kByteOrderMark.size());
    }
    take_front_matter(text, page);
    page.body = page.title.empty() ? take_heading(text, page) : std::string(text);
    page.body.erase(0, page.body.find_first_not_of("\r\n"));
    const std::string_view name = without_suffix(path);
    if (page.title.empty()) {
        page.title = name_of_path(name);
    }
    page.slug = slug_of_path(name);
    TRY_STATUS(titles::validate(page));
    return page;
}

Result<std::unique_ptr<PageSource>> open_page_source(const std::string& path) {
    if (path == "-") {
        return PageLines::open_stdin();
    }
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
        return PageFolder::open(path);
    }
    return is_markdown_name(path) ? PageFolder::open_file(path) : PageLines::open(path);
}

}  // namespace sluice::app
