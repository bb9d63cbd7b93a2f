#include "io/exchange_folder.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace sluice::io {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kLockName = ".lock";
constexpr std::string_view kDraftName = ".draft";
constexpr std::size_t kDigits = 6;

Error refuse(Code code, std::string message) {
    return Error{code, Blame::kGateway, std::move(message), {}};
}

Error system_error(const std::string& path, int reason) {
    return refuse(Code::kUnavailable, "cannot record into " + path + ": " + std::strerror(reason));
}

Status make_folder(const std::string& path) {
    std::error_code error;
    if (const fs::path parent = fs::path(path).parent_path(); !parent.empty()) {
        fs::create_directories(parent, error);
    }
    if (error || (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST)) {
        return system_error(path, error ? error.value() : errno);
    }
    struct stat is{};
    if (::stat(path.c_str(), &is) != 0) {
        return system_error(path, errno);
    }
    if (!S_ISDIR(is.st_mode)) {
        return system_error(path, ENOTDIR);
    }
    if ((is.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return refuse(Code::kForbidden, "others may open " + path +
                                            ", and recordings hold what people search for: chmod "
                                            "700 " +
                                            path + ", or name a new folder");
    }
    return {};
}

// Writes a new file; it is gone again when that fails.
Status write_file(const std::string& path, std::string_view text) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                            S_IRUSR | S_IWUSR);
    if (file < 0) {
        return system_error(path, errno);
    }
    int reason = 0;
    while (!text.empty() && reason == 0) {
        const ssize_t written = ::write(file, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno != EINTR) {
            reason = errno;
        }
    }
    if (::close(file) != 0 && reason == 0) {
        reason = errno;
    }
    if (reason != 0) {
        ::unlink(path.c_str());
        return system_error(path, reason);
    }
    return {};
}

std::uint64_t number_of(const std::string& name) {
    std::uint64_t number = 0;
    std::from_chars(name.data(), name.data() + name.size(), number);
    return number;
}

std::string file_name(std::uint64_t number, std::string_view name) {
    std::string digits = std::to_string(number);
    digits.insert(0, kDigits - std::min(kDigits, digits.size()), '0');
    return digits.append("-").append(name).append(kExchangeSuffix);
}

}  // namespace

ExchangeFolder::ExchangeFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

ExchangeFolder::ExchangeFolder(ExchangeFolder&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      files_(other.files_),
      bytes_(other.bytes_),
      last_number_(other.last_number_) {}

ExchangeFolder::~ExchangeFolder() {
    if (lock_ >= 0) {
        ::close(lock_);
    }
}

Result<ExchangeFolder> ExchangeFolder::open(const std::string& path) {
    TRY_STATUS(make_folder(path));
    const std::string lock_path = path + "/" + std::string(kLockName);
    const int lock =
        ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (lock < 0) {
        return system_error(lock_path, errno);
    }
    ExchangeFolder folder(path, lock);
    if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
        return refuse(Code::kConflict, "another process records into " + path);
    }
    TRY_STATUS(folder.look());
    return folder;
}

Status ExchangeFolder::look() {
    std::error_code error;
    ::unlink((path_ + "/" + std::string(kDraftName)).c_str());
    for (fs::directory_iterator at(path_, error), end; !error && at != end; at.increment(error)) {
        const std::string name = at->path().filename().string();
        std::error_code unknown;
        const std::uintmax_t size = at->file_size(unknown);
        if (name.ends_with(kExchangeSuffix) && !unknown) {
            files_ += 1;
            bytes_ += size;
            last_number_ = std::max(last_number_, number_of(name));
        }
    }
    return error ? Status(system_error(path_, error.value())) : Status();
}

Status ExchangeFolder::add(std::string_view name, std::string_view text) {
    const std::string draft = path_ + "/" + std::string(kDraftName);
    const std::string target = path_ + "/" + file_name(last_number_ + 1, name);
    TRY_STATUS(write_file(draft, text));
    if (::rename(draft.c_str(), target.c_str()) != 0) {
        const int reason = errno;
        ::unlink(draft.c_str());
        return system_error(target, reason);
    }
    last_number_ += 1;
    files_ += 1;
    bytes_ += text.size();
    return {};
}

}  // namespace sluice::io
