#include "obs/stderr.h"

#include <climits>

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace sluice::obs {
namespace {

constexpr int kWaitMillis = 50;

enum class Room : unsigned char { kThere, kNone, kNever };

Room wait_for_room(int milliseconds) {
    pollfd stderr_fd{STDERR_FILENO, POLLOUT, 0};
    const int ready = ::poll(&stderr_fd, 1, milliseconds);
    if (ready == 0 || (ready < 0 && errno == EINTR)) {
        return Room::kNone;
    }
    return ready > 0 && (stderr_fd.revents & POLLOUT) != 0 ? Room::kThere : Room::kNever;
}

}  // namespace

bool write_to_stderr(std::string_view text, const std::function<bool()>& go_on) {
    while (!text.empty()) {
        const bool patient = go_on();
        const Room room = wait_for_room(patient ? kWaitMillis : 0);
        if (room == Room::kNever || (room == Room::kNone && !patient)) {
            return false;
        }
        if (room == Room::kNone) {
            continue;
        }
        // A pipe that says it has room has it for so many bytes; for more, write() would wait.
        const std::size_t part = std::min<std::size_t>(text.size(), PIPE_BUF);
        const ssize_t written = ::write(STDERR_FILENO, text.data(), part);
        if (written < 0 && errno != EINTR && errno != EAGAIN) {
            return false;
        }
        text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
    return true;
}

}  // namespace sluice::obs
