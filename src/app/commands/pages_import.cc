// `sluice pages import`.
#include "app/commands/common.h"
#include "app/commands/pages_command.h"
#include "app/interruption.h"
#include "app/page_import.h"
#include "app/page_source.h"
#include "app/progress.h"
#include "app/terminal_text.h"
#include "base/clock.h"
#include "base/json.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::app {

namespace {

// A file that is wrong throughout is told in its first mistakes.
constexpr std::size_t kMaxTold = 20;

std::string counted(const titles::ImportCount& count) {
    return std::to_string(count.added) + " added, " + std::to_string(count.changed) + " changed, " +
           std::to_string(count.same) + " unchanged";
}

std::string number_of(std::size_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string render_json(const ImportReport& report) {
    std::string out;
    JsonWriter json(out);
    json.begin_object().field("added", report.count.added).field("changed", report.count.changed);
    json.field("unchanged", report.count.same).field("refused", report.refused);
    if (report.interrupted) {
        json.field("error", "interrupted");
    } else if (!report.error.empty()) {
        json.field("error", report.error);
    }
    json.end_object();
    return plain_json(out) + "\n";
}

// Why it did not all go in, and what to do; empty: it did.
std::string explain(const ImportReport& report, OnBadPage on_bad) {
    const std::string so_far =
        " (" + counted(report.count) + "); what is in stays, so that it can be imported again";
    if (report.interrupted) {
        return "interrupted" + so_far;
    }
    if (!report.error.empty()) {
        return plain(report.error) + so_far;
    }
    if (report.refused == 0) {
        return {};
    }
    return number_of(report.refused, "page") +
           (on_bad == OnBadPage::kSkip
                ? " left out"
                : " can't be imported, so nothing was written; mend them, or import the rest "
                  "with --keep-going");
}

ImportReport run(PageSession& file, PageSource& source, OnBadPage on_bad) {
    const SystemClock clock;
    const Interruption interruption;
    ProgressLine line(clock);
    std::size_t told = 0;
    ImportHooks hooks;
    hooks.is_interrupted = [&] { return interruption.came(); };
    hooks.progress = [&](const ImportProgress& progress) {
        line.show(progress.is_checking ? "checking" : "importing", progress.bytes_read,
                  progress.bytes, progress.pages);
    };
    hooks.refused = [&](std::string_view where, std::string_view message) {
        told += 1;
        line.clear();
        if (told <= kMaxTold) {
            print_to_stderr(plain(where) + ": " + plain(message) + "\n");
        } else if (told == kMaxTold + 1) {
            print_to_stderr("... and more\n");
        }
    };
    const WriteBatch write = [&file](std::vector<titles::NewPage> pages) {
        return file.run(file.pages().import(std::move(pages)));
    };
    return import_pages(source, on_bad, write, hooks);
}

int import(PageSession& file, const std::string& path, OnBadPage on_bad, bool as_json) {
    const auto source = open_page_source(path);
    if (!source.ok()) {
        print_error(source.error().message);
        return 1;
    }
    const ImportReport report = run(file, **source, on_bad);
    const std::string trouble = explain(report, on_bad);
    if (as_json) {
        print(render_json(report));
    } else if (trouble.empty() || on_bad == OnBadPage::kSkip) {
        print(counted(report.count) + "\n");
    }
    if (const std::string others = (*source)->passed_over(); !others.empty()) {
        print_to_stderr("passed over: " + others + "\n");
    }
    if (!trouble.empty()) {
        print_error(trouble);
    }
    return trouble.empty() ? 0 : 1;
}

}  // namespace

void add_pages_import(CLI::App& pages, std::function<int()>& chosen) {
    CLI::App* command = pages.add_subcommand(
        "import", "publish many pages at once; those that are there are brought up to date");
    const auto config = add_config_options(*command);
    const auto path = std::make_shared<std::string>();
    command
        ->add_option(
            "source", *path,
            "a file with a page a line in JSON, a folder of Markdown files, or -: standard "
            "input")
        ->required()
        ->type_name("FILE");
    const auto keep_going = std::make_shared<bool>(false);
    command->add_flag("--keep-going", *keep_going,
                      "leave out what is wrong and import the rest (default: import nothing then)");
    const auto as_json = add_json_flag(*command);
    command->footer(
        "A line: {\"title\": \"C++ build flags\", \"body\": \"...\"}; also id, slug, author,\n"
        "current_version, lifecycle, claimed. A page whose id or slug is there takes its place.\n"
        "A Markdown file: the title is that of its front matter, its first heading or its name.\n"
        "Examples:\n  sluice pages import pages.ndjson\n  sluice pages import handbook/\n"
        "  zcat pages.ndjson.gz | sluice pages import -");
    command->callback([&chosen, config, path, keep_going, as_json] {
        chosen = [=] {
            return with_pages(*config, StoreUse::kMake, [&](PageSession& file) {
                return import(file, *path, *keep_going ? OnBadPage::kSkip : OnBadPage::kStop,
                              *as_json);
            });
        };
    });
}

}  // namespace sluice::app
