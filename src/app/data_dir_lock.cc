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

void write_holder(int file) {
    const std::string text = std::to_string(::getpid()) + "\n";
    if (::ftruncate(file, 0) == 0) {
        [[maybe_unused]] const ssize_t ignored = ::pwrite(file, text.data(), text.size(), 0);
    }
}

}  // namespace

Result<DataDirLock> DataDirLock::take(const std::string& data_dir) {
    const std::string path = data_dir + "/serve.lock";
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                            S_IRUSR | S_IWUSR);
    if (file < 0) {
        return unusable(path, errno);
    }
    DataDirLock lock(file);
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) {
        write_holder(file);
        return lock;
    }
    if (errno != EWOULDBLOCK) {
        return unusable(path, errno);
    }
    return Error{.code = Code::kUnavailable,
                 .blame = Blame::kGateway,
                 .message = "the data directory " + data_dir + " is in use by " + holder_of(file),
                 .retry_after = {}};
}

DataDirLock::~DataDirLock() {
    if (file_ >= 0) {
        ::close(file_);
    }
}

}  // namespace sluice::app
