#include "base/config_layers.h"

#include "base/text.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace sluice {

namespace {

using Layer = ConfigPlace::Layer;

constexpr std::string_view kEnvPrefix = "SLUICE__";
constexpr std::string_view kEnvSeparator = "__";

// The last part of a path, and what is before it.
std::string_view leaf_of(std::string_view path) {
    return path.substr(path.rfind('.') + 1);
}

std::string_view parent_of(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

bool is_below(std::string_view path, std::string_view section) {
    return path.size() > section.size() && path.starts_with(section) && path[section.size()] == '.';
}

// The part of `path` right below `section`, which it is below; empty for a direct key.
std::string_view subsection_of(std::string_view path, std::string_view section) {
    const std::string_view rest = path.substr(section.size() + 1);
    const std::size_t dot = rest.find('.');
    return dot == std::string_view::npos ? std::string_view() : rest.substr(0, dot);
}

std::string did_you_mean(std::string_view what) {
    return what.empty() ? "" : "; did you mean " + std::string(what) + "?";
}

// What a SLUICE__ variable would be in a file.
std::string path_of(std::string_view variable) {
    std::string path = to_lower(variable.substr(kEnvPrefix.size()));
    for (std::size_t at = path.find(kEnvSeparator); at != std::string::npos;
         at = path.find(kEnvSeparator, at + 1)) {
        path.replace(at, kEnvSeparator.size(), ".");
    }
    return path;
}

}  // namespace

std::string env_name_of(std::string_view path) {
    std::string name(kEnvPrefix);
    for (const char c : to_upper(path)) {
        if (c == '.') {
            name.append(kEnvSeparator);
        } else {
            name.push_back(c == '-' ? '_' : c);
        }
    }
    return name;
}

ConfigLayers::ConfigLayers() : impl_(std::make_unique<Impl>()) {}
ConfigLayers::~ConfigLayers() = default;
ConfigLayers::ConfigLayers(ConfigLayers&&) noexcept = default;
ConfigLayers& ConfigLayers::operator=(ConfigLayers&&) noexcept = default;

void ConfigLayers::add_file(std::string name, std::string_view toml) {
    const std::size_t first_position = impl_->files << 32;
    impl_->files += 1;
    const auto place_at = [&](std::uint32_t line) {
        return ConfigPlace{Layer::kFile, first_position + line,
                           line == 0 ? name : name + ":" + std::to_string(line)};
    };
    TomlDocument document = parse_toml(toml);
    for (TomlMistake& mistake : document.mistakes) {
        impl_->record(place_at(mistake.line), std::move(mistake.path), std::move(mistake.message));
    }
    for (TomlEntry& entry : document.entries) {
        impl_->file_order.push_back(entry.path);
        impl_->file.insert_or_assign(std::move(entry.path),
                                     ConfigValue{std::move(entry.value), place_at(entry.line)});
    }
}

void ConfigLayers::add_environment(const Environment& environment) {
    for (auto& [name, text] : environment.all()) {
        const std::size_t position = impl_->environment.size();
        impl_->environment.insert_or_assign(
            name,
            ConfigValue{BareText{text}, {Layer::kEnvironment, position, "environment " + name}});
    }
}

void ConfigLayers::add_override(std::string path, std::string value, std::string flag) {
    const std::size_t position = impl_->command_line.size();
    impl_->command_line.insert_or_assign(
        std::move(path),
        ConfigValue{BareText{std::move(value)}, {Layer::kCommandLine, position, std::move(flag)}});
}

void ConfigLayers::finish() {
    impl_->report_unknown();
    impl_->order_errors();
}

const std::vector<ConfigError>& ConfigLayers::errors() const {
    return impl_->errors;
}

const std::vector<EffectiveSetting>& ConfigLayers::settings() const {
    return impl_->settings;
}

const ConfigValue* ConfigLayers::Impl::find(const std::string& path,
                                            std::string_view env_alias) const {
    if (const auto it = command_line.find(path); it != command_line.end()) {
        return &it->second;
    }
    if (const auto it = environment.find(env_name_of(path)); it != environment.end()) {
        return &it->second;
    }
    if (!env_alias.empty()) {
        if (const auto it = environment.find(std::string(env_alias)); it != environment.end()) {
            return &it->second;
        }
    }
    const auto it = file.find(path);
    return it == file.end() ? nullptr : &it->second;
}

void ConfigLayers::Impl::declare(EffectiveSetting setting, const ConfigPlace& place) {
    if (declared.emplace(setting.path, place).second) {
        setting.under_free_name = is_under_free_section(setting.path);
        settings.push_back(std::move(setting));
    }
}

void ConfigLayers::Impl::record(const ConfigPlace& place, std::string key, std::string message) {
    error_places.push_back(place);
    errors.push_back({place.text, std::move(key), std::move(message)});
}

ConfigPlace ConfigLayers::Impl::place_of(const std::string& path) const {
    if (const auto it = declared.find(path); it != declared.end()) {
        return it->second;
    }
    const ConfigValue* value = find(path, {});
    return value == nullptr ? ConfigPlace() : value->place;
}

std::vector<std::string> ConfigLayers::Impl::names_under(const std::string& section) const {
    std::set<std::string> names;
    std::set<std::string> env_forms;
    const auto add = [&](std::string_view name) {
        names.emplace(name);
        env_forms.insert(env_name_of(name));
    };
    for (const auto& [path, value] : file) {
        const auto* typed = std::get_if<TomlValue>(&value.value);
        const auto* other = typed == nullptr ? nullptr : std::get_if<TomlOther>(typed);
        if (other != nullptr && other->is_table && parent_of(path) == section) {
            add(leaf_of(path));
        }
    }
    for (const auto& [path, value] : command_line) {
        if (is_below(path, section) && !subsection_of(path, section).empty()) {
            add(subsection_of(path, section));
        }
    }
    const std::string prefix = env_name_of(section) + std::string(kEnvSeparator);
    for (const auto& [variable, value] : environment) {
        const std::size_t end = variable.find(kEnvSeparator, prefix.size());
        if (!variable.starts_with(prefix) || end == std::string::npos || end == prefix.size()) {
            continue;
        }
        const std::string name = to_lower(variable.substr(prefix.size(), end - prefix.size()));
        if (!env_forms.contains(env_name_of(name))) {
            names.insert(name);
        }
    }
    return {names.begin(), names.end()};
}

bool ConfigLayers::Impl::is_under_free_section(std::string_view path) const {
    return path.find(kFreeName) == std::string_view::npos &&
           std::any_of(free_sections.begin(), free_sections.end(),
                       [&](const std::string& section) { return is_below(path, section); });
}

bool ConfigLayers::Impl::is_section(const std::string& path) const {
    if (path.empty() || free_sections.contains(path)) {
        return true;
    }
    const auto after = declared.upper_bound(path + ".");
    return after != declared.end() && is_below(after->first, path);
}

void ConfigLayers::Impl::report_unknown() {
    report_unknown_in_file();
    report_unknown_in_environment();
    report_unknown_on_command_line();
}

void ConfigLayers::Impl::report_unknown_in_file() {
    std::set<std::string> seen;
    for (const std::string& path : file_order) {
        const ConfigValue& value = file.at(path);
        if (declared.contains(path) || !seen.insert(path).second) {
            continue;
        }
        const std::string parent(parent_of(path));
        // Of an unknown table the outermost is reported, not each key; keys below what should be a
        // value were reported with that.
        if (!is_section(parent) || errors.size() > kMaxErrors) {
            continue;
        }
        const auto* other = std::get_if<TomlOther>(&std::get<TomlValue>(value.value));
        const bool is_table = other != nullptr && other->is_table;
        if (is_table && is_section(path)) {
            continue;
        }
        if (is_section(path) || free_sections.contains(parent)) {
            record(value.place, path, "expected a table, [" + path + "]");
        } else {
            record(value.place, path,
                   unknown_setting(is_table ? "unknown section" : "unknown setting", path));
        }
    }
}

void ConfigLayers::Impl::report_unknown_in_environment() {
    std::set<std::string> known;
    for (const auto& [path, place] : declared) {
        known.insert(env_name_of(path));
    }
    for (const auto& [name, value] : environment) {
        if (!name.starts_with(kEnvPrefix) || known.contains(name) || errors.size() > kMaxErrors) {
            continue;
        }
        const std::string path = path_of(name);
        if (absent.contains(path)) {
            record(value.place, path, unknown_setting("unknown variable", path));
            continue;
        }
        const std::optional<std::string> meant = guess(path);
        record(value.place, path,
               "unknown variable" + did_you_mean(meant ? env_name_of(*meant) : ""));
    }
}

void ConfigLayers::Impl::report_unknown_on_command_line() {
    for (const auto& [path, value] : command_line) {
        if (!declared.contains(path) && errors.size() <= kMaxErrors) {
            record(value.place, path, unknown_setting("unknown setting", path));
        }
    }
}

std::string ConfigLayers::Impl::unknown_setting(std::string_view what,
                                                const std::string& path) const {
    if (const auto it = absent.find(path); it != absent.end()) {
        return std::string(what) + "; " + it->second;
    }
    return std::string(what) + did_you_mean(guess(path).value_or(""));
}

// The nearest name in the same section, else the same name in another section.
std::optional<std::string> ConfigLayers::Impl::guess(std::string_view path) const {
    const std::string_view section = parent_of(path);
    std::vector<std::string_view> siblings;
    std::string_view namesake;
    for (const auto& [known, place] : declared) {
        if (known.find(kFreeName) != std::string::npos) {
            continue;
        }
        if (leaf_of(known) == leaf_of(path) && namesake.empty()) {
            namesake = known;
        }
        if (section.empty() || is_below(known, section)) {
            const std::size_t start = section.empty() ? 0 : section.size() + 1;
            const std::string_view rest = std::string_view(known).substr(start);
            siblings.push_back(rest.substr(0, rest.find('.')));
        }
    }
    const std::string prefix = section.empty() ? "" : std::string(section) + ".";
    // The unit is what is most often left out: "ttl" for "ttl_s".
    const std::string without_unit = std::string(leaf_of(path)) + "_";
    for (const std::string_view sibling : siblings) {
        if (sibling.starts_with(without_unit)) {
            return prefix + std::string(sibling);
        }
    }
    if (const auto sibling = nearest(leaf_of(path), siblings)) {
        return prefix + std::string(*sibling);
    }
    return namesake.empty() ? std::nullopt : std::optional(std::string(namesake));
}

void ConfigLayers::Impl::order_errors() {
    std::vector<std::size_t> order(errors.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const ConfigPlace& x = error_places[a];
        const ConfigPlace& y = error_places[b];
        return std::tuple(x.layer, x.position, a) < std::tuple(y.layer, y.position, b);
    });
    std::vector<ConfigError> ordered_errors;
    std::vector<ConfigPlace> ordered_places;
    for (const std::size_t i : order) {
        ordered_errors.push_back(std::move(errors[i]));
        ordered_places.push_back(std::move(error_places[i]));
    }
    if (ordered_errors.size() > kMaxErrors) {
        ordered_errors.resize(kMaxErrors);
        ordered_places.resize(kMaxErrors);
    }
    errors = std::move(ordered_errors);
    error_places = std::move(ordered_places);
}

}  // namespace sluice
