// A log sink that keeps the lines, for tests of what is (and what must not be) logged.
#pragma once

#include "obs/log.h"

#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::test {

// Thread-safe.
class CollectingSink final : public obs::LogSink {
 public:
    void write(obs::Level level, std::string line) override;
    void flush() override {}

    std::vector<std::string> lines() const;
    // How many lines at `level` contain `text`.
    std::size_t count(obs::Level level, std::string_view text) const;
    // Whether any line contains `text`.
    bool contains(std::string_view text) const;
    void clear();

 private:
    mutable std::mutex mutex_;
    std::vector<std::pair<obs::Level, std::string>> lines_;
};

}  // namespace sluice::test
