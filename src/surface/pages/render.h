// Pages as HTML. Pure functions of what they show; escaping is the templates' (templates/).
#pragma once

#include "surface/pages/assets.h"
#include "surface/pages/templates.h"
#include "surface/pages/theme.h"
#include "titles/page_store.h"
#include "titles/search.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::surface {

// What all pages of one request have in common.
struct Frame {
    Theme theme = Theme::kAuto;
    std::string here = "/";  // path and query: where a change of the theme leads back to
    bool is_indexed = true;  // by web search engines
};

struct Ledger {
    titles::PageList list;
    titles::PageOrder order = titles::PageOrder::kNewest;
    std::size_t number = 1;  // of this part
    std::size_t last = 1;
};

// A page that says one thing.
struct Notice {
    std::string heading;
    std::string text;
    std::optional<std::chrono::seconds> wait = {};  // counted down
    std::string again = {};                         // where the same can be tried; empty: nowhere
    std::string query = {};                         // stays in the search form
};

// Whether anything is written on a page.
enum class PageBody : bool { kEmpty, kText };

// A page of somebody's, but for its body: that stands between.
struct PageHtml {
    std::string before_body;
    std::string after_body;
};

enum class PinForm : bool { kFresh, kWrong };

// Immutable; any thread. `assets` outlives it.
class PageRenderer {
 public:
    explicit PageRenderer(const Assets& assets) : assets_(assets) {}

    std::string ledger(const Ledger& ledger, const Frame& frame) const;
    // Of every outcome but a blank query, which has no page.
    std::string search(const titles::TitleAnswer& answer, const Frame& frame) const;
    PageHtml page(const titles::PageRecord& page, PageBody body, const Frame& frame) const;
    std::string pin_form(std::string_view slug, PinForm state, const Frame& frame) const;
    std::string notice(const Notice& notice, const Frame& frame) const;

 private:
    struct Layout;

    std::string results(const titles::TitleAnswer& answer, const Frame& frame) const;
    std::string guidance(const titles::TitleAnswer& answer, const Frame& frame) const;

    const Assets& assets_;
    const Templates templates_;
};

// Where a page is shown: "/p/..." with its slug percent-encoded.
std::string path_of_page(std::string_view slug);

}  // namespace sluice::surface
