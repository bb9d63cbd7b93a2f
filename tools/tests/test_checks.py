"""Plants mistakes in a small tree and expects each check to name them, and nothing else."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import check_banned  # noqa: E402
import check_headers  # noqa: E402
import check_index  # noqa: E402
import check_layers  # noqa: E402
import check_text  # noqa: E402
import sourcelib  # noqa: E402

ARCHITECTURE = """# Sluice

## Map

```
src/app/ src/surface/ src/surface/common/  what starts, what is spoken
src/surface/rest/ src/surface/mcp/         doors
src/web/                                   searching
src/web/providers/ src/io/ src/engine/ src/base/
```

## The path of a search

```
web/search.cc answer()   and more in io/sql.h
 -> web/providers/<name>.cc
```

## Layers

| folder | may include |
|---|---|
| `app` | `surface` `web` `io` `base` |
| `surface` | `surface/<door>` |
| `surface/common` | `web` `base` |
| `surface/<door>` | `surface/common` `web` `base` |
| `web` | `io` `base` |
| `io` | `base` |
| `engine` | `base` |
| `base` | |

## Libraries

| library | headers | in `.h` of | in `.cc` of |
|---|---|---|---|
| Asio | `boost/asio` | `base/task.h` | `base` `io` |
| SQLite | `sqlite3.h` | | `io` |

## Where is X

