// `sluice pages add|list|show|update|archive|claim|release|remove|import`: pages in the data
// directory's store.
#include "surface/rest/pages.h"

#include "app/commands/commands.h"
#include "app/commands/common.h"
#include "app/commands/pages_command.h"
#include "app/page_session.h"
#include "app/secret_input.h"
#include "app/terminal_text.h"
#include "base/rfc3339.h"
#include "titles/pin.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::app {

namespace {

using titles::PagePatch;
using titles::PageRecord;

int fail(const Error& error) {
    const bool is_unknown = error.code == Code::kNotFound;
    print_error(error.message + (is_unknown ? "; `sluice pages list --all` shows every id" : ""));
    return error.code == Code::kInvalidRequest ? 2 : 1;
}

std::string state_of(const PageRecord& page) {
    return std::string(to_string(page.lifecycle)) + (page.is_claimed ? ", claimed" : "") +
           (page.has_pin ? ", PIN" : "");
}

// What is shown of a page that was changed: `done` and which it is, or its record.
int show_record(const std::string& done, const PageRecord& page, bool as_json) {
    print(as_json ? plain_json(surface::render_page(page)) + "\n"
                  : done + " " + std::to_string(page.id) + " " + plain(page.slug) + "\n");
    return 0;
}

// Markdown of a file, or of standard input. Nothing, and said why, when it can't be read.
std::optional<std::string> read_body(const std::string& path) {
    if (path != "-") {
        auto text = SystemEnvironment().read_file(path, titles::kMaxBodyBytes);
        if (!text.ok()) {
            print_error("--body-file: " + text.error().message);
            return std::nullopt;
        }
        return *std::move(text);
    }
    std::string text(titles::kMaxBodyBytes + 1, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), stdin));
    if (std::ferror(stdin) != 0) {
        print_error("--body-file: standard input can't be read");
        return std::nullopt;
    }
    return text;  // the store says what is too long
}

Result<titles::Lifecycle> lifecycle_of(const std::string& word) {
    const auto lifecycle = titles::parse_lifecycle(word);
    if (!lifecycle) {
        return Error{Code::kInvalidRequest,
                     Blame::kCaller,
                     "--lifecycle: expected active, unlisted or archived",
                     {}};
    }
    return *lifecycle;
}

struct AddOptions {
    std::string title;
    std::string slug;
    std::string author;
    std::string body_file;
    std::string lifecycle = "active";
    std::optional<std::int64_t> id = {};
};

int add(PageSession& file, const AddOptions& options, bool as_json) {
    titles::NewPage page;
    page.id = options.id;
    page.title = options.title;
    page.slug = options.slug;
    page.author = options.author;
    if (!options.body_file.empty()) {
        auto body = read_body(options.body_file);
        if (!body) {
            return 1;
        }
        page.body = *std::move(body);
    }
    const auto lifecycle = lifecycle_of(options.lifecycle);
    if (!lifecycle.ok()) {
        return fail(lifecycle.error());
    }
    page.lifecycle = *lifecycle;
    const auto record = file.run(file.pages().add(std::move(page)));
    return record.ok() ? show_record("added", *record, as_json) : fail(record.error());
}

struct UpdateOptions {
    std::optional<std::string> title = {};
    std::optional<std::string> slug = {};
    std::optional<std::string> author = {};
    std::optional<std::string> body_file = {};
    std::optional<std::string> lifecycle = {};
};

int patch(PageSession& file, std::int64_t id, PagePatch change, const std::string& done,
          bool as_json) {
    const auto record = file.run(file.pages().patch(id, std::move(change)));
    return record.ok() ? show_record(done, *record, as_json) : fail(record.error());
}

int update(PageSession& file, std::int64_t id, const UpdateOptions& options, bool as_json) {
    PagePatch change;
    change.title = options.title;
    change.slug = options.slug;
    change.author = options.author;
    if (options.body_file) {
        auto body = read_body(*options.body_file);
        if (!body) {
            return 1;
        }
        change.body = *std::move(body);
    }
    if (options.lifecycle) {
        const auto lifecycle = lifecycle_of(*options.lifecycle);
        if (!lifecycle.ok()) {
            return fail(lifecycle.error());
        }
        change.lifecycle = *lifecycle;
    }
    if (change.changes_nothing()) {
        print_error("say what to change: --title, --slug, --author, --body-file or --lifecycle");
        return 2;
    }
    return patch(file, id, std::move(change), "updated", as_json);
}

int claim(PageSession& file, std::int64_t id, bool with_pin, bool as_json) {
    PagePatch change;
    change.is_claimed = true;
    if (with_pin) {
        // Before somebody types a PIN for nothing.
        if (const auto known = file.run(file.pages().get(id)); !known.ok()) {
            return fail(known.error());
        }
        const auto pin = read_secret_input("PIN", titles::kMaxPinBytes);
        if (!pin.ok()) {
            print_error("PIN: " + pin.error().message);
            return pin.error().code == Code::kInvalidRequest ? 2 : 1;
        }
        auto hash = titles::hash_pin(*pin);
        if (!hash.ok()) {
            return fail(hash.error());
        }
        change.pin_hash = *std::move(hash);
    }
    return patch(file, id, std::move(change), "claimed", as_json);
}

