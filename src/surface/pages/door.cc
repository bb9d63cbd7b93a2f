#include "surface/pages/door.h"

#include "base/text.h"
#include "surface/common/errors.h"
#include "surface/common/query_string.h"
#include "surface/common/title_answers.h"
#include "surface/pages/part_of_page.h"
#include "surface/pages/responses.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace sluice::surface {

namespace {

Frame frame_of(const io::HttpRequest& request) {
    return {theme_of(request), std::string(request.target)};
}

Frame unindexed(Frame frame) {
    frame.is_indexed = false;
    return frame;
}

// "2" of `page`; 1 for whatever is no number from 1.
std::size_t part_number(std::string_view query) {
    const std::string text = first_field(query, "page").value_or("");
    std::size_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [after, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && after == end && number > 0 ? number : 1;
}

std::optional<std::string> slug_in(const io::HttpRequest& request) {
    return percent_decode(path_parameter(kShownPagePath, request.path).value_or(""),
                          PlusIsSpace::kNo);
}

bool is_form(const io::HttpRequest& request) {
    const std::string_view type = request.header("Content-Type").value_or("");
    return equals_ignoring_case(trim(type.substr(0, type.find(';'))),
                                "application/x-www-form-urlencoded");
}

Error busy() {
    return Error{Code::kOverloaded, Blame::kGateway, "too much at once", Millis{1'000}};
}

}  // namespace

PagesDoor::PagesDoor(titles::TitleSearch& search, titles::PageStore& pages, BodyRenderer& bodies,
                     PinGate& pins, const access::Access& access)
    : search_(search), pages_(pages), bodies_(bodies), pins_(pins), access_(access) {}

io::HttpReply PagesDoor::ledger(const io::HttpRequest& request) {
    const std::string sort = first_field(request.query, "sort").value_or("");
    const auto order = titles::parse_page_order(sort).value_or(titles::PageOrder::kNewest);
    return show_ledger(order, part_number(request.query), frame_of(request));
}

Task<io::HttpResponse> PagesDoor::show_ledger(titles::PageOrder order, std::size_t number,
                                              Frame frame) {
    titles::PageQuery query;
    query.order = order;
    query.limit = kListed;
    query.offset = (std::min(number, titles::kMaxPages) - 1) * kListed;
    Result<titles::PageList> list = co_await pages_.list(query);
    const auto last_of = [](std::size_t total) {
        return std::max<std::size_t>((total + kListed - 1) / kListed, 1);
    };
    if (list.ok() && list->pages.empty() && list->total > 0) {
        number = last_of(list->total);  // past the end: its last part
        query.offset = (number - 1) * kListed;
        list = co_await pages_.list(query);
    }
    if (!list.ok()) {
        co_return refusal_response(list.error(), renderer_, std::move(frame));
    }
    const std::size_t last = last_of(list->total);
    const Ledger ledger{*std::move(list), order, std::min(number, last), last};
    co_return html_response(200, renderer_.ledger(ledger, frame), Keeping::kChecked, frame);
}

io::HttpReply PagesDoor::search(const io::HttpRequest& request) {
    Frame frame = unindexed(frame_of(request));
    if (first_field(request.query, "format") || is_part_of_a_page(request)) {
        return not_found_response(renderer_, std::move(frame));
    }
    return show_search(title_request(request, titles::BudgetKind::kPage), std::move(frame));
}

Task<io::HttpResponse> PagesDoor::show_search(titles::TitleRequest search, Frame frame) {
    const titles::TitleAnswer answer = co_await search_.answer(std::move(search));
    co_return search_response(answer, renderer_, frame);
}

io::HttpReply PagesDoor::page(const io::HttpRequest& request) {
    Frame frame = frame_of(request);
    std::optional<std::string> slug = slug_in(request);
    if (!slug) {
        return not_found_response(renderer_, std::move(frame));
    }
    return show_page(*std::move(slug), std::nullopt, std::move(frame));
}

Task<io::HttpResponse> PagesDoor::show_page(std::string slug, std::optional<PinTry> pin,
                                            Frame frame) {
    Result<titles::PageText> page = co_await pages_.text(std::move(slug));
    if (!page.ok()) {
        co_return refusal_response(page.error(), renderer_, std::move(frame));
    }
    const titles::PageRecord& record = page->record;
    if (record.lifecycle == titles::Lifecycle::kArchived) {
        co_return not_found_response(renderer_, std::move(frame));
    }
    frame.is_indexed = record.is_candidate();
    if (record.is_claimed) {
        co_return co_await open_claimed(*std::move(page), std::move(pin), std::move(frame));
    }
    co_return co_await rendered(*std::move(page), std::move(frame));
}

Task<io::HttpResponse> PagesDoor::open_claimed(titles::PageText page, std::optional<PinTry> pin,
                                               Frame frame) {
    const titles::PageRecord& record = page.record;
    Result<std::string> hash = co_await pages_.pin_hash(record.id);
    if (!hash.ok()) {
        co_return refusal_response(hash.error(), renderer_, std::move(frame));
    }
    if (hash->empty()) {
        co_return claimed_response(renderer_, std::move(frame));
    }
    if (!pin) {
        co_return html_response(200, renderer_.pin_form(record.slug, PinForm::kFresh, frame),
                                Keeping::kNever, frame);
    }
    const PinVerdict verdict = co_await pins_.open(std::move(pin->client), record.id,
                                                   *std::move(hash), std::move(pin->pin));
    switch (verdict.outcome) {
        case PinOutcome::kRight:
            co_return co_await rendered(std::move(page), std::move(frame));
        case PinOutcome::kWrong:
            co_return html_response(error_row(Code::kForbidden).status,
                                    renderer_.pin_form(record.slug, PinForm::kWrong, frame),
                                    Keeping::kNever, frame);
        case PinOutcome::kLimited:
        case PinOutcome::kPageLimited:
            co_return refusal_response(
                Error{Code::kRateLimited, Blame::kCaller, {}, verdict.retry_after}, renderer_,
                std::move(frame));
        case PinOutcome::kBusy:
            break;
    }
    co_return refusal_response(busy(), renderer_, std::move(frame));
}

io::HttpReply PagesDoor::open_page(const io::HttpRequest& request) {
    Frame frame = unindexed(frame_of(request));
    std::optional<std::string> slug = slug_in(request);
    if (!slug) {
        return not_found_response(renderer_, std::move(frame));
    }
    if (!is_form(request)) {
        return refusal_response(Error{Code::kUnsupportedMediaType, Blame::kCaller, {}, {}},
                                renderer_, std::move(frame));
    }
    if (request.body.size() > kMaxFormBytes) {
        return refusal_response(Error{Code::kPayloadTooLarge, Blame::kCaller, {}, {}}, renderer_,
                                std::move(frame));
    }
    PinTry pin{io::bucket_of(access_.credentials_of(request).client),
               Secret(first_field(request.body, "pin").value_or(""))};
    return show_page(*std::move(slug), std::move(pin), std::move(frame));
}

Task<io::HttpResponse> PagesDoor::rendered(titles::PageText page, Frame frame) {
    const Keeping keeping = page.record.is_claimed ? Keeping::kNever : Keeping::kChecked;
    const BodyKey key{page.record.id, page.record.version, page.record.updated_at};
    Result<BodyHtml> body = co_await bodies_.html(key, std::move(page.body));
    if (!body.ok()) {
        co_return refusal_response(body.error(), renderer_, std::move(frame));
    }
    const PageBody kind = (*body)->size() > 0 ? PageBody::kText : PageBody::kEmpty;
    PageHtml around = renderer_.page(page.record, kind, frame);
    io::HttpResponse response = html_response(200, std::move(around.before_body), keeping, frame);
    response.body = *std::move(body);
    response.tail = std::move(around.after_body);
    co_return response;
}

io::HttpReply PagesDoor::theme(const io::HttpRequest& request) {
    const auto word = path_parameter(kThemePath, request.path).value_or("");
    const std::optional<Theme> theme = parse_theme(word);
    if (!theme || is_part_of_a_page(request)) {
        return not_found_response(renderer_, frame_of(request));
    }
    return theme_response(*theme, first_field(request.query, "back").value_or("/"));
}

io::HttpReply PagesDoor::asset(const io::HttpRequest& request) {
    if (auto response = assets_.get(request.path)) {
        return *std::move(response);
    }
    return not_found_response(renderer_, frame_of(request));
}

io::HttpResponse PagesDoor::refusal(const io::HttpRequest& request, const Error& error) const {
    return refusal_response(error, renderer_, frame_of(request));
}

std::vector<Route> pages_routes(PagesDoor& door) {
    using io::HttpRequest;
    using io::Method;
    Route open_page = {Method::kPost, std::string(kShownPagePath),
                       [&](const HttpRequest& r) { return door.open_page(r); }};
    open_page.takes_form = true;
    std::vector<Route> routes = {
        {Method::kGet, "/", [&](const HttpRequest& r) { return door.ledger(r); }},
        {Method::kGet, "/search", [&](const HttpRequest& r) { return door.search(r); }},
        {Method::kGet, std::string(kShownPagePath),
         [&](const HttpRequest& r) { return door.page(r); }},
        std::move(open_page),
        {Method::kGet, std::string(kThemePath),
         [&](const HttpRequest& r) { return door.theme(r); }},
        {Method::kGet, std::string(kAssetPath),
         [&](const HttpRequest& r) { return door.asset(r); }},
    };
    for (Route& route : routes) {
        route.is_page = true;
    }
    return routes;
}

}  // namespace sluice::surface
