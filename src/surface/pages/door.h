// The pages for people: the list of pages, title search, a page, themes, and what they load. All of
// it is open to everybody, as a web site is, and works without scripts.
#pragma once

#include "access/access.h"
#include "base/secret.h"
#include "base/task.h"
#include "io/http_message.h"
#include "surface/common/router.h"
#include "surface/pages/assets.h"
#include "surface/pages/body_renderer.h"
#include "surface/pages/pin_gate.h"
#include "surface/pages/render.h"
#include "titles/page_store.h"
#include "titles/search.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::surface {

inline constexpr std::string_view kShownPagePath = "/p/{slug}";

// Any thread. Refusals are HTML with the status that surface/common/errors.h has for their code.
class PagesDoor {
 public:
    static constexpr std::size_t kListed = 50;           // pages in a part of the ledger
    static constexpr std::size_t kMaxFormBytes = 1'024;  // of a form with a PIN

    // References outlive it.
    PagesDoor(titles::TitleSearch& search, titles::PageStore& pages, BodyRenderer& bodies,
              PinGate& pins, const access::Access& access);

    io::HttpReply ledger(const io::HttpRequest& request);
    // 404 with a `format`: that is a protocol for programs. A search and a theme are nothing that a
    // page can load as a part of itself: 404, and it costs nobody anything.
    io::HttpReply search(const io::HttpRequest& request);
    io::HttpReply page(const io::HttpRequest& request);
    // A form with the PIN of a claimed page; the page is the answer to the right one.
    io::HttpReply open_page(const io::HttpRequest& request);
    io::HttpReply theme(const io::HttpRequest& request);
    io::HttpReply asset(const io::HttpRequest& request);
    // What no route is for, as a page.
    io::HttpResponse refusal(const io::HttpRequest& request, const Error& error) const;

 private:
    struct PinTry {
        std::string client;  // io::bucket_of()
        Secret pin;
    };

    Task<io::HttpResponse> show_ledger(titles::PageOrder order, std::size_t number, Frame frame);
    Task<io::HttpResponse> show_search(titles::TitleRequest search, Frame frame);
    Task<io::HttpResponse> show_page(std::string slug, std::optional<PinTry> pin, Frame frame);
    Task<io::HttpResponse> open_claimed(titles::PageText page, std::optional<PinTry> pin,
                                        Frame frame);
    Task<io::HttpResponse> rendered(titles::PageText page, Frame frame);

    titles::TitleSearch& search_;
    titles::PageStore& pages_;
    BodyRenderer& bodies_;
    PinGate& pins_;
    const access::Access& access_;
    Assets assets_;
    PageRenderer renderer_{assets_};
};

// The routes of this door, which outlives them.
std::vector<Route> pages_routes(PagesDoor& door);

}  // namespace sluice::surface
