// What holds for every answer of every provider, whatever its bytes: the body is the fuzzer's, and
// is judged under the statuses that providers have rows for.
#pragma once

#include "base/text.h"
#include "web/blame.h"
#include "web/detail.h"
#include "web/plain_text.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::web {

inline constexpr std::string_view kFuzzSecret = "secret-key-9f3b7d1c5a";

inline void check_answer(const ProviderAnswer& answer, const SearchRequest& request) {
    SLUICE_ASSERT(answer.hits.size() <= request.max_results);
    for (const Hit& hit : answer.hits) {
        SLUICE_ASSERT(usable_url(hit.url) == hit.url);
        SLUICE_ASSERT(hit.title.size() <= kMaxTitleBytes && is_valid_utf8(hit.title));
        SLUICE_ASSERT(hit.snippet.size() <= kMaxSnippetBytes && is_valid_utf8(hit.snippet));
        SLUICE_ASSERT(hit.content.size() <= kMaxContentBytes && is_valid_utf8(hit.content));
        SLUICE_ASSERT(!hit.published_at || hit.published_at->size() == 20);
    }
    if (answer.answer) {
        SLUICE_ASSERT(answer.answer->size() <= kMaxAnswerBytes && is_valid_utf8(*answer.answer));
    }
}

inline void check_verdict(const Verdict& verdict, int status) {
    SLUICE_ASSERT(verdict.detail.size() <= kMaxDetailBytes && is_valid_utf8(verdict.detail));
    SLUICE_ASSERT(!contains_ignoring_case(verdict.detail, kFuzzSecret));
    SLUICE_ASSERT(!verdict.penalty || *verdict.penalty > Millis(0));
    if (status == 429) {
        SLUICE_ASSERT(verdict.effect == Effect::kCool || verdict.effect == Effect::kExhaust);
    }
    if (status >= 500) {
        SLUICE_ASSERT(verdict.effect == Effect::kProvider);
    }
}

// One run of the fuzzer.
inline void judge_everything(const Provider& provider, std::string_view body) {
    static JsonReader reader;
    SearchRequest request;
    request.query = QueryText("glaze");
    request.want_answer = true;
    request.want_content = true;
    const ProviderKey key{"k1", Secret(std::string(kFuzzSecret))};
    const WallTime now = std::chrono::sys_days(std::chrono::year(2026) / 11 / 30);

    io::ClientResponse response;
    response.body = std::string(body);
    for (const Topic topic : {Topic::kGeneral, Topic::kNews}) {
        request.topic = topic;
        for (const int status : {200, 202, 302, 400, 401, 402, 403, 404, 422, 429, 432, 433, 500}) {
            response.status = status;
            const Judgement judgement = judge({provider, request, key}, response, reader, now);
            if (const auto* answer = std::get_if<ProviderAnswer>(&judgement)) {
                SLUICE_ASSERT(status / 100 == 2);
                check_answer(*answer, request);
            } else {
                check_verdict(std::get<Verdict>(judgement), status);
            }
        }
    }
}

}  // namespace sluice::web
