#include "io/files.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sluice::io {

namespace {

Error system_error(const std::string& path) {
    const int reason = errno;
    const Code code = reason == ENOENT   ? Code::kNotFound
                      : reason == EEXIST ? Code::kConflict
                                         : Code::kUnavailable;
    return Error{code, Blame::kGateway, path + ": " + std::strerror(reason), {}};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat found{};
    if (file < 0 || ::fstat(file, &found) != 0) {
        return system_error(path);
    }
    const auto size = static_cast<std::size_t>(found.st_size);
    void* data = nullptr;
    // There is no mapping of nothing.
    if (size > 0) {
        data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    }
    const int reason = errno;
    ::close(file);
    errno = reason;
    if (data == MAP_FAILED) {
        return system_error(path);
    }
    return MappedFile(data, size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
    if (size_ > 0) {
        ::munmap(data_, size_);
    }
}

Status write_new_file(const std::string& path, std::string_view bytes) {
    const int file =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0) {
        return system_error(path);
    }
    ssize_t written = 0;
    while (!bytes.empty() && (written = ::write(file, bytes.data(), bytes.size())) > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    const bool synced = bytes.empty() && ::fsync(file) == 0;
    const int reason = errno;
    ::close(file);
    errno = reason;
    return synced ? Status() : Status(system_error(path));
}

Status make_file_once(const std::string& path, std::string_view bytes) {
    const std::string draft = path + "." + std::to_string(::getpid()) + ".new";
    ::unlink(draft.c_str());  // of a process that had this number before and was killed
    TRY_STATUS(write_new_file(draft, bytes));
    const bool linked = ::link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST;
    const int reason = errno;
    ::unlink(draft.c_str());
    errno = reason;
    return linked ? Status() : Status(system_error(path));
}

Status sync_to_disk(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return system_error(path);
    }
    const bool synced = ::fsync(file) == 0;
    const int reason = errno;
    ::close(file);
    errno = reason;
    return synced ? Status() : Status(system_error(path));
}

std::vector<std::string> names_in(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    std::filesystem::directory_iterator at(folder, error);
    while (!error && at != std::filesystem::directory_iterator()) {
        names.push_back(at->path().filename().string());
        at.increment(error);
    }
    return names;
}

Result<std::string> make_private_folder(const std::string& prefix) {
    std::string path = prefix + std::string(kPrivateSuffixBytes, 'X');
    if (::mkdtemp(path.data()) == nullptr) {
        return system_error(path);
    }
    return path;
}

}  // namespace sluice::io
