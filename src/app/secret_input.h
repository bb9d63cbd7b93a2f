// Secrets that are typed or piped in, never taken from the command line, which other users of the
// machine can read.
#pragma once

#include "base/result.h"
#include "base/secret.h"

#include <cstddef>
#include <string>

namespace sluice::app {

// From a terminal one line that is not shown, after `prompt`, and the same once more; else standard
// input, of which a line break at the end is no part. kInvalidRequest when the two differ or it is
// longer than `max_bytes`; kCancelled when a signal came.
Result<Secret> read_secret_input(const std::string& prompt, std::size_t max_bytes);

}  // namespace sluice::app
