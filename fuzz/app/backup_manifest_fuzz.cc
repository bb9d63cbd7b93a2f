// Any bytes as the list of files of a backup. What is accepted names only files that a backup
// keeps, each once, and reads back the same.
#include "app/backup_manifest.h"
#include "base/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using namespace sluice;

void check_error(const Error& error) {
    SLUICE_ASSERT(error.blame == Blame::kCaller);
    SLUICE_ASSERT(std::ranges::all_of(error.message, is_printable_ascii));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto manifest = app::parse_manifest({reinterpret_cast<const char*>(data), size});
    if (!manifest.ok()) {
        check_error(manifest.error());
        return 0;
    }
    SLUICE_ASSERT(!manifest->files.empty() && manifest->files.size() <= app::kept_files().size());
    for (const app::BackupFile& file : manifest->files) {
        SLUICE_ASSERT(app::find_kept_file(file.name) != nullptr);
        SLUICE_ASSERT(std::ranges::count(manifest->files, file.name, &app::BackupFile::name) == 1);
    }
    const std::string text = app::render_manifest(*manifest);
    const auto again = app::parse_manifest(text);
    SLUICE_ASSERT(again.ok() && app::render_manifest(*again) == text);
    return 0;
}
