#include "app/progress.h"

#include "app/commands/common.h"

#include <algorithm>
#include <chrono>
#include <unistd.h>

namespace sluice::app {

namespace {

constexpr std::size_t kBarCells = 24;
constexpr Millis kPause{100};
constexpr std::string_view kEraseLine = "\r\x1b[K";

// "62,000"
std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3; at -= 3) {
        text.insert(at - 3, ",");
    }
    return text;
}

// "18.3 MB"
std::string megabytes(std::uint64_t bytes) {
    const std::uint64_t tenths = bytes / 100'000;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " MB";
}

// "2 s", "3 min"
std::string period(std::chrono::seconds time) {
    return time < std::chrono::minutes(2)
               ? std::to_string(time.count()) + " s"
               : std::to_string(std::chrono::ceil<std::chrono::minutes>(time).count()) + " min";
}

}  // namespace

std::string render_progress(const Progress& progress) {
    const double share =
        progress.all == 0
            ? 1.0
            : std::min(1.0, static_cast<double>(progress.done) / static_cast<double>(progress.all));
    const auto cells = static_cast<std::size_t>(share * static_cast<double>(kBarCells));
    std::string percent = std::to_string(static_cast<int>(share * 100)) + "%";
    percent.insert(0, 4 - percent.size(), ' ');
    std::string text(progress.what);
    text += "  [" + std::string(cells, '#') + std::string(kBarCells - cells, '.') + "] " + percent +
            "  " + grouped(progress.pages) + " pages  " + megabytes(progress.done) + " of " +
            megabytes(progress.all);
    // Of a guess from the first moments nobody has anything.
    if (share > 0.02 && share < 1 && progress.elapsed > std::chrono::milliseconds(500)) {
        const std::chrono::duration<double, std::milli> left =
            std::chrono::duration<double, std::milli>(progress.elapsed) * ((1 - share) / share);
        text += "  about " + period(std::chrono::ceil<std::chrono::seconds>(left)) + " left";
    }
    return text;
}

ProgressLine::ProgressLine(const Clock& clock)
    : clock_(clock), is_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
    clear();
}

void ProgressLine::show(std::string_view what, std::uint64_t done, std::uint64_t all,
                        std::size_t pages) {
    if (!is_terminal_) {
        return;
    }
    const Instant now = clock_.now();
    if (what != what_) {
        what_ = what;
        began_ = now;
    } else if (drawn_ && now - *drawn_ < kPause) {
        return;
    }
    drawn_ = now;
    const auto elapsed = std::chrono::duration_cast<Millis>(now - began_);
    print_to_stderr(std::string(kEraseLine) + render_progress({what, done, all, pages, elapsed}));
}

void ProgressLine::clear() {
    if (drawn_) {
        print_to_stderr(std::string(kEraseLine));
        drawn_.reset();
    }
}

}  // namespace sluice::app