int release(PageSession& file, std::int64_t id, bool as_json) {
    PagePatch change;
    change.is_claimed = false;
    return patch(file, id, std::move(change), "released", as_json);
}

int archive(PageSession& file, std::int64_t id, bool as_json) {
    PagePatch change;
    change.lifecycle = titles::Lifecycle::kArchived;
    return patch(file, id, std::move(change), "archived", as_json);
}

int remove(PageSession& file, std::int64_t id, bool as_json) {
    const Status removed = file.run(file.pages().remove(id));
    if (!removed.ok()) {
        return fail(removed.error());
    }
    std::string out = "removed " + std::to_string(id);
    if (as_json) {
        out.clear();
        JsonWriter(out).begin_object().field("removed", id).end_object();
    }
    print(out + "\n");
    return 0;
}

int show(PageSession& file, std::int64_t id, bool as_json) {
    const auto page = file.run(file.pages().text(id));
    if (!page.ok()) {
        return fail(page.error());
    }
    if (as_json) {
        print(plain_json(surface::render_page_text(*page)) + "\n");
        return 0;
    }
    const PageRecord& record = page->record;
    std::string text = plain(record.title) + "\n";
    const auto line = [&text](std::string_view name, const std::string& value) {
        text.append("  ").append(name).append(" ").append(value).append("\n");
    };
    line("id", std::to_string(record.id));
    line("address", "/p/" + plain(record.slug));
    if (!record.author.empty()) {
        line("author", plain(record.author));
    }
    line("state", state_of(record));
    line("version", std::to_string(record.version));
    line("created", rfc3339(record.created_at));
    line("updated", rfc3339(record.updated_at));
    print(text + (page->body.empty() ? "" : "\n" + plain_lines(page->body) + "\n"));
    return 0;
}

struct ListOptions {
    std::size_t limit = 50;
    std::size_t offset = 0;
    std::string sort = "newest";
    bool all = false;
};

int list(PageSession& file, const ListOptions& options, bool as_json) {
    titles::PageQuery query;
    query.limit = options.limit;
    query.offset = options.offset;
    query.only_candidates = !options.all;
    const auto order = titles::parse_page_order(options.sort);
    if (!order) {
        print_error("--sort: expected newest, oldest or title");
        return 2;
    }
    query.order = *order;
    const auto found = file.run(file.pages().list(query));
    if (!found.ok()) {
        return fail(found.error());
    }
    if (as_json) {
        print(plain_json(surface::render_page_list(*found)) + "\n");
        return 0;
    }
    if (found->pages.empty()) {
        print(found->total > 0 ? "no pages from there on\n"
              : options.all    ? "no pages; add one with `sluice pages add TITLE`\n"
                               : "no pages that are listed; --all shows the others, too\n");
        return 0;
    }
    std::vector<std::vector<std::string>> rows = {
        {"ID", "TITLE", "SLUG", "STATE", "VERSION", "UPDATED"}};
    for (const PageRecord& page : found->pages) {
        rows.push_back({std::to_string(page.id), plain(page.title), plain(page.slug),
                        state_of(page), std::to_string(page.version), rfc3339(page.updated_at)});
    }
    print(table(rows));
    if (found->total > options.offset + found->pages.size()) {
        print_to_stderr("of " + std::to_string(found->total) + "; go on with --offset " +
                        std::to_string(options.offset + found->pages.size()) + "\n");
    }
    return 0;
}

void add_add_command(CLI::App& pages, std::function<int()>& chosen) {
    CLI::App* command = pages.add_subcommand("add", "publish a page; the next search finds it");
    const auto config = add_config_options(*command);
    const auto options = std::make_shared<AddOptions>();
    command->add_option("title", options->title, "one line, at most 200 characters")->required();
    command->add_option("--slug", options->slug,
                        "the last part of its address (default: made of the title)");
    command->add_option("--author", options->author, "a label");
    command->add_option("--body-file", options->body_file, "Markdown; -: standard input")
        ->type_name("FILE");
    suggest(*command
                 ->add_option("--lifecycle", options->lifecycle,
                              "unlisted: shown to whoever has its address; archived: to nobody")
                 ->capture_default_str(),
            {"active", "unlisted", "archived"});
    command->add_option("--id", options->id, "a number of your own (default: the next one)");
    const auto as_json = add_json_flag(*command);
    command->footer("Example: sluice pages add \"C++ build flags\" --body-file flags.md");
    command->callback([&chosen, config, options, as_json] {
        chosen = [=] {
            return with_pages(*config, StoreUse::kMake,
                              [&](PageSession& file) { return add(file, *options, *as_json); });
        };
    });
}

