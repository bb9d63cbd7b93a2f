// What `sluice pages import` reads: the pages of a file, of standard input or of a folder, one
// after the other, and again from the beginning.
#pragma once

#include "base/result.h"
#include "titles/page.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::app {

struct SourcedPage {
    std::string where;             // "line 3", "guides/setup.md"
    Result<titles::NewPage> page;  // or what is wrong with it
};

// Belongs to one thread.
class PageSource {
 public:
    virtual ~PageSource() = default;

    // Nothing at the end. An error, which names the source, is one of reading it: there is no next
    // one.
    virtual Result<std::optional<SourcedPage>> next() = 0;
    virtual Status rewind() = 0;

    virtual std::uint64_t bytes() const = 0;       // in all
    virtual std::uint64_t bytes_read() const = 0;  // since the beginning

    // What was there and is none of its pages, in words; empty: nothing.
    virtual std::string passed_over() const { return {}; }
};

// "-" is standard input. A folder is one of Markdown files, and so is a file whose name ends as
// theirs do; any other file, and standard input, has a page a line in JSON. What can be read only
// once is kept in a temporary file. kNotFound, kUnavailable.
Result<std::unique_ptr<PageSource>> open_page_source(const std::string& path);

// Whether the name of a file says that it is Markdown.
bool is_markdown_name(std::string_view name);

// The page of a Markdown file. Its title is what the front matter says (`title:`), else the first
// heading of level 1, else the name of the file; the slug is made of `path`, which is relative to
// the folder that is imported. Front matter, and the heading that became the title, are no part of
// the body; of front matter `author:` counts, too. Pure.
Result<titles::NewPage> parse_markdown_page(std::string_view text, std::string_view path);

}  // namespace sluice::app
