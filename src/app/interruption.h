// SIGINT and SIGTERM as a flag, for a command that ends at a good place. The second one ends the
// process at once.
#pragma once

#include <csignal>

namespace sluice::app {

// One at a time in a process. System calls that wait are interrupted.
class Interruption {
 public:
    Interruption();
    ~Interruption();  // signals do again what they did
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    bool came() const;

 private:
    struct sigaction before_int_ = {};
    struct sigaction before_term_ = {};
};

}  // namespace sluice::app
