// stderr, which may take nothing for a while or for ever: a pipe that nobody reads, a held
// terminal.
#pragma once

#include <functional>
#include <string_view>

namespace sluice::obs {

// Writes `text`. Before each wait for room of at most a few hundredths of a second it asks `go_on`;
// after a false it still writes what there is room for, and gives up the rest. Returns whether all
// was written. From any thread; texts of two threads may mix.
bool write_to_stderr(std::string_view text, const std::function<bool()>& go_on);

}  // namespace sluice::obs
