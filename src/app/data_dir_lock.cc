#include "app/data_dir_lock.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::app {

namespace {

constexpr std::size_t kLongestProcessId = 20;
constexpr int kTurns = 10;  // of finding a lock file that is taken away meanwhile

Error unusable(const std::string& path, int reason) {
    return {.code = Code::kUnavailable,
            .blame = Blame::kGateway,
            .message = "can't use " + path + ": " + std::strerror(reason),
            .retry_after = {}};
}

// What the holder wrote; only for people, so that it may be stale or missing.
std::string holder_of(int file) {
    std::array<char, kLongestProcessId> text{};
    const ssize_t size = ::pread(file, text.data(), text.size(), 0);
    const std::string_view written(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    const std::string_view digits = written.substr(0, written.find_first_not_of("0123456789"));
    return digits.empty() ? std::string("another process") : "process " + std::string(digits);
}

struct LockFile {
    int descriptor;  // -1: errno says why
    bool is_new;
};
LockFile open_or_make(const std::string& path) {
    constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const int made = ::open(path.c_str(), kFlags | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    if (made >= 0 || errno != EEXIST) {
        return {made, true};
    }
    return {::open(path.c_str(), kFlags), false};
}

// Whether the open file is still what others find there: who waits with a file that was taken away
// would hold a lock that nobody else sees.
bool is_at(const std::string& path, int file) {
    struct stat held = {};
    struct stat found = {};
    return ::fstat(file, &held) == 0 && ::lstat(path.c_str(), &found) == 0 &&
           held.st_dev == found.st_dev && held.st_ino == found.st_ino;
}

void write_holder(int file) {
    const std::string text = std::to_string(::getpid()) + "\n";
    if (::ftruncate(file, 0) == 0) {
        [[maybe_unused]] const ssize_t ignored = ::pwrite(file, text.data(), text.size(), 0);
    }
}

}  // namespace

Result<DataDirLock> DataDirLock::take(const std::string& data_dir) {
    const std::string path = data_dir + "/serve.lock";
    for (int turn = 0; turn < kTurns; ++turn) {
        const auto [file, is_new] = open_or_make(path);
        if (file < 0 && errno == ENOENT && !is_new) {
            continue;  // taken away since
        }
        if (file < 0) {
            return unusable(path, errno);
        }
        DataDirLock lock(file, is_new ? path : std::string());
        if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
            if (errno != EWOULDBLOCK) {
                return unusable(path, errno);
            }
            return Error{
                .code = Code::kUnavailable,
                .blame = Blame::kGateway,
                .message = "the data directory " + data_dir + " is in use by " + holder_of(file),
                .retry_after = {}};
        }
        if (is_at(path, file)) {
            write_holder(file);
            return lock;
        }
    }
    return unusable(path, EAGAIN);
}

void DataDirLock::leave_no_trace() {
    if (!made_.empty()) {
        ::unlink(made_.c_str());
        made_.clear();
    }
}

DataDirLock::~DataDirLock() {
    if (file_ >= 0) {
        ::close(file_);
    }
}

}  // namespace sluice::app
