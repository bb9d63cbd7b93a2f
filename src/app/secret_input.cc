#include "app/secret_input.h"

#include "app/commands/common.h"
#include "app/interruption.h"

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <string_view>
#include <termios.h>
#include <unistd.h>
#include <utility>

namespace sluice::app {

namespace {

Error refusal(Code code, std::string message) {
    return Error{code, Blame::kCaller, std::move(message), {}};
}

// While it lives the terminal does not show what is typed.
class NoEcho {
 public:
    NoEcho() {
        is_on_ = tcgetattr(STDIN_FILENO, &before_) == 0;
        termios quiet = before_;
        quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        is_on_ = is_on_ && tcsetattr(STDIN_FILENO, TCSADRAIN, &quiet) == 0;
    }
    ~NoEcho() {
        if (is_on_) {
            tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
            print_to_stderr("\n");
        }
    }
    NoEcho(const NoEcho&) = delete;
    NoEcho& operator=(const NoEcho&) = delete;

 private:
    termios before_ = {};
    bool is_on_ = false;
};

// A signal that comes before the wait begins does not end it, so it is looked for now and then.
constexpr int kPatienceMs = 100;

// False: a signal came first.
bool wait_for_input(const Interruption& interruption) {
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    while (!interruption.came()) {
        if (::poll(&input, 1, kPatienceMs) > 0) {
            return true;
        }
    }
    return false;
}

// Up to the first line break or the end. Byte by byte: what comes after it is not ours.
Result<Secret> read_line(std::size_t max_bytes, const Interruption& interruption) {
    std::string text;
    text.reserve(max_bytes + 1);
    for (;;) {
        if (!wait_for_input(interruption)) {
            return refusal(Code::kCancelled, "interrupted");
        }
        char byte = 0;
        const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return refusal(Code::kUnavailable,
                           "standard input: " + std::string(std::strerror(errno)));
        }
        if (count == 0 || byte == '\n') {
            break;
        }
        if (text.size() > max_bytes) {
            return refusal(Code::kInvalidRequest,
                           "longer than " + std::to_string(max_bytes) + " bytes");
        }
        text.push_back(byte);
    }
    if (text.ends_with('\r')) {
        text.pop_back();
    }
    return Secret(std::move(text));
}

Result<Secret> ask(const std::string& prompt, std::size_t max_bytes,
                   const Interruption& interruption) {
    const NoEcho quiet;  // before anybody is asked to type
    print_to_stderr(prompt);
    return read_line(max_bytes, interruption);
}

}  // namespace

Result<Secret> read_secret_input(const std::string& prompt, std::size_t max_bytes) {
    const Interruption interruption;
    if (isatty(STDIN_FILENO) != 1) {
        return read_line(max_bytes, interruption);
    }
    TRY(Secret secret, ask(prompt + ": ", max_bytes, interruption));
    TRY(const Secret again, ask(prompt + " again: ", max_bytes, interruption));
    if (!secret.equals(again.reveal())) {
        return refusal(Code::kInvalidRequest, "the two differ");
    }
    return secret;
}

}  // namespace sluice::app
