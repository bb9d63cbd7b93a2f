#include "io/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace sluice::io {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{64} * 1024;
constexpr mode_t kPrivate = S_IRUSR | S_IWUSR;

// Closes a descriptor when it goes.
class Descriptor {
 public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    bool ok() const { return number_ >= 0; }
    int get() const { return number_; }

 private:
    int number_;
};

struct FreeEntry {
    void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

Error system_error(const std::string& path) {
    const int reason = errno;
    const Code code = reason == EEXIST   ? Code::kConflict
                      : reason == ENOENT ? Code::kNotFound
                                         : Code::kUnavailable;
    return Error{code, Blame::kCaller, path + ": " + std::strerror(reason), {}};
}

bool write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

}  // namespace

// ---- writing ----------------------------------------------------------------------------------

void ArchiveWriter::Close::operator()(archive* writer) const {
    archive_write_free(writer);
}

struct ArchiveWriter::File {
    explicit File(int number) : descriptor(number) {}

    Descriptor descriptor;
};

ArchiveWriter::ArchiveWriter(std::string path, std::shared_ptr<const File> file)
    : path_(std::move(path)), file_(std::move(file)), archive_(archive_write_new()) {
    archive_write_add_filter_gzip(archive_.get());
    // Neither the time nor the name of the original is in it: the same files, the same archive.
    archive_write_set_filter_option(archive_.get(), "gzip", "timestamp", nullptr);
    archive_write_set_format_pax_restricted(archive_.get());
    archive_write_open_fd(archive_.get(), file_->descriptor.get());
}

Result<ArchiveWriter> ArchiveWriter::create(const std::string& path) {
    auto file = std::make_shared<const File>(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kPrivate));
    if (!file->descriptor.ok()) {
        return system_error(path);
    }
    return ArchiveWriter(path, std::move(file));
}

Error ArchiveWriter::failure() const {
    const char* text = archive_error_string(archive_.get());
    return Error{Code::kUnavailable,
                 Blame::kGateway,
                 path_ + ": " + (text == nullptr ? "it can't be written" : text),
                 {}};
}

Status ArchiveWriter::add(std::string_view name, std::string_view bytes) {
    const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), std::string(name).c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), kPrivate);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
    if (archive_write_header(archive_.get(), entry.get()) != ARCHIVE_OK) {
        return failure();
    }
    while (!bytes.empty()) {
        const la_ssize_t written = archive_write_data(archive_.get(), bytes.data(), bytes.size());
        if (written <= 0) {
            return failure();
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
}

Status ArchiveWriter::finish() {
    if (archive_write_close(archive_.get()) != ARCHIVE_OK) {
        return failure();
    }
    return ::fsync(file_->descriptor.get()) == 0 ? Status() : Status(system_error(path_));
}

// ---- reading ----------------------------------------------------------------------------------

void ArchiveReader::Close::operator()(archive* reader) const {
    archive_read_free(reader);
}

ArchiveReader::ArchiveReader(std::string path)
    : path_(std::move(path)), archive_(archive_read_new()) {
    archive_read_support_filter_gzip(archive_.get());
    archive_read_support_format_tar(archive_.get());
}

Result<ArchiveReader> ArchiveReader::open(const std::string& path) {
    struct stat found{};
    if (::stat(path.c_str(), &found) != 0) {
        return system_error(path);
    }
    ArchiveReader reader(path);
    if (archive_read_open_filename(reader.archive_.get(), path.c_str(), kBlockBytes) !=
        ARCHIVE_OK) {
        return reader.failure();
    }
    return reader;
}

Error ArchiveReader::failure() const {
    const char* text = archive_error_string(archive_.get());
    return Error{Code::kInvalidRequest,
                 Blame::kCaller,
                 path_ + " is no whole archive: " + (text == nullptr ? "it is damaged" : text),
                 {}};
}

Result<std::optional<std::string>> ArchiveReader::next() {
    archive_entry* entry = nullptr;
    const int found = archive_read_next_header(archive_.get(), &entry);
    if (found == ARCHIVE_EOF) {
        return std::optional<std::string>();
    }
    const char* name = found == ARCHIVE_OK ? archive_entry_pathname(entry) : nullptr;
    if (name == nullptr) {
        return failure();
    }
    if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr) {
        return Error{Code::kInvalidRequest,
                     Blame::kCaller,
                     path_ + " holds something that is no plain file",
                     {}};
    }
    return std::optional<std::string>(name);
}

Result<std::size_t> ArchiveReader::read_some(char* to, std::size_t size) {
    const la_ssize_t got = archive_read_data(archive_.get(), to, size);
    if (got < 0) {
        return failure();
    }
    return static_cast<std::size_t>(got);
}

Result<std::string> ArchiveReader::read(std::size_t most) {
    std::string bytes(most + 1, '\0');
    std::size_t size = 0;
    while (size < bytes.size()) {
        TRY(const std::size_t got, read_some(bytes.data() + size, bytes.size() - size));
        if (got == 0) {
            bytes.resize(size);
            return bytes;
        }
        size += got;
    }
    return Error{Code::kPayloadTooLarge,
                 Blame::kCaller,
                 path_ + ": a file in it has more than " + std::to_string(most) + " bytes",
                 {}};
}

Status ArchiveReader::extract(const std::string& to, std::size_t most) {
    const Descriptor file(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kPrivate));
    if (!file.ok()) {
        return system_error(to);
    }
    std::array<char, kBlockBytes> block{};
    for (std::size_t left = most;;) {
        TRY(const std::size_t got, read_some(block.data(), block.size()));
        if (got == 0) {
            break;
        }
        if (got > left) {
            return Error{Code::kPayloadTooLarge,
                         Blame::kCaller,
                         path_ + ": a file in it is larger than the archive itself says",
                         {}};
        }
        left -= got;
        if (!write_all(file.get(), std::string_view(block.data(), got))) {
            return system_error(to);
        }
    }
    return ::fsync(file.get()) == 0 ? Status() : Status(system_error(to));
}

}  // namespace sluice::io
