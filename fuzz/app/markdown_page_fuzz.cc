// Any bytes as a Markdown file, whose first line may be its path. A page that comes of it keeps to
// every limit, and comes of it again.
#include "app/page_source.h"
#include "base/result.h"
#include "base/text.h"
#include "titles/slug.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sluice;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::string_view path = bytes.substr(0, std::min(bytes.find('\n'), bytes.size()));
    for (const std::string_view text : {bytes, bytes.substr(path.size())}) {
        const auto page = app::parse_markdown_page(text, path);
        if (!page.ok()) {
            SLUICE_ASSERT(page.error().code == Code::kInvalidRequest);
            continue;
        }
        SLUICE_ASSERT(is_valid_utf8(page->title) && !has_control_characters(page->title));
        SLUICE_ASSERT(page->slug.empty() || titles::is_slug(page->slug));
        SLUICE_ASSERT(page->body.size() <= text.size());
        SLUICE_ASSERT(app::parse_markdown_page(text, path)->title == page->title);
    }
    return 0;
}
