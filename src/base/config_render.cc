#include "base/config_render.h"

#include "base/config_layers.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace sluice {

namespace {

struct Section {
    std::string path;          // empty for settings outside any
    std::size_t position = 0;  // in order of declaration
    std::vector<const EffectiveSetting*> settings;
};

std::string section_of(const std::string& path) {
    const std::size_t dot = path.rfind('.');
    return dot == std::string::npos ? std::string() : path.substr(0, dot);
}

std::string key_of(const std::string& path) {
    return path.substr(path.rfind('.') + 1);
}

bool is_template(std::string_view path) {
    return path.find(kFreeName) != std::string_view::npos;
}

// Grouped in order of declaration, with what belongs to one top-level section together and a
// section before those inside it. Configured free names are left out: their template stands for
// them.
std::vector<Section> group(const std::vector<EffectiveSetting>& settings) {
    std::vector<Section> sections;
    std::map<std::string, std::size_t> top_level_rank;
    for (const EffectiveSetting& setting : settings) {
        if (setting.under_free_name) {
            continue;
        }
        const std::string path = section_of(setting.path);
        top_level_rank.emplace(path.substr(0, path.find('.')), top_level_rank.size());
        auto section = std::find_if(sections.begin(), sections.end(),
                                    [&](const Section& s) { return s.path == path; });
        if (section == sections.end()) {
            section = sections.insert(sections.end(), {path, sections.size(), {}});
        }
        section->settings.push_back(&setting);
    }
    const auto rank = [&](const Section& s) {
        // Settings outside any section can only stand at the top of a TOML file.
        const bool nested = s.path.find('.') != std::string::npos;
        return std::tuple(!s.path.empty(), top_level_rank.at(s.path.substr(0, s.path.find('.'))),
                          nested, s.position);
    };
    std::sort(sections.begin(), sections.end(),
              [&](const Section& a, const Section& b) { return rank(a) < rank(b); });
    return sections;
}

std::string with_range(const EffectiveSetting& setting) {
    return setting.range.empty() ? setting.type : setting.type + " " + setting.range;
}

std::string environment_of(const EffectiveSetting& setting) {
    const std::string name = env_name_of(setting.path);
    return setting.env_alias.empty() ? name : name + " or " + setting.env_alias;
}

// Markdown ends a cell at a bar.
std::string cell(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        escaped.append(c == '|' ? "\\|" : std::string(1, c));
    }
    return escaped;
}

std::string code(std::string_view text) {
    return text.empty() ? std::string() : "`" + cell(text) + "`";
}

}  // namespace

std::string render_example(const std::vector<EffectiveSetting>& settings) {
    std::string out =
        "# Every setting of sluice at its default. Uncomment what you change.\n"
        "# Durations: seconds, or text such as \"250ms\" or \"15m\". Sizes: bytes, or \"64KiB\".\n";
    for (const Section& section : group(settings)) {
        if (!section.path.empty()) {
            out.append(is_template(section.path) ? "\n# [" : "\n[").append(section.path);
            out.append("]\n");
        }
        for (const EffectiveSetting* setting : section.settings) {
            out.append("\n# ").append(setting->help).append(".\n");
            out.append("# ").append(with_range(*setting)).append("; ");
            out.append(environment_of(*setting));
            out.append(setting->needs_restart ? "\n" : "; applied by SIGHUP\n");
            out.append("# ").append(key_of(setting->path)).append(" = ");
            out.append(setting->default_value).append("\n");
        }
    }
    return out;
}

std::string render_reference(const std::vector<EffectiveSetting>& settings) {
    std::string out =
        "# Settings\n\n"
        "Generated from the declarations in the code. A setting is looked for on the command line, "
        "in the environment, then in the file. Durations are seconds, or text with a unit "
        "(`250ms`, "
        "`2s`, `15m`, `1h`, `1d`); sizes are bytes, or text with a unit (`64KiB`, `8MiB`, `1GB`). "
        "Lists are arrays, or text with commas. In the environment a setting is named "
        "`SLUICE__SECTION__KEY`; a second name is given where there is one. Those marked *live* "
        "are "
        "applied by SIGHUP, the others at the next start.\n";
    for (const Section& section : group(settings)) {
        out.append("\n## ").append(section.path.empty() ? "Top level" : code(section.path));
        out.append("\n\n| Key | Type | Default | |\n|---|---|---|---|\n");
        for (const EffectiveSetting* setting : section.settings) {
            out.append("| ").append(code(key_of(setting->path)));
            out.append(" | ").append(cell(with_range(*setting)));
            out.append(" | ").append(code(setting->default_value));
            out.append(" | ").append(cell(setting->help));
            if (!setting->env_alias.empty()) {
                out.append("; also ").append(code(setting->env_alias));
            }
            out.append(setting->needs_restart ? " |\n" : "; *live* |\n");
        }
    }
    return out;
}

std::string render_effective(const std::vector<EffectiveSetting>& settings) {
    std::size_t path_width = 0;
    std::size_t value_width = 0;
    constexpr std::size_t kWidestValue = 40;  // longer ones push their comment out
    for (const EffectiveSetting& setting : settings) {
        if (!is_template(setting.path)) {
            path_width = std::max(path_width, setting.path.size());
            value_width = std::max(value_width, std::min(setting.value.size(), kWidestValue));
        }
    }
    std::string out;
    for (const EffectiveSetting& setting : settings) {
        if (is_template(setting.path)) {
            continue;
        }
        const std::size_t value_pad = value_width - std::min(setting.value.size(), value_width);
        out.append(setting.path).append(path_width - setting.path.size(), ' ').append(" = ");
        out.append(setting.value).append(value_pad, ' ').append("  # ");
        out.append(setting.origin).append("\n");
    }
    return out;
}

}  // namespace sluice
