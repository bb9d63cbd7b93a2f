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

// Whether an errno says that this process or machine has no descriptors, memory, buffers or local
// ports left, which is nobody's fault but ours.
bool is_shortage(int system_error);
// The shortage of descriptors that there is at the moment, as an errno; 0: none.
int descriptor_shortage();
// Before anything was sent, for want of that: kOverloaded, blamed on the gateway.
Error transfer_short_of_resources(int system_error);

// Until `at`; nothing is returned then. When `deadline` comes first, or the caller is cancelled, it
// is the error that the transfer ends with.
Task<std::optional<Error>> wait_in_transfer(Clock& clock, Instant at, Instant deadline);

}  // namespace sluice::io
