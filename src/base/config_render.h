// The pages that are generated from the declared settings, so that they can't differ from the code.
#pragma once

#include "base/config_reader.h"

#include <string>
#include <vector>

namespace sluice {

// A TOML file that sets nothing: every setting commented out at its default, under its section,
// with help, type, range and environment names. Valid as it is, and with any setting uncommented.
// Sections with free names are commented out as a whole.
std::string render_example(const std::vector<EffectiveSetting>& settings);

// A Markdown page: a table per section.
std::string render_reference(const std::vector<EffectiveSetting>& settings);

// What is in force, one aligned line each: "lanes.fast.concurrency = 64  # default".
std::string render_effective(const std::vector<EffectiveSetting>& settings);

}  // namespace sluice
