// What several commands share: the options that say which configuration applies, and how output
// looks.
#pragma once

#include "app/config.h"
#include "base/clock.h"
#include "base/environment.h"
#include "obs/log.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sluice::app {

// --config, --data-dir and --set; `serve` adds the rest.
struct ConfigOptions {
    std::string config_file;
    std::string data_dir;
    std::string listen;
    std::string log_level;
    std::string record;
    std::string replay;
    std::string replay_speed;
    std::string replay_faults;
    std::vector<std::string> settings;  // "server.max_body_bytes=2MiB"

    ConfigSources sources() const;
};

// The options live as long as the returned object, which the command's callback keeps.
std::shared_ptr<ConfigOptions> add_config_options(CLI::App& command);

// --record, --replay and what belongs to it. `options` lives as long as the command.
void add_exchange_options(CLI::App& command, ConfigOptions& options);

// --json, which is true when it was given. It lives as the options do.
std::shared_ptr<bool> add_json_flag(CLI::App& command);

// Values that the help shows and shells complete; whether others are right is not checked here.
void suggest(CLI::Option& option, const std::vector<std::string>& values);
// The same, and no others are taken.
void restrict_to(CLI::Option& option, const std::vector<std::string>& values);

// Loads the configuration; prints every error to stderr and returns nothing when there are any.
std::optional<LoadedConfig> load_or_explain(const ConfigOptions& options,
                                            const Environment& environment);

// Tells on stderr, as it goes, of a data directory that was not there when it came: whoever meant
// that of a gateway, and is in another folder, would not notice.
class NewDirectoryNote {
 public:
    explicit NewDirectoryNote(const Config& config);
    ~NewDirectoryNote();
    NewDirectoryNote(const NewDirectoryNote&) = delete;
    NewDirectoryNote& operator=(const NewDirectoryNote&) = delete;

 private:
    const std::string data_dir_;
    const bool was_there_;
};

// The data directory, for a command that only talks to the gateway that uses it: mistakes in other
// settings are that gateway's business and only warned of here.
std::string data_dir_of(const ConfigOptions& options, const Environment& environment);

// Rows of the same number of cells, the first of them the head, as aligned columns.
std::string table(const std::vector<std::vector<std::string>>& rows);

void print(const std::string& text);            // to stdout
bool flush_output();                            // false: some of what was printed got lost
void print_to_stderr(const std::string& text);  // as it is
void print_error(const std::string& text);      // to stderr, after "sluice: ", with a line break

// What whoever runs the gateway has to know about where exchanges with providers go, each a line;
// empty when nothing is unusual.
std::string describe_exchanges(const Config& config);

// For what logs in a command that says itself, and once, what was wrong.
class QuietLog {
 public:
    explicit QuietLog(const Clock& clock) : log_(clock, sink_, obs::Level::kError) {}
    operator const obs::Log&() const { return log_; }

 private:
    class NoSink final : public obs::LogSink {
     public:
        void write(obs::Level, std::string) override {}
        void flush() override {}
    };

    NoSink sink_;
    const obs::Log log_;
};

// Whether stdout is a terminal that colours may be sent to (NO_COLOR is respected).
bool colours_wanted(const Environment& environment);

}  // namespace sluice::app
