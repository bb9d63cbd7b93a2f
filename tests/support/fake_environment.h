// An environment of variables and files that a test writes down.
#pragma once

#include "base/environment.h"

#include <map>
#include <string>

namespace sluice::test {

// Fill it before use; reading is thread-safe.
class FakeEnvironment final : public Environment {
 public:
    std::map<std::string, std::string> variables;
    std::map<std::string, std::string> files;  // by path

    std::optional<std::string> get(const std::string& name) const override;
    std::map<std::string, std::string> all() const override;
    Result<std::string> read_file(const std::string& path, std::size_t max_bytes) const override;
};

}  // namespace sluice::test
