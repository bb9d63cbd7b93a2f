#include "surface/pages/markdown.h"

#include "base/result.h"
#include "titles/body_bounds.h"

#include <algorithm>
#include <cmark.h>
#include <memory>

namespace sluice::surface {

namespace {

constexpr int kOptions = CMARK_OPT_VALIDATE_UTF8;  // safe unless it is told otherwise
constexpr int kLowestHeading = 6;

struct Freed {
    void operator()(cmark_node* node) const { cmark_node_free(node); }
    void operator()(cmark_iter* iterator) const { cmark_iter_free(iterator); }
    void operator()(char* text) const { cmark_get_default_mem_allocator()->free(text); }
};

void lower_headings(cmark_node* document) {
    const std::unique_ptr<cmark_iter, Freed> nodes(cmark_iter_new(document));
    for (cmark_event_type event = cmark_iter_next(nodes.get()); event != CMARK_EVENT_DONE;
         event = cmark_iter_next(nodes.get())) {
        cmark_node* const node = cmark_iter_get_node(nodes.get());
        if (event == CMARK_EVENT_ENTER && cmark_node_get_type(node) == CMARK_NODE_HEADING) {
            const int level = std::min(cmark_node_get_heading_level(node) + 1, kLowestHeading);
            cmark_node_set_heading_level(node, level);
        }
    }
}

// By the same library, which escapes it.
std::string as_typed(std::string_view text) {
    const std::unique_ptr<cmark_node, Freed> document(cmark_node_new(CMARK_NODE_DOCUMENT));
    SLUICE_ASSERT(document != nullptr);
    cmark_node* const block = cmark_node_new(CMARK_NODE_CODE_BLOCK);
    SLUICE_ASSERT(block != nullptr && cmark_node_append_child(document.get(), block) == 1);
    SLUICE_ASSERT(cmark_node_set_literal(block, std::string(text).c_str()) == 1);
    const std::unique_ptr<char, Freed> html(cmark_render_html(document.get(), kOptions));
    SLUICE_ASSERT(html != nullptr);
    return html.get();
}

}  // namespace

std::string markdown_to_html(std::string_view markdown) {
    if (titles::body_problem(markdown)) {
        return as_typed(markdown);
    }
    const std::unique_ptr<cmark_node, Freed> document(
        cmark_parse_document(markdown.data(), markdown.size(), kOptions));
    SLUICE_ASSERT(document != nullptr);
    lower_headings(document.get());
    const std::unique_ptr<char, Freed> html(cmark_render_html(document.get(), kOptions));
    SLUICE_ASSERT(html != nullptr);
    return html.get();
}

}  // namespace sluice::surface
