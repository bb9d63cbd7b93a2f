// What becomes of the files of databases while they are served from: one that was removed, or has
// another in its place, is written to as before and lost when this process ends.
#pragma once

#include "app/config.h"
#include "base/clock.h"
#include "base/task.h"
#include "obs/log.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::app {

// The files that a gateway of this configuration keeps open: tokens, spending, keys and pages as
// far as they are in files, and the counts of title searches.
std::vector<std::string> database_files(const Config& config);

// Belongs to one thread. `clock` and `log` outlive it.
class DatabaseWatch {
 public:
    static constexpr Millis kEvery{10'000};

    // Takes what is at `paths` now for what was opened; a path with nothing there is left out.
    DatabaseWatch(const std::vector<std::string>& paths, Clock& clock, const obs::Log& log);

    // Looks at them every kEvery until it is cancelled.
    Task<void> run();
    // One line for each file that is no longer at its path, or is again: `database_moved` with what
    // is there and how to mend it, `database_back`.
    void look();

 private:
    struct File {
        std::string path;
        std::uint64_t device;
        std::uint64_t inode;
        bool is_in_place = true;
    };

    Clock& clock_;
    const obs::Log& log_;
    std::vector<File> files_;
};

}  // namespace sluice::app
