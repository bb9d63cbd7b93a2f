#include "support/collecting_sink.h"

#include <algorithm>

namespace sluice::test {

void CollectingSink::write(obs::Level level, std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(level, std::move(line));
}

std::vector<std::string> CollectingSink::lines() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> lines;
    for (const auto& [level, line] : lines_) {
        lines.push_back(line);
    }
    return lines;
}

std::size_t CollectingSink::count(obs::Level level, std::string_view text) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::count_if(lines_.begin(), lines_.end(), [&](const auto& entry) {
            return entry.first == level && entry.second.find(text) != std::string::npos;
        }));
}

bool CollectingSink::contains(std::string_view text) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(lines_.begin(), lines_.end(), [&](const auto& entry) {
        return entry.second.find(text) != std::string::npos;
    });
}

void CollectingSink::clear() {
    const std::lock_guard lock(mutex_);
    lines_.clear();
}

}  // namespace sluice::test
