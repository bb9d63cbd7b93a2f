// The body of a page as HTML.
#pragma once

#include <string>
#include <string_view>

namespace sluice::surface {

// CommonMark through cmark in its safe mode: raw HTML is left out, and addresses that run something
// (javascript:, vbscript:, file:, and data: but for images) are made empty. Headings begin at h2,
// since the page's title is its h1. Ill-formed UTF-8 becomes U+FFFD. A body that passes the bounds
// of titles/body_bounds.h, which a store may have from before there were any, is shown as it was
// typed. 1 MiB takes some tens of milliseconds, and half a second at worst: not for an event loop.
// Thread-safe.
std::string markdown_to_html(std::string_view markdown);

}  // namespace sluice::surface
