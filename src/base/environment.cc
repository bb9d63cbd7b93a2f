#include "base/environment.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

extern char** environ;  // POSIX declares it nowhere

namespace sluice {

std::optional<std::string> SystemEnvironment::get(const std::string& name) const {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') {
        return std::nullopt;
    }
    return std::string(value);
}

std::map<std::string, std::string> SystemEnvironment::all() const {
    std::map<std::string, std::string> variables;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string text(*entry);
        const std::size_t equals = text.find('=');
        if (equals != std::string::npos && equals + 1 < text.size()) {
            variables[text.substr(0, equals)] = text.substr(equals + 1);
        }
    }
    return variables;
}

Result<std::string> SystemEnvironment::read_file(const std::string& path,
                                                 std::size_t max_bytes) const {
    // Opening a pipe would wait for somebody who writes.
    std::error_code unknown;
    if (std::filesystem::is_fifo(path, unknown) || std::filesystem::is_directory(path, unknown)) {
        return Error{
            Code::kUnavailable, Blame::kCaller, "cannot read " + path + ": it is no file", {}};
    }
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        const int reason = errno;
        const Code code = reason == ENOENT   ? Code::kNotFound
                          : reason == EACCES ? Code::kForbidden
                                             : Code::kUnavailable;
        return Error{
            code, Blame::kCaller, "cannot read " + path + ": " + std::strerror(reason), {}};
    }
    std::string text;
    char block[16384];
    while (file.read(block, sizeof block) || file.gcount() > 0) {
        text.append(block, static_cast<std::size_t>(file.gcount()));
        if (text.size() > max_bytes) {
            return Error{Code::kPayloadTooLarge,
                         Blame::kCaller,
                         path + " is larger than " + std::to_string(max_bytes) + " bytes",
                         {}};
        }
    }
    if (file.bad()) {
        return Error{Code::kUnavailable, Blame::kCaller, "cannot read " + path, {}};
    }
    return text;
}

}  // namespace sluice