| what | file | symbol |
|---|---|---|
| searching | `src/web/search.h` | `Search` `search` `kMaxHits` |
"""


class Tree(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.root = pathlib.Path(self._folder.name)
        self.write("ARCHITECTURE.md", ARCHITECTURE)
        self.write("CONTRIBUTING.md", "# How\n")
        for header in ("app/main.h", "surface/all.h", "surface/common/errors.h", "surface/rest/rest.h",
                       "surface/mcp/mcp.h", "web/providers/all.h", "io/sql.h", "engine/index.h",
                       "base/task.h", "base/text.h"):
            self.write(f"src/{header}", "#pragma once\n")
        self.write("src/web/search.cc", "int Search::answer(int query) {}\n")
        self.write("src/web/search.h",
                   "#pragma once\nclass Search {\n    int search(int query);\n};\n"
                   "inline constexpr int kMaxHits = 10;\n")

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def messages(self, check):
        return [str(finding) for finding in check(self.root)]


class Layers(Tree):
    def includes(self, path, name):
        self.write(f"src/{path}", f"#pragma once\n#include {name}\n")
        return self.messages(check_layers.check)

    def test_includes_that_follow_the_table_pass(self):
        for path, name in (
                ("app/main.cc", '"web/providers/all.h"'), ("app/main.cc", '"surface/mcp/mcp.h"'),
                ("surface/all.cc", '"surface/rest/rest.h"'),
                ("surface/rest/rest.cc", '"surface/common/errors.h"'),
                ("surface/rest/rest.cc", '"web/search.h"'),
                ("web/providers/serper.cc", '"web/search.h"'), ("web/call.cc", '"web/providers/all.h"'),
                ("io/sql.cc", "<sqlite3.h>"), ("base/task.h", "<boost/asio/awaitable.hpp>"),
                ("base/text.h", "<string_view>")):
            with self.subTest(path=path, name=name):
                self.assertEqual(self.includes(path, name), [])
                (self.root / "src" / path).unlink()
                if path.endswith(".h"):
                    self.write(f"src/{path}", "#pragma once\n")

    def test_includes_against_the_table_are_named(self):
        for path, name, expected in (
                ("base/text.cc", '"io/sql.h"', "base may not include io"),
                ("io/x.cc", '"web/search.h"', "io may not include web"),
                ("io/x.cc", '"engine/index.h"', "io may not include engine"),
                ("engine/x.cc", '"io/sql.h"', "engine may not include io"),
                ("web/x.cc", '"surface/common/errors.h"', "web may not include surface/common"),
                ("surface/rest/x.cc", '"surface/mcp/mcp.h"', "surface/rest may not include surface/mcp"),
                ("surface/common/x.cc", '"surface/mcp/mcp.h"', "surface/common may not include surface/mcp"),
                ("surface/rest/x.cc", '"surface/all.h"', "surface/rest may not include surface"),
                ("surface/rest/x.cc", '"app/main.h"', "surface/rest may not include app"),
                ("blend/x.cc", '"base/text.h"', "blend/x.cc is in no folder of the table"),
                ("web/x.cc", '"search.h"', "there is no src/search.h"),
                ("base/text2.h", "<boost/asio/awaitable.hpp>", "Asio may not be included here (headers)"),
                ("io/x.h", "<sqlite3.h>", "SQLite may not be included here (headers)"),
                ("web/x.cc", "<sqlite3.h>", "SQLite may not be included here (sources)"),
                ("web/x.cc", "<curl/curl.h>", "belongs to no library")):
            with self.subTest(path=path, name=name):
                found = self.includes(path, name)
                self.assertEqual(len(found), 1, found)
                self.assertIn(f"src/{path}:2: ", found[0])
                self.assertIn(expected, found[0])
                (self.root / "src" / path).unlink()

    def test_an_include_in_a_comment_is_none(self):
        self.write("src/base/text.cc", '// #include "io/sql.h"\n/*\n#include "io/sql.h"\n*/\n')
        self.assertEqual(self.messages(check_layers.check), [])

    def test_a_map_without_the_table_is_an_error(self):
        self.write("ARCHITECTURE.md", "# Map\n")
        with self.assertRaises(ValueError):
            check_layers.check(self.root)


class Banned(unittest.TestCase):
    def scan(self, code, path="src/web/x.cc"):
        return [str(finding) for finding in check_banned.scan(path, code)[0]]

    def test_each_ban_is_found(self):
        for code in (
                "auto t = std::chrono::steady_clock::now();", "auto t = system_clock::now();",
                "time(nullptr);", "auto t = clock();", "long x = random();", "std::time(nullptr);", "std::this_thread::sleep_for(1s);", "usleep(5);", "sleep(5);",
                "int x = rand();", "std::random_device seed;", "std::mt19937 engine;",
                'getenv("HOME");', 'auto* home = std::getenv("HOME");', "std::regex pattern;",
                "#include <regex>", "auto* p = new Thing();", "delete p;", "delete[] p;", "free(p);",
                'printf("x");', 'std::snprintf(buffer, 10, "x");', 'fprintf(stderr, "x");',
                "atoi(text);", "std::stoi(text);", "strtoull(text, &end, 10);", "strcpy(a, b);",
                "std::cout << 1;", "int s = ::socket(AF_INET, SOCK_STREAM, 0);", 'system("ls");',
                "asio::co_spawn(executor, task(), token);", "thread.detach();", "asio::detached",
                "assert(x > 0);", "using namespace std;", "const_cast<char*>(p);"):
            with self.subTest(code=code):
                found = self.scan("\n" + code + "\n")
                self.assertEqual(len(found), 1, found)
                self.assertIn("src/web/x.cc:2: ", found[0])

    def test_what_only_looks_like_one_passes(self):
        for code in (
                "// sleep_for is banned", "/* rand() */", 'log.info("printf(");', "Log(const Log&) = delete;",
                "void operator delete(void*) noexcept;", "SLUICE_ASSERT(x);", "static_assert(true);",
                "clock_.now();", "clock->time(1);", "operand(1);", "random_.u64();", "request.time();",
                "new (place) Thing();", "std::unique_ptr<Thing>(new Thing(1));", "int renewed = 1;", "auto x = 1'000'000; int newer = 2;",
                'R"(new Thing; rand())";', "std::getline(in, line);", "Deadline::time(x);", ": clock(the_clock) {", ": random(seed) {",
                "hh_mm_ss time(second - day);", "void Header::delete_(int);", "connect(to);", "co_await sleep(clock, 5ms);"):
            with self.subTest(code=code):
                self.assertEqual(self.scan(code), [])

    def test_the_scope_of_a_ban_is_its_folders(self):
        self.assertEqual(self.scan("std::cout << 1;", "src/app/main.cc"), [])
        self.assertEqual(self.scan("::bind(s, a, n);", "src/io/listener.cc"), [])
        self.assertEqual(self.scan("auto* p = new Thing();", "tests/unit/x_test.cc"), [])
        self.assertEqual(len(self.scan("std::this_thread::sleep_for(1s);", "tests/unit/x_test.cc")), 1)

    def test_the_file_that_owns_a_seam_may(self):
        self.assertEqual(self.scan("std::chrono::steady_clock::now();", "src/base/clock.cc"), [])

    def test_an_exception_that_nothing_needs_is_a_finding(self):
        with tempfile.TemporaryDirectory() as folder:
            ban = check_banned.Ban(r"\brand\b", "take a Random", ("src/a.cc",))
            found = check_banned.check(pathlib.Path(folder), (ban,))
        self.assertEqual(len(found), 1)
        self.assertIn("src/a.cc does not need its exception", str(found[0]))


class Text(unittest.TestCase):
    def scan(self, text, path="src/web/x.cc"):
        return [str(finding) for finding in check_text.scan(path, text)]

    def test_each_rule_is_found(self):
        for text, expected in (
                ("see /" + "work/notes.md\n", "a path of one machine"),
                ("open(\"/" + "root/x\")\n", "a path of one machine"),
                ("// TO" + "DO later\n", "a note to self"),
                ("apt from deb.debian" + ".org\n", "a package host"),
                ("int x; \n", "trailing white space"),
                ("int x;", "no line break"),
                ("x\n" * 601, "601 lines")):
            with self.subTest(expected=expected):
                found = self.scan(text)
                self.assertEqual(len(found), 1, found)
                self.assertIn(expected, found[0])

    def test_what_is_right_passes(self):
        self.assertEqual(self.scan("x\n" * 600), [])
        self.assertEqual(self.scan("the network/working/roots of https://x.org/homework/1\n"), [])
        self.assertEqual(self.scan("x\n" * 601, "README.md"), [])

    def test_recorded_bodies_keep_their_bytes(self):
        self.assertEqual(self.scan('{"a": "TO' + 'DO"} ', "tests/cases/providers/exa/ok.json"), [])


class Index(Tree):
    def test_rows_that_are_true_pass(self):
        self.assertEqual(self.messages(check_index.check), [])

    def test_a_symbol_that_moved_is_named(self):
        self.write("src/web/search.h", "#pragma once\n// class Search was here\nSearch* kMaxHits;\nint search();\n")
        found = self.messages(check_index.check)
        self.assertEqual(len(found), 1, found)
        self.assertIn("src/web/search.h does not define Search", found[0])

    def test_a_file_that_moved_is_named(self):
        (self.root / "src/web/search.h").unlink()
        self.assertIn("there is no src/web/search.h", self.messages(check_index.check)[0])

    def test_a_folder_that_the_map_lacks_is_named(self):
        self.write("src/blend/blend.cc", "")
        self.assertEqual(self.messages(check_index.check),
                         ["ARCHITECTURE.md: the map does not show src/blend/"])

    def test_a_folder_that_only_the_map_has_is_named(self):
        (self.root / "src/engine/index.h").unlink()
        (self.root / "src/engine").rmdir()
        self.assertIn("there is no src/engine/", self.messages(check_index.check)[0])

    def test_a_step_of_the_path_must_exist(self):
        self.write("src/web/search.cc", "int Search::ask(int query) {}\n")
        self.assertIn("src/web/search.cc does not define answer", self.messages(check_index.check)[0])
        (self.root / "src/web/search.cc").unlink()
        self.assertIn("there is no src/web/search.cc", self.messages(check_index.check)[0])

    def test_a_path_in_the_text_must_exist(self):
        self.write("CONTRIBUTING.md", "See `tools/nowhere.py` and `src/web/search.h`.\n")
        found = self.messages(check_index.check)
        self.assertEqual(found, ["CONTRIBUTING.md:1: there is no tools/nowhere.py"])


class Headers(unittest.TestCase):
    def test_flags_lose_the_precompiled_header_and_the_output(self):
        entry = {"file": "/x/a.cc", "command":
                 "/usr/bin/env A=b ccache /usr/bin/clang++-19 -DX=1 -I/x -Wall -fsanitize=address "
                 "-Xclang -fno-pch-timestamp -std=c++20 -Xclang -include-pch -Xclang /b/p.pch "
                 "-Xclang -include -Xclang /b/p.hxx -MD -MT a.o -MF a.d -o a.o -c /x/a.cc"}
        self.assertEqual(check_headers.flags_of(entry),
                         ["/usr/bin/clang++-19", "-DX=1", "-I/x", "-Wall", "-std=c++20"])

    def test_a_header_that_leans_on_another_does_not_compile(self):
        with tempfile.TemporaryDirectory() as folder:
            good, bad = pathlib.Path(folder) / "good.h", pathlib.Path(folder) / "bad.h"
            good.write_text("#pragma once\n#include <string>\nstd::string name();\n")
            bad.write_text("#pragma once\nstd::string name();\n")
            flags = ["clang++-19", "-std=c++20", "-Werror"]
            self.assertIsNone(check_headers.compile_alone(str(good), flags))
            self.assertIn("std", check_headers.compile_alone(str(bad), flags))


class Lexing(unittest.TestCase):
    def test_comments_and_literals_become_blanks_of_the_same_size(self):
        text = 'int a; // "x\nauto s = "// no"; /* \'\n */ char c = \'"\'; auto r = R"q(a"b)q"; int n = 1\'000;\n'
        code = sourcelib.without_comments(text)
        self.assertEqual(len(code), len(text))
        self.assertEqual(code.count("\n"), text.count("\n"))
        for gone in ("x", "no", "a\"b"):
            self.assertNotIn(gone, code)
        self.assertIn("int n = 1'000;", code)


if __name__ == "__main__":
    unittest.main()
