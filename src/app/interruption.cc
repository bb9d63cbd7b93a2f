#include "app/interruption.h"

namespace sluice::app {

namespace {

volatile std::sig_atomic_t signal_came = 0;

void note_signal(int) {
    signal_came = 1;
}

}  // namespace

Interruption::Interruption() {
    signal_came = 0;
    struct sigaction action = {};
    action.sa_handler = note_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &before_int_);
    sigaction(SIGTERM, &action, &before_term_);
}

Interruption::~Interruption() {
    sigaction(SIGINT, &before_int_, nullptr);
    sigaction(SIGTERM, &before_term_, nullptr);
}

bool Interruption::came() const {
    return signal_came != 0;
}

}  // namespace sluice::app
