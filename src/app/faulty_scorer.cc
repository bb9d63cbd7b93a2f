#include "app/faulty_scorer.h"

#include "io/exchange_metrics.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

namespace sluice::app {

namespace {

// Shared by the threads that score.
struct Faults {
    explicit Faults(const io::FaultScript& script) : picker(script.title_rules, script.seed) {}

    const io::FaultRule* next() {
        const std::lock_guard lock(mutex);
        return picker.next("titles");
    }

    std::mutex mutex;
    io::FaultPicker picker;
};

// On a thread that has nothing else to do. False when `stop` came first.
bool wait(Millis delay, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, delay, [] { return false; });
    return !stop.stop_requested();
}

}  // namespace

titles::TitleScorer faulty_scorer(titles::TitleScorer inner, const io::FaultScript& script,
                                  obs::Metrics& metrics) {
    return
        [inner = std::move(inner), faults = std::make_shared<Faults>(script), &metrics](
            const titles::Corpus& corpus, const QueryText& match, const titles::ScoreLimits& limits,
            const std::stop_token& stop) -> std::optional<titles::Ranking> {
            const io::FaultRule* rule = faults->next();
            if (rule == nullptr) {
                return inner(corpus, match, limits, stop);
            }
            metrics.counter(io::kInjectedFaults, {std::string(to_string(rule->fault))}).add();
            if (!wait(rule->delay, stop)) {
                return std::nullopt;
            }
            if (rule->fault == io::Fault::kFail) {
                throw std::runtime_error("fault " + rule->name);
            }
            return inner(corpus, match, limits, stop);
        };
}

}  // namespace sluice::app
