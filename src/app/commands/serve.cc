// `sluice serve`: the gateway, until SIGTERM or SIGINT; SIGHUP reads the configuration again.
#include "app/commands/commands.h"
#include "app/commands/common.h"
#include "app/version.h"
#include "app/wire.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/random.h"
#include "obs/log.h"
#include "web/provider.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <memory>
#include <pthread.h>

namespace sluice::app {

namespace {

// Signals are taken by sigwait on the main thread, so no handler ever interrupts anything. Blocked
// before the first thread starts, since threads inherit the mask.
sigset_t block_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    return signals;
}

void announce(Gateway& gateway, const LoadedConfig& loaded) {
    std::string text;
    for (const std::string& address : gateway.addresses()) {
        text += "sluice " + std::string(kVersion) + " listens on " + address + "\n";
    }
    if (auto token = gateway.first_admin_token()) {
        text += "first start beyond loopback: this admin token is shown once and kept nowhere\n  " +
                std::string(token->reveal()) + "\n";
    }
    if (gateway.key_count() == 0) {
        text += "no provider key yet, so searches answer 503; set " + web::key_variables() +
                " (keys at serper.dev, tavily.com) and start again\n";
    }
    const std::string address = gateway.addresses().front();
    text += "try: curl 'http://" + address + "/v1/search?q=hello'    settings: " +
            (loaded.file.empty() ? std::string("defaults") : loaded.file) + " (sluice check)\n";
    print_to_stderr(text);
}

void reload(Gateway& gateway, const ConfigOptions& options, const Environment& environment,
            const obs::Log& log) {
    LoadedConfig fresh = load_config(options.sources(), environment);
    if (!fresh.errors.empty()) {
        // The configuration in force stays; each mistake is told.
        for (const ConfigError& error : fresh.errors) {
            log.error("config_rejected",
                      {{"where", error.where}, {"key", error.key}, {"reason", error.message}});
        }
        return;
    }
    gateway.reload(std::move(fresh.config));
    log.info("config_reloaded", {{"file", fresh.file}});
}

int serve(const ConfigOptions& options) {
    const sigset_t signals = block_signals();
    SystemEnvironment environment;
    auto loaded = load_or_explain(options, environment);
    if (!loaded) {
        return 2;
    }
    SystemClock clock;
    SystemRandom random;
    const auto sink = obs::make_stderr_sink();
    obs::Log log(clock, *sink, loaded->config.log_level);
    Gateway gateway(loaded->config, environment, clock, random, log);
    const Status started = gateway.start();
    if (!started.ok()) {
        sink->flush();
        print_error(started.error().message);
        return started.error().code == Code::kInvalidRequest ? 2 : 1;
    }
    announce(gateway, *loaded);
    log.info("server_started", {{"version", kVersion}, {"listen", gateway.addresses().front()}});
    for (;;) {
        int signal = 0;
        sigwait(&signals, &signal);
        if (signal != SIGHUP) {
            log.info("server_draining", {{"signal", signal == SIGINT ? "SIGINT" : "SIGTERM"}});
            break;
        }
        reload(gateway, options, environment, log);
    }
    gateway.drain();
    log.info("server_stopped");
    sink->flush();
    return 0;
}

}  // namespace

void add_serve(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* command = app.add_subcommand("serve", "run the gateway until SIGTERM");
    const auto options = add_config_options(*command);
    command
        ->add_option("--listen", options->listen,
                     "address and port, or several with commas (default: 127.0.0.1:8080)")
        ->type_name("HOST:PORT");
    command->add_option("--log-level", options->log_level, "debug, info, warn or error")
        ->type_name("LEVEL");
    command->footer(
        "Examples:\n  sluice serve\n  SERPER_API_KEYS=... sluice serve --listen 127.0.0.1:9000\n"
        "  sluice serve --config sluice.toml --set lanes.fast.deadline_s=5");
    command->callback([&chosen, options] { chosen = [options] { return serve(*options); }; });
}

}  // namespace sluice::app
