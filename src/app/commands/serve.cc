// `sluice serve`: the gateway, until SIGTERM or SIGINT; SIGHUP reads the configuration again.
#include "app/commands/commands.h"
#include "app/commands/common.h"
#include "app/descriptor_limit.h"
#include "app/listeners.h"
#include "app/service_manager.h"
#include "app/version.h"
#include "app/watchdog.h"
#include "app/wire.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/random.h"
#include "obs/log.h"
#include "obs/stderr.h"
#include "web/provider.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <malloc.h>
#include <map>
#include <memory>
#include <optional>
#include <pthread.h>
#include <string>
#include <vector>

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

// Freed blocks of this size go back to the system at once. By itself glibc raises that size with
// each large block that is freed, and then the halves of an answer that grew to many megabytes stay
// behind in the heap.
constexpr int kLargeBlockBytes = 256 * 1024;

void keep_no_large_blocks() {
    ::mallopt(M_MMAP_THRESHOLD, kLargeBlockBytes);
}

// What follows the drain takes no time unless something is stuck.
constexpr Millis kStopGrace{3'000};
static_assert(kStopGrace > Gateway::kLastWrites);
// How often it is looked whether a start that waited for its database has something to show.
constexpr Millis kStartLook{1'000};
// How often a text for the terminal waits for room on stderr.
constexpr int kTextPatience = 20;

// Serving goes on when nobody reads stderr.
void tell(std::string_view text) {
    int waits_left = kTextPatience;
    obs::write_to_stderr(text, [&waits_left] { return waits_left-- > 0; });
}

// What a person on this machine reaches the gateway by.
std::string url_here(const Gateway& gateway, const LoadedConfig& loaded) {
    std::string address = gateway.addresses().front();
    if (address.starts_with("0.0.0.0:")) {
        address.replace(0, 7, "127.0.0.1");
    }
    const bool tls = !loaded.config.server.tls_certificate_file.empty();
    return (tls ? "https://" : "http://") + address;
}

// How a person on this machine tries the gateway, as it is set up.
std::string example_call(const Gateway& gateway, const LoadedConfig& loaded) {
    const bool open = !is_reached_from_elsewhere(loaded.config);
    return "curl " + std::string(open ? "" : "-H 'Authorization: Bearer TOKEN' ") + "'" +
           url_here(gateway, loaded) +
           (loaded.config.replay.dir.empty() ? "/v1/search?q=hello'"
                                             : "/v1/search?q=SOMETHING+RECORDED'");
}

// Empty: none was made.
std::string first_token(Gateway& gateway) {
    const auto token = gateway.first_admin_token();
    if (!token) {
        return {};
    }
    return "first start that others than this machine reach: this admin token is shown once and "
           "kept nowhere\n  " +
           std::string(token->reveal()) + "\n";
}

void announce(Gateway& gateway, const LoadedConfig& loaded) {
    std::string text;
    for (const std::string& address : gateway.addresses()) {
        text += "sluice " + std::string(kVersion) + " listens on " + address + "\n";
    }
    text += first_token(gateway);
    if (const std::string warning = warn_of_strangers(loaded.config); !warning.empty()) {
        text += warning + "\n";
    }
    if (!gateway.waits_for().empty()) {
        text += gateway.waits_for() +
                "; requests are refused with 503 until it can, which is tried again and again "
                "(`sluice doctor` says more)\n";
    } else if (gateway.key_count() == 0) {
        text +=
            "no provider key yet, so web searches answer 503; add one with `sluice keys add`, or "
            "set " +
            web::key_variables() + " (keys at serper.dev, tavily.com) and start again\n";
    }
    for (const web::IdleLane& lane : gateway.idle_lanes()) {
        if (gateway.key_count() > 0) {
            text +=
                "no key for any enabled provider of routing." + lane.name + ": searches of the " +
                lane.name + " lane answer 503; add one there, or a provider to the route" +
                (lane.unused.empty() ? "" : " (a key is there, but " + lane.unused + ")") + "\n";
        }
    }
    text += describe_exchanges(loaded.config);
    if (loaded.config.titles.enabled) {
        text +=
            "pages: " + url_here(gateway, loaded) + "/    publish one: sluice pages add TITLE\n";
    }
    text += "try: " + example_call(gateway, loaded) +
            "    settings: " + (loaded.file.empty() ? std::string("defaults") : loaded.file) +
            " (sluice check)\n";
    tell(text);
}

// The settings that differ but wait for the next start, with commas.
std::string waiting_for_restart(const std::vector<EffectiveSetting>& in_force,
                                const std::vector<EffectiveSetting>& fresh) {
    std::map<std::string, std::string> values;
    for (const EffectiveSetting& setting : in_force) {
        values[setting.path] = setting.value;
    }
    std::string names;
    for (const EffectiveSetting& setting : fresh) {
        if (setting.needs_restart && values[setting.path] != setting.value) {
            names += (names.empty() ? "" : ", ") + setting.path;
        }
    }
    return names;
}

// A connection that can't be accepted would wait without an answer, and calls to providers would
// fail for want of a file.
void keep_within_descriptors(io::HttpServerConfig& server, std::size_t limit, const obs::Log& log) {
    const std::size_t room = connections_within(limit);
    if (server.max_connections > room) {
        log.warn("max_connections_lowered", {{"configured", server.max_connections},
                                             {"in_force", room},
                                             {"open_files_limit", limit}});
        server.max_connections = room;
    }
}

// `in_force`: what holds for the end of the process.
void reload(Gateway& gateway, io::HttpServerConfig& in_force, const LoadedConfig& started_with,
            const ConfigOptions& options, const Environment& environment, const obs::Log& log) {
    LoadedConfig fresh = load_config(options.sources(), environment);
    if (!fresh.errors.empty()) {
        // The configuration in force stays; each mistake is told.
        for (const ConfigError& error : fresh.errors) {
            log.error("config_rejected",
                      {{"where", error.where}, {"key", error.key}, {"reason", error.message}});
        }
        return;
    }
    keep_within_descriptors(fresh.config.server, descriptor_limit(), log);
    in_force = fresh.config.server;
    gateway.reload(std::move(fresh.config));
    log.info("config_reloaded", {{"file", fresh.file}});
    const std::string waiting = waiting_for_restart(started_with.settings, fresh.settings);
    if (!waiting.empty()) {
        log.warn("config_needs_restart", {{"settings", waiting}});
    }
}

std::string serving_status(const Gateway& gateway) {
    std::string text = "serving on";
    for (const std::string& address : gateway.addresses()) {
        text += " " + address;
    }
    return text;
}

// A signal, or 0 when none came so long.
int signal_within(const sigset_t& signals, Duration patience) {
    const auto left = std::max(patience, Duration::zero());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec time{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
    return std::max(sigtimedwait(&signals, nullptr, &time), 0);
}

// Made by a start that went on when its database was there; it can be shown by this process only.
void show_first_token(Gateway& gateway) {
    if (const std::string text = first_token(gateway); !text.empty()) {
        tell(text);
    }
}

// Waits for a signal. Meanwhile a service manager that watches the process hears that it is alive,
// as long as it is.
int next_signal(const sigset_t& signals, Gateway& gateway, const ServiceManager& manager) {
    const std::optional<Millis> interval = ServiceManager::alive_interval();
    for (;;) {
        const bool is_starting = gateway.is_starting();
        show_first_token(gateway);
        if (!interval && !is_starting) {
            int signal = 0;
            sigwait(&signals, &signal);
            return signal;
        }
        const Millis patience = interval.value_or(kStartLook);
        const int signal =
            signal_within(signals, is_starting ? std::min(patience, kStartLook) : patience);
        if (signal > 0) {
            return signal;
        }
        if (interval && gateway.responds_within(*interval)) {
            manager.alive();
        }
    }
}

// So long balancers have to see that this process leaves; a second signal to end it ends that.
void let_balancers_go(const sigset_t& signals, Gateway& gateway, Millis delay, const Clock& clock) {
    gateway.start_leaving();
    const Instant end = clock.now() + delay;
    for (;;) {
        const int signal = signal_within(signals, end - clock.now());
        if (signal == SIGTERM || signal == SIGINT || clock.now() >= end) {
            return;
        }
    }
}

int serve(const ConfigOptions& options) {
    keep_no_large_blocks();
    const sigset_t signals = block_signals();
    SystemEnvironment environment;
    auto loaded = load_or_explain(options, environment);
    if (!loaded) {
        return 2;
    }
    SystemClock clock;
    SystemRandom random;
    auto sink = obs::make_stderr_sink();
    obs::Log log(clock, *sink, loaded->config.log_level);
    keep_within_descriptors(loaded->config.server, raise_descriptor_limit(), log);
    auto gateway = std::make_unique<Gateway>(loaded->config, environment, clock, random, log);
    const Status started = gateway->start();
    if (!started.ok()) {
        sink->flush();
        print_error(started.error().message);
        return started.error().code == Code::kInvalidRequest ? 2 : 1;
    }
    const ServiceManager manager(clock);
    announce(*gateway, *loaded);
    log.info("server_started", {{"version", kVersion}, {"listen", gateway->addresses().front()}});
    manager.ready(serving_status(*gateway));
    io::HttpServerConfig server = loaded->config.server;
    for (;;) {
        const int signal = next_signal(signals, *gateway, manager);
        if (signal != SIGHUP) {
            log.info("server_draining", {{"signal", signal == SIGINT ? "SIGINT" : "SIGTERM"}});
            break;
        }
        manager.reloading();
        reload(*gateway, server, *loaded, options, environment, log);
        manager.ready(serving_status(*gateway));
    }
    manager.stopping();
    if (server.shutdown_delay > Millis::zero()) {
        let_balancers_go(signals, *gateway, server.shutdown_delay, clock);
    }
    const Watchdog watchdog(server.drain_timeout + kStopGrace, [] {
        // What is durable is so at any moment, so this loses no more than a crash would: nothing.
        tell("sluice: the shutdown is stuck; ended without it\n");
        std::_Exit(1);
    });
    gateway->drain();
    show_first_token(*gateway);  // made since the last look, perhaps while it was stopping
    gateway.reset();
    log.info("server_stopped");
    sink.reset();
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
    suggest(
        *command->add_option("--log-level", options->log_level, "the least important lines written")
             ->type_name("LEVEL"),
        {"debug", "info", "warn", "error"});
    add_exchange_options(*command, *options);
    command->footer(
        "Examples:\n  sluice serve\n  SERPER_API_KEYS=... sluice serve --listen 127.0.0.1:9000\n"
        "  sluice serve --config sluice.toml --set lanes.fast.deadline_s=5\n"
        "  sluice serve --record recordings\n"
        "  sluice serve --replay recordings --replay-faults faults.toml");
    command->callback([&chosen, options] { chosen = [options] { return serve(*options); }; });
}

}  // namespace sluice::app
