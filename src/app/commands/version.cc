// `sluice version`.
#include "app/version.h"

#include "app/commands/commands.h"
#include "app/commands/common.h"
#include "base/json.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace sluice::app {

void add_version(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* command = app.add_subcommand("version", "print the version");
    const auto as_json = add_json_flag(*command);
    command->callback([&chosen, as_json] {
        chosen = [as_json] {
            std::string out;
            if (*as_json) {
                JsonWriter(out).begin_object().field("version", kVersion).end_object();
            } else {
                out = "sluice " + std::string(kVersion);
            }
            print(out + "\n");
            return 0;
        };
    });
}

}  // namespace sluice::app
