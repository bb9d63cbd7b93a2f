// A disk that is full for this process: no file grows beyond so many bytes.
#pragma once

#include <csignal>
#include <sys/resource.h>

namespace sluice::test {

// For as long as it lives. One at a time.
class FileLimit {
 public:
    explicit FileLimit(rlim_t bytes) {
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &before_);
        rlimit lower = before_;
        lower.rlim_cur = bytes;
        ::setrlimit(RLIMIT_FSIZE, &lower);
    }
    ~FileLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FileLimit(const FileLimit&) = delete;
    FileLimit& operator=(const FileLimit&) = delete;

 private:
    rlimit before_{};
    void (*handler_)(int) = SIG_DFL;
};

}  // namespace sluice::test
