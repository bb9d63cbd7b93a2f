#include "web/degraded_log.h"

#include <cstdint>

namespace sluice::web {

DegradedLog::DegradedLog(const obs::Log& log, const Clock& clock)
    : log_(log),
      clock_(clock),
      stale_(kLines, kPer),
      degraded_(kLines, kPer),
      unanswered_(kLines, kPer) {}

void DegradedLog::stale(Lane lane, const Error& why) {
    std::uint64_t held_back = 0;
    if (stale_.allow(clock_.now(), held_back)) {
        log_.warn("stale_answer_served", {{"lane", to_string(lane)},
                                          {"code", to_string(why.code)},
                                          {"reason", why.message},
                                          {"held_back", held_back}});
    }
}

void DegradedLog::degraded(Lane lane) {
    std::uint64_t held_back = 0;
    if (degraded_.allow(clock_.now(), held_back)) {
        log_.warn("degraded_answer_served", {{"lane", to_string(lane)}, {"held_back", held_back}});
    }
}

void DegradedLog::unanswered(Lane lane, const Error& why) {
    if (why.blame == Blame::kCaller) {
        return;
    }
    std::uint64_t held_back = 0;
    if (unanswered_.allow(clock_.now(), held_back)) {
        log_.warn("search_unanswered", {{"lane", to_string(lane)},
                                        {"code", to_string(why.code)},
                                        {"blame", to_string(why.blame)},
                                        {"reason", why.message},
                                        {"held_back", held_back}});
    }
}

}  // namespace sluice::web
