// What this replica is called where replicas share a database.
#pragma once

#include "base/environment.h"
#include "base/random.h"
#include "base/result.h"

#include <string>

namespace sluice::app {

// Of a data directory: the file "replica" there, which is made (mode 0600, once, whoever comes
// first) when it is missing. A copy of the directory that is used beside it needs another one:
// remove the file there. kInvalidRequest when it holds no name; kUnavailable.
Result<std::string> replica_name(const std::string& data_dir, const Environment& environment,
                                 Random& random);

}  // namespace sluice::app
