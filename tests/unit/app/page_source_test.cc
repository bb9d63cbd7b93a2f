// What an import reads: lines and folders, twice the same, whatever stands in them.
#include "app/page_source.h"

#include "support/temp_dir.h"
#include "surface/rest/page_request.h"

#include <climits>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sluice::app {
namespace {

namespace fs = std::filesystem;

class PageSourceTest : public testing::Test {
 protected:
    std::string write(const std::string& name, const std::string& text) {
        fs::create_directories((dir.path() / name).parent_path());
        std::ofstream(dir.path() / name, std::ios::binary) << text;
        return dir.file(name);
    }
    std::unique_ptr<PageSource> open(const std::string& path) {
        auto source = open_page_source(path);
        SLUICE_ASSERT(source.ok());
        return *std::move(source);
    }
    // "line 1: Title" or "line 2! what is wrong", of each.
    static std::vector<std::string> all_of(PageSource& source) {
        std::vector<std::string> all;
        for (;;) {
            auto next = source.next();
            EXPECT_TRUE(next.ok());
            if (!next.ok() || !*next) {
                return all;
            }
            const SourcedPage& page = **next;
            all.push_back(page.where + (page.page.ok()
                                            ? ": " + page.page->title
                                            : "! " + page.page.error().message.substr(0, 17)));
        }
    }

    test::TempDir dir;
};

TEST_F(PageSourceTest, EachLineIsAPage) {
    const std::string text =
        "\xEF\xBB\xBF{\"title\":\"One\"}\r\n\n  \t\n{\"title\":\"Two\"\n{\"titel\":1}\n"
        "{\"title\":\"\xff\"}\n{\"title\":\"Last\"}";
    const auto source = open(write("pages.ndjson", text));
    const std::vector<std::string> expected = {"line 1: One", "line 4! JSON: the documen",
                                               "line 5! unknown field 'ti",
                                               "line 6! JSON: not UTF-8 a", "line 7: Last"};
    EXPECT_EQ(all_of(*source), expected);
    EXPECT_EQ(source->bytes(), text.size());
    EXPECT_EQ(source->bytes_read(), text.size());
    ASSERT_TRUE(source->rewind().ok());
    EXPECT_EQ(source->bytes_read(), 0U);
    EXPECT_EQ(all_of(*source), expected);
}

TEST_F(PageSourceTest, ALineHasItsLimitAndTheNextOneIsRead) {
    const std::string long_line(surface::kPageLimits.max_bytes + 1'000'000, 'x');
    const auto source =
        open(write("long", "{\"title\":\"One\"}\n" + long_line + "\n{\"title\":\"Two\"}\n"));
    EXPECT_EQ(all_of(*source), (std::vector<std::string>{"line 1: One", "line 2! expected at most ",
                                                         "line 3: Two"}));
    const auto last = open(write("last", long_line));
    EXPECT_EQ(all_of(*last).size(), 1U);
    EXPECT_TRUE(all_of(*open(write("empty", ""))).empty());
}

TEST_F(PageSourceTest, APipeIsKeptToBeReadAgain) {
    const std::string path = dir.file("pipe");
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::thread writer([&] { std::ofstream(path) << "{\"title\":\"Piped\"}\n"; });
    const auto source = open(path);
    writer.join();
    EXPECT_EQ(all_of(*source), std::vector<std::string>{"line 1: Piped"});
    ASSERT_TRUE(source->rewind().ok());
    EXPECT_EQ(all_of(*source), std::vector<std::string>{"line 1: Piped"});
}

TEST_F(PageSourceTest, AFolderIsReadInOrderWithoutWhatIsHiddenOrElsewhere) {
    write("book/b.md", "# Bee\ntext");
    write("book/a/deep.markdown", "text");
    write("book/A.MD", "");
    write("book/picture.png", "x");
    write("book/.git/c.md", "# Hidden");
    write("book/.hidden.md", "# Hidden");
    write("elsewhere/secret.md", "# Secret");
    fs::create_symlink(dir.path() / "elsewhere" / "secret.md", dir.path() / "book" / "link.md");
    fs::create_directory_symlink(dir.path() / "elsewhere", dir.path() / "book" / "linked");
    write("book/bad.md", std::string("# T\n\0", 5));
    for (const char* name : {"book", "book/"}) {
        const auto source = open(dir.file(name));
        const std::vector<std::string> expected = {"A.MD: A", "a/deep.markdown: deep", "b.md: Bee",
                                                   "bad.md! body: expected UT"};
        EXPECT_EQ(all_of(*source), expected);
        EXPECT_EQ(source->passed_over(), "1 file that is no Markdown, 2 symbolic links");
        ASSERT_TRUE(source->rewind().ok());
        EXPECT_EQ(all_of(*source), expected);
        EXPECT_EQ(source->bytes_read(), source->bytes());
    }
    EXPECT_EQ(all_of(*open(dir.file("book/b.md"))), std::vector<std::string>{"b.md: Bee"});
}

// Of a file that can't be looked at the error is told with its path, and is not covered by going on
// to the next one. Its path is longer than the system takes, so that no account may look at it.
TEST_F(PageSourceTest, AFileThatCanNotBeLookedAtIsNamed) {
    constexpr std::size_t kLongest = PATH_MAX - 4;  // of a folder that can be opened
    int folder = ::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY);
    ASSERT_GE(folder, 0);
    std::string path = dir.path().string();
    while (path.size() < kLongest) {
        const std::size_t left = kLongest - path.size();
        const std::string part(left <= 200 ? left - 1 : 100, 'd');
        ASSERT_EQ(::mkdirat(folder, part.c_str(), 0700), 0);
        const int below = ::openat(folder, part.c_str(), O_RDONLY | O_DIRECTORY);
        ASSERT_GE(below, 0);
        ::close(folder);
        folder = below;
        path += "/" + part;
    }
    const int file = ::openat(folder, "far.md", O_CREAT | O_WRONLY, 0600);
    ASSERT_GE(file, 0);
    ::close(file);
    ::close(folder);
    write("near.md", "# Near");
    const auto source = open_page_source(dir.path().string());
    ASSERT_FALSE(source.ok());
    EXPECT_TRUE(source.error().message.ends_with(
        "far.md: " + std::make_error_code(std::errc::filename_too_long).message()))
        << source.error().message;
}

