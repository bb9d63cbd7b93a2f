// What a start finds missing beside what is there.
#pragma once

#include "obs/log.h"

#include <string>

namespace sluice::app {

// Warns of each file of the data directory that will be made anew although others are there. Every
// start makes all of them, and commands may make any but the spending before the first one: what is
// blank beside that was lost. Before the files are opened.
void tell_of_new_databases(const std::string& data_dir, const obs::Log& log);

}  // namespace sluice::app
