#include "surface/pages/responses.h"

#include "surface/common/errors.h"
#include "surface/common/responses.h"
#include "surface/common/title_answers.h"

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

namespace sluice::surface {

namespace {

constexpr std::string_view kHtmlHeaders =
    "Content-Type: text/html; charset=utf-8\r\n"
    "Content-Security-Policy: default-src 'none'; style-src 'self'; script-src 'self'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'\r\n";
constexpr std::string_view kCheckedHeaders =
    "Cache-Control: private, no-cache\r\nReferrer-Policy: no-referrer\r\n";

io::HttpResponse redirect_to_ledger() {
    io::HttpResponse response;
    response.status = 303;
    response.headers.append("Location: /\r\n").append(kPrivateHeaders);
    return response;
}

Notice notice_of(const Error& error, const Frame& frame) {
    Notice out;
    if (error.code == Code::kRateLimited) {
        out = {"Too many tries", "Wait a little before you try again."};
    } else if (error.blame == Blame::kCaller) {
        out = {"That can't be read", "The browser sent something that this page does not take."};
    } else if (error_row(error.code).status == 503) {
        out = {"Not possible right now", "The page can't be shown right now."};
    } else {
        out = {"Something went wrong", "That is our fault; trying again may do."};
    }
    if (error.retry_after) {
        out.wait = std::chrono::ceil<std::chrono::seconds>(*error.retry_after);
    }
    if (is_local_page(frame.here)) {
        out.again = frame.here;
    }
    return out;
}

}  // namespace

io::HttpResponse html_response(int status, std::string html, Keeping keeping, const Frame& frame) {
    io::HttpResponse response;
    response.status = status;
    response.headers = kHtmlHeaders;
    response.headers += keeping == Keeping::kNever ? kPrivateHeaders : kCheckedHeaders;
    if (keeping == Keeping::kChecked && !frame.is_indexed) {
        response.headers += "X-Robots-Tag: noindex\r\n";
    }
    response.lead = std::move(html);
    return response;
}

io::HttpResponse search_response(const titles::TitleAnswer& answer, const PageRenderer& renderer,
                                 const Frame& frame) {
    const bool is_rejected = answer.outcome == titles::TitleOutcome::kRejected;
    if (is_rejected && answer.query.verdict == titles::QueryVerdict::kBlank) {
        return redirect_to_ledger();
    }
    const std::optional<Error> error = error_of(answer);
    // Too little to search for yet is nobody's mistake.
    const bool is_unfinished =
        is_rejected && answer.query.verdict == titles::QueryVerdict::kTooShort;
    const int status = error && !is_unfinished ? error_row(error->code).status : 200;
    io::HttpResponse response =
        html_response(status, renderer.search(answer, frame), Keeping::kNever, frame);
    if (error) {
        append_retry_after(response.headers, *error);
    }
    append_rate_limit(response.headers, answer);
    return response;
}

io::HttpResponse refusal_response(const Error& error, const PageRenderer& renderer, Frame frame) {
    if (error.code == Code::kNotFound) {
        return not_found_response(renderer, std::move(frame));
    }
    frame.is_indexed = false;
    io::HttpResponse response =
        html_response(error_row(error.code).status, renderer.notice(notice_of(error, frame), frame),
                      Keeping::kNever, frame);
    append_retry_after(response.headers, error);
    return response;
}

io::HttpResponse not_found_response(const PageRenderer& renderer, Frame frame) {
    frame.is_indexed = false;
    const Notice notice{"There is no such page", "It may have been put away, or never been here."};
    return html_response(error_row(Code::kNotFound).status, renderer.notice(notice, frame),
                         Keeping::kNever, frame);
}

io::HttpResponse claimed_response(const PageRenderer& renderer, Frame frame) {
    frame.is_indexed = false;
    const Notice notice{"This page is claimed", "Whoever claimed it shows it to nobody."};
    return html_response(error_row(Code::kNotFound).status, renderer.notice(notice, frame),
                         Keeping::kNever, frame);
}

}  // namespace sluice::surface