TEST_F(PageSourceTest, WhatIsNotThereIsNamed) {
    for (const char* name : {"missing", "missing.md"}) {
        const auto source = open_page_source(dir.file(name));
        ASSERT_FALSE(source.ok());
        EXPECT_EQ(source.error().code, Code::kNotFound);
        EXPECT_NE(source.error().message.find(name), std::string::npos);
    }
}

struct MarkdownCase {
    const char* path;
    const char* text;
    const char* title;
    const char* slug;
    const char* author;
    const char* body;
};

TEST(MarkdownPage, TakesItsTitleFromWhereItStands) {
    const MarkdownCase cases[] = {
        {"a.md", "# Title\n\nText\n", "Title", "a", "", "Text\n"},
        {"a.md", "\xEF\xBB\xBF# Title\r\nText", "Title", "a", "", "Text"},
        {"a.md", "# Closed ##\nText", "Closed", "a", "", "Text"},
        {"a.md", "# C#\n", "C#", "a", "", ""},
        {"a.md", "Before\n# Title\nAfter", "Title", "a", "", "Before\nAfter"},
        {"a.md", "## Second\n#none\nText", "a", "a", "", "## Second\n#none\nText"},
        {"a.md", "```sh\n# comment\n```\n# Title", "Title", "a", "", "```sh\n# comment\n```\n"},
        {"a.md", "~~~\n```\n# comment\n", "a", "a", "", "~~~\n```\n# comment\n"},
        {"a.md", "---\ntitle: \"Front: matter\"\nauthor: Ada\ntags: [x]\n---\n\n# Kept\n",
         "Front: matter", "a", "Ada", "# Kept\n"},
        {"a.md", "---\nauthor: 'Ada'\n---\n# Title\n", "Title", "a", "Ada", ""},
        {"a.md", "---\ntitle: never ends\n", "a", "a", "", "---\ntitle: never ends\n"},
        {"a.md", "---\ntitle:\n---\nText", "a", "a", "", "Text"},
        {"a.md", "", "a", "a", "", ""},
        {"a.md", "#\n# #\nText", "a", "a", "", "#\n# #\nText"},
        {"guides/Getting_started-now.md", "Text", "Getting started now",
         "guides-getting-started-now", "", "Text"},
        {"Guides/Ärger.markdown", "", "Ärger", "guides-ärger", "", ""},
    };
    for (const MarkdownCase& c : cases) {
        const auto page = parse_markdown_page(c.text, c.path);
        ASSERT_TRUE(page.ok()) << c.text << page.error().message;
        EXPECT_EQ(page->title, c.title) << c.text;
        EXPECT_EQ(page->slug, c.slug) << c.text;
        EXPECT_EQ(page->author, c.author) << c.text;
        EXPECT_EQ(page->body, c.body) << c.text;
    }
}

TEST(MarkdownPage, HasTheLimitsOfEveryPage) {
    const std::string long_path = std::string(150, 'a') + "/" + std::string(150, 'b') + "/" +
                                  std::string(150, 'c') + "/" + std::string(150, 'd') + ".md";
    const std::pair<std::string, std::string> cases[] = {
        {"# " + std::string(201, 'x'), "title: "},
        {"---\nauthor: " + std::string(81, 'x') + "\n---\n# T", "author: "},
        {"# T\n" + std::string(titles::kMaxBodyBytes + 1, 'x'), "body: "},
        {"# T\n\xff", "body: "},
    };
    for (const auto& [text, field] : cases) {
        const auto page = parse_markdown_page(text, "a.md");
        ASSERT_FALSE(page.ok()) << text.substr(0, 40);
        EXPECT_TRUE(page.error().message.starts_with(field)) << page.error().message;
    }
    const auto page = parse_markdown_page("# T", long_path);
    ASSERT_FALSE(page.ok());
    EXPECT_TRUE(page.error().message.starts_with("slug: ")) << page.error().message;
}

}  // namespace
}  // namespace sluice::app