void add_list_command(CLI::App& pages, std::function<int()>& chosen) {
    CLI::App* command = pages.add_subcommand("list", "pages that are listed and found");
    const auto config = add_config_options(*command);
    const auto options = std::make_shared<ListOptions>();
    command->add_flag("--all", options->all, "also unlisted, archived and claimed ones");
    command->add_option("--limit", options->limit, "how many")
        ->capture_default_str()
        ->check(CLI::Range(std::size_t{1}, titles::kMaxListed));
    command->add_option("--offset", options->offset, "how many are passed over")
        ->check(CLI::Range(std::size_t{0}, titles::kMaxPages));
    suggest(*command->add_option("--sort", options->sort, "by the last change, or by title")
                 ->capture_default_str(),
            {"newest", "oldest", "title"});
    const auto as_json = add_json_flag(*command);
    command->callback([&chosen, config, options, as_json] {
        chosen = [=] {
            return with_pages(*config, StoreUse::kRead,
                              [&](PageSession& file) { return list(file, *options, *as_json); });
        };
    });
}

void add_update_command(CLI::App& pages, std::function<int()>& chosen) {
    CLI::App* command = pages.add_subcommand("update", "change what is named of a page");
    const auto config = add_config_options(*command);
    const auto options = std::make_shared<UpdateOptions>();
    const auto id = add_page_id(*command);
    command->add_option("--title", options->title, "one line, at most 200 characters");
    command->add_option("--slug", options->slug, "the last part of its address");
    command->add_option("--author", options->author, "a label");
    command->add_option("--body-file", options->body_file, "Markdown; -: standard input")
        ->type_name("FILE");
    suggest(*command->add_option("--lifecycle", options->lifecycle,
                                 "unlisted: shown to whoever has its address; archived: to nobody"),
            {"active", "unlisted", "archived"});
    const auto as_json = add_json_flag(*command);
    command->footer("Example: sluice pages update 7 --title \"C++ build flags, again\"");
    command->callback([&chosen, config, options, id, as_json] {
        chosen = [=] {
            return with_pages(*config, StoreUse::kChange, [&](PageSession& file) {
                return update(file, *id, *options, *as_json);
            });
        };
    });
}

void add_claim_command(CLI::App& pages, std::function<int()>& chosen) {
    CLI::App* command =
        pages.add_subcommand("claim", "neither list nor find a page; who has its PIN may read it");
    const auto config = add_config_options(*command);
    const auto id = add_page_id(*command);
    const auto with_pin = std::make_shared<bool>(false);
    command
        ->add_flag("--pin", *with_pin,
                   "read a PIN from the terminal, unseen, or from standard input")
        ->check([](const std::string& value) {
            return value == "true" ? ""
                                   : "expected no value: the PIN is read from the terminal or from "
                                     "standard input";
        });
    const auto as_json = add_json_flag(*command);
    command->footer("Example: sluice pages claim 7 --pin < pin.txt");
    command->callback([&chosen, config, id, with_pin, as_json] {
        chosen = [=] {
            return with_pages(*config, StoreUse::kChange, [&](PageSession& file) {
                return claim(file, *id, *with_pin, *as_json);
            });
        };
    });
}

using OnPage = std::function<int(PageSession&, std::int64_t id, bool as_json)>;

void add_page_command(CLI::App& pages, std::function<int()>& chosen, const std::string& name,
                      const std::string& help, StoreUse use, const OnPage& work) {
    CLI::App* command = pages.add_subcommand(name, help);
    const auto config = add_config_options(*command);
    const auto id = add_page_id(*command);
    const auto as_json = add_json_flag(*command);
    command->callback([&chosen, config, id, as_json, use, work] {
        chosen = [=] {
            return with_pages(*config, use,
                              [&](PageSession& file) { return work(file, *id, *as_json); });
        };
    });
}

}  // namespace

std::shared_ptr<std::int64_t> add_page_id(CLI::App& command) {
    auto id = std::make_shared<std::int64_t>(0);
    command.add_option("id", *id, "as `sluice pages list --all` shows it")->required();
    return id;
}

int with_pages(const ConfigOptions& options, StoreUse use,
               const std::function<int(PageSession&)>& work) {
    const SystemEnvironment environment;
    const auto loaded = load_or_explain(options, environment);
    if (!loaded) {
        return 2;
    }
    const NewDirectoryNote note(loaded->config);
    const auto file = PageSession::open(loaded->config, environment, use);
    if (!file.ok()) {
        print_error(file.error().message);
        return 1;
    }
    return work(**file);
}

void add_pages(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* pages = app.add_subcommand(
        "pages", "pages: add, list, show, update, archive, claim, release, remove, import");
    pages->require_subcommand(1);
    add_add_command(*pages, chosen);
    add_list_command(*pages, chosen);
    add_page_command(*pages, chosen, "show", "a page with its body", StoreUse::kRead, show);
    add_update_command(*pages, chosen);
    add_page_command(*pages, chosen, "archive",
                     "show a page to nobody; `update --lifecycle active` takes it back",
                     StoreUse::kChange, archive);
    add_claim_command(*pages, chosen);
    add_page_command(*pages, chosen, "release",
                     "list and find a claimed page again; its PIN is gone", StoreUse::kChange,
                     release);
    add_page_command(*pages, chosen, "remove", "remove a page for good", StoreUse::kChange, remove);
    add_pages_import(*pages, chosen);
}

}  // namespace sluice::app
