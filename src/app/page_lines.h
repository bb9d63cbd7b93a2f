// Pages in a file, one a line in JSON (NDJSON).
#pragma once

#include "app/page_source.h"
#include "base/json.h"

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::app {

struct FileCloser {
    void operator()(std::FILE* file) const;
};
using FileHandle = std::unique_ptr<std::FILE, FileCloser>;

class PageLines final : public PageSource {
 public:
    // `name` is for messages. What is no regular file is copied to a temporary one. Errors as
    // open_page_source() has them.
    static Result<std::unique_ptr<PageSource>> open(const std::string& path);
    static Result<std::unique_ptr<PageSource>> open_stdin();

    // Of a regular file that is at its beginning.
    PageLines(FileHandle file, std::string name, std::uint64_t bytes);

    Result<std::optional<SourcedPage>> next() override;
    Status rewind() override;
    std::uint64_t bytes() const override { return bytes_; }
    std::uint64_t bytes_read() const override { return bytes_read_; }

 private:
    // Nothing at the end. Of a line that is too long what was read of it, and is_cut.
    Result<std::optional<std::string_view>> next_line(bool& is_cut);
    Result<bool> fill();

    FileHandle file_;
    const std::string name_;
    const std::uint64_t bytes_;
    std::uint64_t bytes_read_ = 0;  // up to the end of the last line that was given
    std::size_t line_ = 0;          // its number
    std::string buffer_;
    std::size_t begin_ = 0;  // of what is still to be given in buffer_
    JsonReader reader_;
};

}  // namespace sluice::app
