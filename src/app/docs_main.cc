// Prints the pages that are generated from declarations in the code; tools/generate writes them to
// their files and a test compares.
#include "access/metrics.h"
#include "app/command_tree.h"
#include "app/commands/commands.h"
#include "app/completion.h"
#include "app/config.h"
#include "app/man_page.h"
#include "app/version.h"
#include "base/config_render.h"
#include "io/egress_metrics.h"
#include "io/exchange_metrics.h"
#include "io/http_client_metrics.h"
#include "io/http_server_metrics.h"
#include "io/postgres_metrics.h"
#include "io/redis_metrics.h"
#include "io/sqlite_metrics.h"
#include "obs/log_metrics.h"
#include "obs/metrics.h"
#include "surface/common/errors.h"
#include "surface/pages/metrics.h"
#include "surface/rest/openapi.h"
#include "titles/metrics.h"
#include "web/metrics.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <functional>
#include <map>
#include <string>

namespace {

using namespace sluice;

// No variables and no files: what is left are the defaults.
class EmptyEnvironment final : public Environment {
 public:
    std::optional<std::string> get(const std::string&) const override { return std::nullopt; }
    std::map<std::string, std::string> all() const override { return {}; }
    Result<std::string> read_file(const std::string& path, std::size_t) const override {
        return Error{Code::kNotFound, Blame::kCaller, path, {}};
    }
};

std::string all_metrics() {
    std::vector<const obs::MetricSpec*> specs;
    for (const auto& side :
         {access::access_metrics(), io::egress_metrics(), io::exchange_metrics(),
          io::http_client_metrics(), io::http_server_metrics(), io::postgres_metrics(),
          io::redis_metrics(), io::sqlite_metrics(), obs::obs_metrics(), surface::pages_metrics(),
          titles::titles_metrics(), web::web_metrics()}) {
        specs.insert(specs.end(), side.begin(), side.end());
    }
    return obs::describe_metrics(specs);
}

app::CommandNode all_commands() {
    CLI::App app;
    std::function<int()> chosen;
    app::add_commands(app, chosen);
    return app::describe(app);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string page = argc == 2 ? argv[1] : "";
    const auto settings = app::load_config({}, EmptyEnvironment()).settings;
    std::string text;
    if (page == "example") {
        text = render_example(settings);
    } else if (page == "settings") {
        text = render_reference(settings);
    } else if (page == "metrics") {
        text = all_metrics();
    } else if (page == "errors") {
        text = surface::describe_errors();
    } else if (page == "openapi") {
        text = surface::render_openapi(app::kVersion);
    } else if (page == "man") {
        text = app::render_man_page(all_commands(), app::kVersion);
    } else if (const auto script = app::render_completion(page, all_commands())) {
        text = *script;
    } else {
        std::fputs("usage: sluice_docs example|settings|metrics|errors|openapi|man|bash|zsh|fish\n",
                   stderr);
        return 2;
    }
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
}
