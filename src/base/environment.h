// The seam to the process's surroundings: environment variables and files. Only environment.cc asks
// the operating system for them.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace sluice {

class Environment {
 public:
    virtual ~Environment() = default;

    // Unset and empty are the same: nothing.
    virtual std::optional<std::string> get(const std::string& name) const = 0;

    // Every variable, for finding SLUICE__* names that nothing declares.
    virtual std::map<std::string, std::string> all() const = 0;

    // The whole file; at most `max_bytes`. kNotFound, kForbidden, kPayloadTooLarge or kUnavailable.
    virtual Result<std::string> read_file(const std::string& path, std::size_t max_bytes) const = 0;
};

class SystemEnvironment final : public Environment {
 public:
    std::optional<std::string> get(const std::string& name) const override;
    std::map<std::string, std::string> all() const override;
    Result<std::string> read_file(const std::string& path, std::size_t max_bytes) const override;
};

}  // namespace sluice
