// Pages as answers: status, header fields and which page it is. The statuses are those of
// surface/common/errors.h. Pure; any thread.
#pragma once

#include "base/result.h"
#include "io/http_message.h"
#include "surface/pages/render.h"
#include "titles/search.h"

#include <cstdint>
#include <string>

namespace sluice::surface {

// Who may keep an answer: nobody (kPrivateHeaders); or the browser, which asks each time whether it
// is still so.
enum class Keeping : std::uint8_t { kNever, kChecked };

// With a policy under which nothing runs and nothing is loaded but our own files.
io::HttpResponse html_response(int status, std::string html, Keeping keeping, const Frame& frame);

// Every outcome of a title search. A blank query is sent to the list of pages.
io::HttpResponse search_response(const titles::TitleAnswer& answer, const PageRenderer& renderer,
                                 const Frame& frame);

// Says what went wrong in words for readers; the error's message stays here.
io::HttpResponse refusal_response(const Error& error, const PageRenderer& renderer, Frame frame);

io::HttpResponse not_found_response(const PageRenderer& renderer, Frame frame);
// Of a page that somebody claimed and gave no PIN.
io::HttpResponse claimed_response(const PageRenderer& renderer, Frame frame);

}  // namespace sluice::surface
