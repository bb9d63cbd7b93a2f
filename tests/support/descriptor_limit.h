// A process that may have few descriptors only.
#pragma once

#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace sluice::test {

// No descriptor has a number of `limit` or more, for as long as this object lives.
class DescriptorLimit {
 public:
    explicit DescriptorLimit(rlim_t limit) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        rlimit lower = before_;
        lower.rlim_cur = limit;
        ::setrlimit(RLIMIT_NOFILE, &lower);
    }
    ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
    rlimit before_{};
};

// All descriptors that there are, until they are given back.
class HeldDescriptors {
 public:
    HeldDescriptors() {
        for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) {
            held_.push_back(fd);
        }
    }
    ~HeldDescriptors() { give_back(); }
    HeldDescriptors(const HeldDescriptors&) = delete;
    HeldDescriptors& operator=(const HeldDescriptors&) = delete;

    void give_back_one() {
        ::close(held_.back());
        held_.pop_back();
    }
    void give_back() {
        while (!held_.empty()) {
            give_back_one();
        }
    }

 private:
    std::vector<int> held_;
};

}  // namespace sluice::test
