// What a configuration of layers reads as, in one call.
#pragma once

#include "base/config_reader.h"
#include "config_sample.h"
#include "support/fake_environment.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::test {

using Variables = std::map<std::string, std::string>;

struct Loaded {
    ConfigLayers layers;
    SampleConfig config;

    const std::vector<ConfigError>& errors() const { return layers.errors(); }

    std::string all_errors() const {
        std::string text;
        for (const ConfigError& e : layers.errors()) {
            text += e.where + " " + e.key + " " + e.message + "\n";
        }
        return text;
    }

    const EffectiveSetting& setting(std::string_view path) const {
        for (const EffectiveSetting& s : layers.settings()) {
            if (s.path == path) {
                return s;
            }
        }
        ADD_FAILURE() << "no setting " << path;
        return layers.settings().front();
    }
};

inline Loaded load(std::string_view toml, Variables variables = {}, Variables overrides = {}) {
    Loaded loaded;
    loaded.layers.add_file("sluice.toml", toml);
    FakeEnvironment environment;
    environment.variables = std::move(variables);
    loaded.layers.add_environment(environment);
    for (const auto& [path, value] : overrides) {
        loaded.layers.add_override(path, value, "--" + path);
    }
    loaded.config = SampleConfig::read(ConfigReader(loaded.layers));
    loaded.layers.finish();
    return loaded;
}

}  // namespace sluice::test
