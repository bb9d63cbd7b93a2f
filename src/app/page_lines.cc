#include "app/page_lines.h"

#include "base/text.h"
#include "surface/rest/page_request.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <utility>

namespace sluice::app {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{256} * 1024;
constexpr std::size_t kMaxLineBytes = surface::kPageLimits.max_bytes;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

Error cannot_read(const std::string& name, int reason) {
    return Error{reason == ENOENT ? Code::kNotFound : Code::kUnavailable,
                 Blame::kCaller,
                 name + ": " + std::strerror(reason),
                 {}};
}

// All of `from`, at the beginning of a file that has no name and goes with the process.
Result<FileHandle> keep(std::FILE* from, const std::string& name) {
    FileHandle kept(std::tmpfile());
    if (!kept) {
        return cannot_read("a temporary file", errno);
    }
    std::string chunk(kChunkBytes, '\0');
    while (const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), from)) {
        if (std::fwrite(chunk.data(), 1, count, kept.get()) != count) {
            return cannot_read("a temporary file", errno);
        }
    }
    if (std::ferror(from) != 0) {
        return cannot_read(name, errno);
    }
    if (std::fflush(kept.get()) != 0 || std::fseek(kept.get(), 0, SEEK_SET) != 0) {
        return cannot_read("a temporary file", errno);
    }
    return kept;
}

Result<std::unique_ptr<PageSource>> lines_of(FileHandle file, std::string name) {
    struct stat status = {};
    if (fstat(fileno(file.get()), &status) != 0) {
        return cannot_read(name, errno);
    }
    return std::unique_ptr<PageSource>(std::make_unique<PageLines>(
        std::move(file), std::move(name), static_cast<std::uint64_t>(status.st_size)));
}

}  // namespace

void FileCloser::operator()(std::FILE* file) const {
    std::fclose(file);
}

Result<std::unique_ptr<PageSource>> PageLines::open(const std::string& path) {
    FileHandle file(std::fopen(path.c_str(), "rbe"));
    struct stat status = {};
    if (!file || fstat(fileno(file.get()), &status) != 0) {
        return cannot_read(path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        TRY(file, keep(file.get(), path));
    }
    return lines_of(std::move(file), path);
}

Result<std::unique_ptr<PageSource>> PageLines::open_stdin() {
    TRY(FileHandle file, keep(stdin, "standard input"));
    return lines_of(std::move(file), "standard input");
}

PageLines::PageLines(FileHandle file, std::string name, std::uint64_t bytes)
    : file_(std::move(file)),
      name_(std::move(name)),
      bytes_(bytes),
      reader_(surface::kPageLimits) {}

Status PageLines::rewind() {
    if (std::fseek(file_.get(), 0, SEEK_SET) != 0) {
        return cannot_read(name_, errno);
    }
    bytes_read_ = 0;
    line_ = 0;
    buffer_.clear();
    begin_ = 0;
    return {};
}

// Whether there was more.
Result<bool> PageLines::fill() {
    buffer_.erase(0, begin_);
    begin_ = 0;
    const std::size_t had = buffer_.size();
    buffer_.resize(had + kChunkBytes);
    const std::size_t count = std::fread(buffer_.data() + had, 1, kChunkBytes, file_.get());
    buffer_.resize(had + count);
    if (std::ferror(file_.get()) != 0) {
        return cannot_read(name_, errno);
    }
    return count > 0;
}

Result<std::optional<std::string_view>> PageLines::next_line(bool& is_cut) {
    is_cut = false;
    std::size_t searched = begin_;
    for (;;) {
        const std::size_t end = buffer_.find('\n', searched);
        if (end != std::string::npos) {
            const std::string_view line(buffer_.data() + begin_, end - begin_);
            begin_ = end + 1;
            bytes_read_ += line.size() + 1;
            line_ += 1;
            return std::optional(line);
        }
        if (buffer_.size() - begin_ > kMaxLineBytes) {
            is_cut = true;  // of the rest only its end matters
            bytes_read_ += buffer_.size() - begin_;
            begin_ = buffer_.size();
        }
        searched = buffer_.size() - begin_;
        TRY(const bool more, fill());
        if (!more) {
            break;
        }
    }
    if (begin_ == buffer_.size() && !is_cut) {
        return std::optional<std::string_view>();
    }
    const std::string_view line(buffer_.data() + begin_, buffer_.size() - begin_);
    begin_ = buffer_.size();
    bytes_read_ += line.size();
    line_ += 1;
    return std::optional(line);
}

Result<std::optional<SourcedPage>> PageLines::next() {
    for (;;) {
        bool is_cut = false;
        TRY(auto line, next_line(is_cut));
        if (!line) {
            return std::optional<SourcedPage>();
        }
        if (line_ == 1 && line->starts_with(kByteOrderMark)) {
            line->remove_prefix(kByteOrderMark.size());
        }
        std::string where = "line " + std::to_string(line_);
        if (is_cut || line->size() > kMaxLineBytes) {
            return std::optional(
                SourcedPage{std::move(where),
                            Error{Code::kInvalidRequest,
                                  Blame::kCaller,
                                  "expected at most " + std::to_string(kMaxLineBytes) + " bytes",
                                  {}}});
        }
        if (!trim(*line).empty()) {
            return std::optional(
                SourcedPage{std::move(where), surface::parse_page_line(reader_, *line)});
        }
    }
}

}  // namespace sluice::app
