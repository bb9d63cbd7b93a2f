// `sluice backup`.
#include "app/backup.h"

#include "app/commands/commands.h"
#include "app/commands/common.h"
#include "app/interruption.h"
#include "base/clock.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace sluice::app {

namespace {

// The keys in the archive can't be read without it, and it is somewhere else.
std::string secrets_note(const Config& config, const BackupManifest& manifest) {
    const bool is_kept = std::ranges::any_of(
        manifest.files, [](const BackupFile& file) { return file.name == "secrets.key"; });
    if (is_kept && config.secrets.key.empty()) {
        return "it holds secrets.key: who has this file can read the provider keys\n";
    }
    return config.secrets.key.empty()
               ? std::string()
               : "keep " + config.secrets.key + " too: without it the provider keys are lost\n";
}

// What is not in the archive, since it is not in the data directory.
std::string database_note(const Config& config) {
    return config.database.postgres.enabled() ? "keys, tokens, spending and pages are in the "
                                                "PostgreSQL of database.url: back that "
                                                "up too, with pg_dump\n"
                                              : "";
}

int backup(const ConfigOptions& options, const std::string& file, bool as_json) {
    const SystemEnvironment environment;
    const auto loaded = load_or_explain(options, environment);
    if (!loaded) {
        return 2;
    }
    const SystemClock clock;
    const Interruption interruption;
    const auto manifest = write_backup(loaded->config.data_dir, file, clock,
                                       [&interruption] { return interruption.came(); });
    if (!manifest.ok()) {
        const std::string& reason = manifest.error().message;
        const std::string note = database_note(loaded->config);
        print_error(manifest.error().code == Code::kNotFound && !note.empty()
                        ? reason + "\n" + note.substr(0, note.size() - 1)
                        : reason);
        return 1;
    }
    if (as_json) {
        print(render_manifest(*manifest));
        return 0;
    }
    std::string text = "wrote " + file + " from " + loaded->config.data_dir + "\n";
    for (const BackupFile& kept : manifest->files) {
        text += "  " + kept.name + "  " + std::to_string(kept.bytes) + " bytes\n";
    }
    print(text + secrets_note(loaded->config, *manifest) + database_note(loaded->config));
    return 0;
}

}  // namespace

void add_backup(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* command = app.add_subcommand(
        "backup", "write everything durable into one file, also while a gateway runs");
    const auto options = add_config_options(*command);
    const auto file = std::make_shared<std::string>();
    command->add_option("file", *file, "the new file; one that is there is never overwritten")
        ->required()
        ->type_name("FILE");
    const auto as_json = add_json_flag(*command);
    command->footer("Example: sluice backup sluice-$(date +%F).tar.gz");
    command->callback([&chosen, options, file, as_json] {
        chosen = [=] { return backup(*options, *file, *as_json); };
    });
}

}  // namespace sluice::app
