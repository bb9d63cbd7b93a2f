// The line that says how far a long command is, on a terminal.
#pragma once

#include "base/clock.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::app {

struct Progress {
    std::string_view what;  // "checking"
    std::uint64_t done = 0;
    std::uint64_t all = 0;
    std::size_t pages = 0;
    Millis elapsed{};  // since `done` was 0
};

// "importing  [#########.....]  62%  62,000 pages  18.3 MB of 29.6 MB  about 2 s left". Pure.
std::string render_progress(const Progress& progress);

// Draws it on stderr, over itself, at most ten times a second. Does nothing where that is no
// terminal. Belongs to one thread.
class ProgressLine {
 public:
    explicit ProgressLine(const Clock& clock);
    ~ProgressLine();  // clear()
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    // `what` is a constant; another one than before begins anew.
    void show(std::string_view what, std::uint64_t done, std::uint64_t all, std::size_t pages);
    // Leaves an empty line for what is to be said.
    void clear();

 private:
    const Clock& clock_;
    const bool is_terminal_;
    std::string_view what_;
    Instant began_{};
    std::optional<Instant> drawn_;
};

}  // namespace sluice::app
