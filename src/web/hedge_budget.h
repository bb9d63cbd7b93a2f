// How many calls hedging may make beyond those that a search needs. Belongs to the control loop.
#pragma once

#include "obs/metrics.h"

namespace sluice::web {

class HedgeBudget {
 public:
    // Hedges that may be started in a row after a quiet time.
    static constexpr double kBurst = 10;

    explicit HedgeBudget(obs::Metrics& metrics);

    // A call that is no hedge was started: it earns `ratio` of one.
    void earn(double ratio);
    // Whether a hedge may be started now; it is paid for and counted then. Never when `ratio` is 0.
    bool spend(double ratio);
    // The hedge found its provider not to be asked: nothing was sent.
    void refund();
    // A hedge's answer came first.
    void count_won() { won_.add(); }

 private:
    double credit_ = kBurst;
    obs::Counter started_;
    obs::Counter won_;
    obs::Counter denied_;
    obs::Counter unused_;
};

}  // namespace sluice::web
