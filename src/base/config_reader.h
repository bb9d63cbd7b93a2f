// How settings are declared and read. Each mechanism has a struct of its settings beside it:
//
//     struct LaneConfig {
//         int concurrency = 64;
//         Millis deadline{10'000};
//         static LaneConfig read(ConfigReader& in) {
//             LaneConfig c;
//             in.integer({"concurrency", "executions at once"}, c.concurrency, 1, 4096);
//             in.duration({"deadline_s", "whole request, all attempts together"}, c.deadline,
//             100ms, 10min); return c;
//         }
//     };
//
// That one call is the setting's name, type, default, range and help: `sluice check`, the example
// file, the reference page and the nearest-name hint all come from it. Reading never stops at the
// first mistake: all of them are collected, each with file, line and key.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "base/secret.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

// What is declared about one setting beside its type, default and range.
struct Setting {
    std::string_view key;             // last part of the dotted path
    std::string_view help;            // one sentence, lower case, no full stop
    std::string_view env_alias = {};  // a second environment name, as the seeds have them
    bool needs_restart = true;        // false: SIGHUP applies it
};

// A mistake in the configuration, ready to be printed.
struct ConfigError {
    std::string where;    // "sluice.toml:12", "environment SLUICE__SERVER__LISTEN", "--listen"
    std::string key;      // "server.listen"
    std::string message;  // what was expected, and the nearest known key where there is one
};

// One declared setting with the value in force, for `sluice check` and the generated pages.
struct EffectiveSetting {
    std::string path;   // "lanes.fast.deadline_s"; "<name>" stands for a free name
    std::string type;   // "duration", "size", "integer", "text", "list", "boolean", "one of ..."
    std::string range;  // "1..4096", or empty
    std::string default_value;  // as TOML
    std::string value;          // as TOML; secrets masked
    std::string origin;         // "default", "sluice.toml:12", "environment NAME", "--flag"
    std::string help;
    std::string env_alias;
    bool needs_restart = true;
    bool under_free_name = false;  // of a section whose template is declared beside it
};

// The layers that settings are read from: file < environment < command line. Built once per load.
class ConfigLayers {
 public:
    ConfigLayers();
    ~ConfigLayers();
    ConfigLayers(ConfigLayers&&) noexcept;
    ConfigLayers& operator=(ConfigLayers&&) noexcept;

    // Takes the TOML text of `name`. A syntax error becomes a ConfigError; reading goes on without.
    void add_file(std::string name, std::string_view toml);
    // Takes SLUICE__SECTION__KEY variables and, as they are declared, aliases.
    void add_environment(const Environment& environment);
    // `path` as "server.listen"; `flag` as the user wrote it, "--listen".
    void add_override(std::string path, std::string value, std::string flag);

    // To be called when every read() has run: keys that nothing declared become errors, each with
    // the nearest declared key. Orders the errors as they stand in the file, the environment's and
    // the command line's after them, and keeps the first kMaxErrors.
    void finish();

    static constexpr std::size_t kMaxErrors = 100;

    const std::vector<ConfigError>& errors() const;
    // In order of declaration, each once, templates of free names included.
    const std::vector<EffectiveSetting>& settings() const;

    struct Impl;  // base/config_layers.h, for the files that implement this one

 private:
    friend class ConfigReader;
    std::unique_ptr<Impl> impl_;
};

// A cursor into the layers at one section. On a value that can't be used the error is recorded and
// the field keeps its default.
class ConfigReader {
 public:
    explicit ConfigReader(ConfigLayers& layers);

    ConfigReader section(std::string_view name);
    // Sub-tables with free names (egress.endpoints.<name>) that any layer has, in order of name. In
    // the environment a name is lower-case, and '_' stands for '-' where a file has the name so.
    std::vector<std::string> names(std::string_view section);
    // A reader whose settings are declared under "<name>" and keep their defaults, so that pages
    // and hints know them when no name is configured. Beside each names() stands one such read:
    //     EndpointConfig::read(in.template_section("endpoints"));
    ConfigReader template_section(std::string_view section);

    template <class Int>
    void integer(const Setting& setting, Int& field, Int min, Int max) {
        std::int64_t wide = static_cast<std::int64_t>(field);
        read_integer(setting, wide, static_cast<std::int64_t>(min), static_cast<std::int64_t>(max));
        field = static_cast<Int>(wide);
    }
    void number(const Setting& setting, double& field, double min, double max);
    void boolean(const Setting& setting, bool& field);
    // Seconds as a whole number or with a fraction, or text with a unit: "250ms", "2s", "15m",
    // "1h".
    void duration(const Setting& setting, Millis& field, Millis min, Millis max);
    // Bytes, or text with a unit: "64KiB", "8MiB", "1GiB".
    void size(const Setting& setting, std::size_t& field, std::size_t min, std::size_t max);
    void text(const Setting& setting, std::string& field);
    void secret(const Setting& setting, Secret& field);
    // A TOML array, or text with commas.
    void list(const Setting& setting, std::vector<std::string>& field);

    // One of a fixed set of words.
    template <class Enum>
    void choice(const Setting& setting, Enum& field,
                const std::vector<std::pair<std::string_view, Enum>>& words) {
        std::vector<std::string_view> names;
        std::size_t index = 0;
        for (std::size_t i = 0; i < words.size(); ++i) {
            names.push_back(words[i].first);
            if (words[i].second == field) {
                index = i;
            }
        }
        read_choice(setting, index, names);
        field = words[index].second;
    }

    // For relations between fields and for what only the owner can judge (an address, a CIDR): the
    // error is reported at the place that the key's value came from.
    void fail(std::string_view key, std::string message);

    // For a key that people look for here although it is no setting: what is said in place of a
    // guess when somebody sets it.
    void explain_absent(std::string_view key, std::string message);

 private:
    ConfigReader(ConfigLayers& layers, std::string prefix);
    void read_integer(const Setting& setting, std::int64_t& field, std::int64_t min,
                      std::int64_t max);
    void read_choice(const Setting& setting, std::size_t& index,
                     const std::vector<std::string_view>& names);

    ConfigLayers& layers_;
    std::string prefix_;  // "lanes.fast.", "egress.endpoints.<name>." or empty
};

}  // namespace sluice
