#include "support/fake_environment.h"

namespace sluice::test {

std::optional<std::string> FakeEnvironment::get(const std::string& name) const {
    const auto it = variables.find(name);
    if (it == variables.end() || it->second.empty()) {
        return std::nullopt;
    }
    return it->second;
}

std::map<std::string, std::string> FakeEnvironment::all() const {
    std::map<std::string, std::string> set = variables;
    std::erase_if(set, [](const auto& entry) { return entry.second.empty(); });
    return set;
}

Result<std::string> FakeEnvironment::read_file(const std::string& path,
                                               std::size_t max_bytes) const {
    const auto it = files.find(path);
    if (it == files.end()) {
        return Error{Code::kNotFound, Blame::kCaller, "cannot read " + path + ": no such file", {}};
    }
    if (it->second.size() > max_bytes) {
        return Error{Code::kPayloadTooLarge,
                     Blame::kCaller,
                     path + " is larger than " + std::to_string(max_bytes) + " bytes",
                     {}};
    }
    return it->second;
}

}  // namespace sluice::test
