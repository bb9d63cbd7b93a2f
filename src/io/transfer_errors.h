// How a transfer ends that has no answer, in the words that every HttpClient shares, and waiting as
// a transfer waits.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"

#include <optional>

namespace sluice::io {

Error transfer_timed_out();
// Before anything was sent.
Error transfer_too_late();
Error transfer_cancelled();

// Until `at`; nothing is returned then. When `deadline` comes first, or the caller is cancelled, it
// is the error that the transfer ends with.
Task<std::optional<Error>> wait_in_transfer(Clock& clock, Instant at, Instant deadline);

}  // namespace sluice::io
