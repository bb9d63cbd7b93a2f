// The files of templates/ and assets/, which the build puts into the program (cmake/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace sluice::surface {

struct EmbeddedFile {
    std::string_view path;  // "templates/layout.html"
    std::string_view bytes;
};

// In order of path. They live as long as the process; any thread.
std::span<const EmbeddedFile> embedded_files();

}  // namespace sluice::surface
