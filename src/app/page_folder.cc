#include "app/page_folder.h"

#include "base/environment.h"
#include "base/text.h"
#include "titles/page_store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace sluice::app {

namespace fs = std::filesystem;

namespace {

// A body and the front matter before it.
constexpr std::size_t kMaxFileBytes = titles::kMaxBodyBytes + std::size_t{64} * 1024;

Error unreadable(const std::string& path, const std::error_code& error) {
    const bool is_missing = error == std::errc::no_such_file_or_directory;
    return Error{is_missing ? Code::kNotFound : Code::kUnavailable,
                 Blame::kCaller,
                 path + ": " + error.message(),
                 {}};
}

bool is_hidden(const fs::path& path) {
    return path.filename().string().starts_with('.');
}

}  // namespace

Result<std::unique_ptr<PageSource>> PageFolder::open(const std::string& folder) {
    auto source = std::unique_ptr<PageFolder>(new PageFolder(folder));
    TRY_STATUS(source->look());
    return std::unique_ptr<PageSource>(std::move(source));
}

Result<std::unique_ptr<PageSource>> PageFolder::open_file(const std::string& path) {
    const fs::path whole(path);
    const std::string folder = whole.has_parent_path() ? whole.parent_path().string() : ".";
    auto source = std::unique_ptr<PageFolder>(new PageFolder(folder));
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(whole, error);
    if (error) {
        return unreadable(path, error);
    }
    source->files_.push_back({whole.filename().string(), bytes});
    source->bytes_ = bytes;
    return std::unique_ptr<PageSource>(std::move(source));
}

// An error of one entry and one of going on to the next are told apart: the second would cover the
// first.
Status PageFolder::look() {
    std::error_code going_on;
    fs::path reading = folder_;  // the folder that the next entry comes from
    fs::recursive_directory_iterator entries(folder_, going_on);
    for (; !going_on && entries != fs::recursive_directory_iterator();
         entries.increment(going_on)) {
        const fs::directory_entry& entry = *entries;
        reading = entry.path().parent_path();
        if (is_hidden(entry.path())) {
            entries.disable_recursion_pending();
            continue;
        }
        std::error_code error;
        const fs::file_type type = entry.symlink_status(error).type();
        if (error) {
            return unreadable(entry.path().string(), error);
        }
        if (type == fs::file_type::directory) {
            reading = entry.path();
        }
        TRY_STATUS(take(entry, type));
    }
    if (going_on) {
        return unreadable(reading.string(), going_on);
    }
    std::ranges::sort(files_, {}, &File::path);
    return {};
}

Status PageFolder::take(const fs::directory_entry& entry, fs::file_type type) {
    if (type == fs::file_type::symlink) {
        links_ += 1;
        return {};
    }
    if (type != fs::file_type::regular) {
        return {};
    }
    if (!is_markdown_name(entry.path().filename().string())) {
        others_ += 1;
        return {};
    }
    if (files_.size() == titles::kMaxPages) {
        return Error{Code::kConflict,
                     Blame::kCaller,
                     folder_ + " has more than " + std::to_string(titles::kMaxPages) +
                         " Markdown files, which is as many pages as are kept",
                     {}};
    }
    std::error_code error;
    const std::uint64_t bytes = entry.file_size(error);
    if (error) {
        return unreadable(entry.path().string(), error);
    }
    files_.push_back({entry.path().lexically_relative(folder_).generic_string(), bytes});
    bytes_ += bytes;
    return {};
}

Result<std::optional<SourcedPage>> PageFolder::next() {
    if (at_ == files_.size()) {
        return std::optional<SourcedPage>();
    }
    const File& file = files_[at_++];
    bytes_read_ += file.bytes;
    const Result<std::string> text =
        SystemEnvironment().read_file(folder_ + "/" + file.path, kMaxFileBytes);
    if (!text.ok()) {
        return std::optional(SourcedPage{file.path, text.error()});
    }
    return std::optional(SourcedPage{file.path, parse_markdown_page(*text, file.path)});
}

Status PageFolder::rewind() {
    at_ = 0;
    bytes_read_ = 0;
    return {};
}

std::string PageFolder::passed_over() const {
    std::string text;
    const auto add = [&text](std::size_t count, std::string_view one, std::string_view many) {
        if (count > 0) {
            text += (text.empty() ? "" : ", ") + std::to_string(count) + " ";
            text += count == 1 ? one : many;
        }
    };
    add(others_, "file that is no Markdown", "files that are no Markdown");
    add(links_, "symbolic link", "symbolic links");
    return text;
}

}  // namespace sluice::app
