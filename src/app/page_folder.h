// Pages in Markdown files below a folder.
#pragma once

#include "app/page_source.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::app {

// Files whose name ends in .md or .markdown, by their path from the folder, in the order of its
// bytes. Hidden files and folders are passed over, and so are symbolic links.
class PageFolder final : public PageSource {
 public:
    // Errors as open_page_source() has them; kConflict where there are more than kMaxPages files.
    static Result<std::unique_ptr<PageSource>> open(const std::string& folder);
    // Of one file alone.
    static Result<std::unique_ptr<PageSource>> open_file(const std::string& path);

    Result<std::optional<SourcedPage>> next() override;
    Status rewind() override;
    std::uint64_t bytes() const override { return bytes_; }
    std::uint64_t bytes_read() const override { return bytes_read_; }
    std::string passed_over() const override;

 private:
    struct File {
        std::string path;  // from the folder
        std::uint64_t bytes = 0;
    };

    explicit PageFolder(std::string folder) : folder_(std::move(folder)) {}
    Status look();
    // Counts one entry, or keeps it as a page.
    Status take(const std::filesystem::directory_entry& entry, std::filesystem::file_type type);

    const std::string folder_;
    std::vector<File> files_;
    std::uint64_t bytes_ = 0;
    std::size_t links_ = 0;
    std::size_t others_ = 0;
    std::size_t at_ = 0;
    std::uint64_t bytes_read_ = 0;
};

}  // namespace sluice::app
