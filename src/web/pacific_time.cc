#include "web/pacific_time.h"

#include <chrono>

namespace sluice::web {
namespace {

using namespace std::chrono;

constexpr hours kStandard{8};  // behind UTC
constexpr hours kDaylight{7};

bool is_daylight(WallTime time) {
    const year in = year_month_day(floor<days>(time)).year();
    // In whole hours, since the end of the last year that WallTime reaches is beyond it.
    const sys_time<hours> hour = floor<hours>(time);
    const sys_time<hours> begins = sys_days(in / March / Sunday[2]) + hours(2) + kStandard;
    const sys_time<hours> ends = sys_days(in / November / Sunday[1]) + hours(2) + kDaylight;
    return hour >= begins && hour < ends;
}

}  // namespace

WallTime next_pacific_midnight(WallTime now) {
    const sys_days today = floor<days>(now - (is_daylight(now) ? kDaylight : kStandard));
    const sys_days tomorrow = today + days(1);
    // Neither change is at midnight, so the offset before and the one after agree there.
    const WallTime in_daylight = tomorrow + kDaylight;
    return is_daylight(in_daylight) ? in_daylight : WallTime(tomorrow + kStandard);
}

}  // namespace sluice::web
