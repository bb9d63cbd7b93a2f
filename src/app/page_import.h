// Importing pages: all are checked before the first is written, then written in batches each of
// which is in whole or not at all.
#pragma once

#include "app/page_source.h"
#include "titles/page_store.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::app {

enum class OnBadPage : bool { kStop, kSkip };

struct ImportReport {
    titles::ImportCount count;  // of what is in the store now
    std::size_t pages = 0;      // that were read
    std::size_t refused = 0;    // of them
    bool interrupted = false;   // what was written until then is counted
    std::string error = {};     // why it ended early; empty: it did not
};

struct ImportProgress {
    bool is_checking = false;  // else it writes
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes = 0;  // in all
    std::size_t pages = 0;
};

// What an import tells and asks while it runs. Each may be empty.
struct ImportHooks {
    std::function<void(const ImportProgress&)> progress;
    std::function<void(std::string_view where, std::string_view message)> refused;
    std::function<bool()> is_interrupted;
};

// Writes a batch, as titles::PageStore::import().
using WriteBatch = std::function<Result<titles::ImportCount>(std::vector<titles::NewPage>)>;

// With kStop nothing is written when a page is refused before writing. One that the store refuses,
// since its slug is another page's, ends the import there; batches before it stay. With kSkip each
// is told and the rest is written. A page without id and slug gets the slug that its title has
// among those before it, so that the same source gives the same pages again; two pages of one id or
// one slug are a mistake. Blocks.
ImportReport import_pages(PageSource& source, OnBadPage on_bad, const WriteBatch& write,
                          const ImportHooks& hooks);

}  // namespace sluice::app
