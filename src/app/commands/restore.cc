// `sluice restore`.
#include "app/restore.h"

#include "app/commands/commands.h"
#include "app/commands/common.h"
#include "app/interruption.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace sluice::app {

namespace {

int restore(const ConfigOptions& options, const std::string& file, bool force, bool as_json) {
    const SystemEnvironment environment;
    const auto loaded = load_or_explain(options, environment);
    if (!loaded) {
        return 2;
    }
    const std::string& data_dir = loaded->config.data_dir;
    const Interruption interruption;
    const auto manifest = restore_backup(file, data_dir, force ? Overwrite::kYes : Overwrite::kNo,
                                         [&interruption] { return interruption.came(); });
    if (!manifest.ok()) {
        print_error(manifest.error().message);
        return 1;
    }
    print(as_json ? render_manifest(*manifest)
                  : data_dir + " is as it was at " + manifest->made_at + "\n");
    return 0;
}

}  // namespace

void add_restore(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* command =
        app.add_subcommand("restore", "put a backup back, where no gateway is running");
    const auto options = add_config_options(*command);
    const auto file = std::make_shared<std::string>();
    command->add_option("file", *file, "as `sluice backup` wrote it")
        ->required()
        ->type_name("FILE");
    const auto force = std::make_shared<bool>(false);
    command->add_flag("--force", *force, "give up the keys, tokens and spending that are there");
    const auto as_json = add_json_flag(*command);
    command->footer("Example: sluice restore sluice-2026-11-01.tar.gz --data-dir sluice-data");
    command->callback([&chosen, options, file, force, as_json] {
        chosen = [=] { return restore(*options, *file, *force, *as_json); };
    });
}

}  // namespace sluice::app
