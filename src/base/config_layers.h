// The inside of ConfigLayers, shared by the files that fill it (config_layers.cc) and that read
// settings from it (config_reader.cc). Nothing else includes it.
#pragma once

#include "base/config_reader.h"
#include "base/config_toml.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice {

// The part that stands for a free name in the paths of template_section().
inline constexpr std::string_view kFreeName = "<name>";

// Where a value stands. Ordered as its mistakes are to be printed.
struct ConfigPlace {
    enum class Layer : std::uint8_t { kFile, kEnvironment, kCommandLine, kDefault };

    Layer layer = Layer::kDefault;
    std::size_t position = 0;  // file and line, or the order in the layer
    std::string text = "default";
};

// A value as it was given: typed in a file, bare text elsewhere.
struct BareText {
    std::string text;
};
struct ConfigValue {
    std::variant<BareText, TomlValue> value;
    ConfigPlace place;
};

struct ConfigLayers::Impl {
    // The value in force for `path`, of the highest layer that has one; null when none has. A table
    // in a file counts as a value (of the wrong type) here.
    const ConfigValue* find(const std::string& path, std::string_view env_alias) const;

    // Adds a setting with what came of reading it. The first declaration of a path counts.
    void declare(EffectiveSetting setting, const ConfigPlace& place);
    void record(const ConfigPlace& place, std::string key, std::string message);
    // Where the value of `path` came from.
    ConfigPlace place_of(const std::string& path) const;

    std::vector<std::string> names_under(const std::string& section) const;
    bool is_under_free_section(std::string_view path) const;

    void report_unknown();
    void order_errors();

    std::map<std::string, ConfigValue> file;          // by path
    std::vector<std::string> file_order;              // paths as they stand in the files
    std::map<std::string, ConfigValue> environment;   // every variable, by its own name
    std::map<std::string, ConfigValue> command_line;  // by path
    std::set<std::string> free_sections;              // what names() was asked for
    std::map<std::string, std::string> absent;        // by path: why it is no setting
    std::size_t files = 0;

    std::vector<EffectiveSetting> settings;
    std::map<std::string, ConfigPlace> declared;  // by path
    std::vector<ConfigPlace> error_places;        // beside `errors`
    std::vector<ConfigError> errors;

 private:
    void report_unknown_in_file();
    void report_unknown_in_environment();
    void report_unknown_on_command_line();
    bool is_section(const std::string& path) const;
    // The declared path that was probably meant by `path`.
    std::optional<std::string> guess(std::string_view path) const;
    // What is said of `path`, which is not declared.
    std::string unknown_setting(std::string_view what, const std::string& path) const;
};

// "server.listen" -> "SLUICE__SERVER__LISTEN".
std::string env_name_of(std::string_view path);

}  // namespace sluice
