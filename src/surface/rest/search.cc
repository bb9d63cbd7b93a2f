#include "surface/rest/search.h"

#include "base/json.h"
#include "base/text.h"
#include "surface/common/cache_status.h"
#include "surface/common/errors.h"
#include "surface/common/responses.h"
#include "surface/rest/constraints.h"
#include "surface/rest/explain.h"
#include "surface/rest/search_request.h"
#include "surface/rest/spend_json.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::surface {

namespace {

// A thread keeps no more for the next answer that it renders.
constexpr std::size_t kMaxScratchBytes = std::size_t{64} * 1024;

struct RequestFacts {
    RequestContext context;
    bool trace = false;
};

double elapsed_ms(const RequestContext& context, Instant now) {
    const auto micros =
        std::chrono::duration_cast<std::chrono::microseconds>(now - context.started);
    return static_cast<double>(micros.count()) / 1000.0;
}

void write_attempts(JsonWriter& json, const std::vector<web::Attempt>& attempts) {
    json.key("attempts").begin_array();
    for (const web::Attempt& attempt : attempts) {
        json.begin_object();
        json.field("provider", attempt.provider);
        json.key("key_id");
        if (attempt.key_id.empty()) {
            json.null();
        } else {
            json.value(attempt.key_id);
        }
        if (!attempt.egress.empty()) {
            json.field("egress", attempt.egress);
        }
        json.field("outcome", to_string(attempt.outcome));
        if (attempt.blame) {
            json.field("blame", to_string(*attempt.blame));
        }
        if (attempt.status != 0) {
            json.field("status", attempt.status);
        }
        json.field("latency_ms", attempt.latency.count());
        if (attempt.waited > Millis::zero()) {
            json.field("waited_ms", attempt.waited.count());
        }
        if (attempt.cost) {
            json.field("units", attempt.cost->units);
            json.field("cost_usd", to_usd(attempt.cost->micro_usd));
        }
        if (!attempt.detail.empty()) {
            json.field("detail", attempt.detail);
        }
        json.end_object();
    }
    json.end_array();
}

// Of a merged answer only: who found the page, and at which place.
void write_origins(JsonWriter& json, const std::vector<HitOrigin>& origins) {
    if (origins.empty()) {
        return;
    }
    json.key("origins").begin_array();
    for (const HitOrigin& origin : origins) {
        json.begin_object();
        json.field("provider", origin.provider);
        json.field("rank", origin.rank);
        json.end_object();
    }
    json.end_array();
}

// The lead holds what belongs to this request; the shared body follows it as one JSON text.
io::HttpResponse render(const web::Served& served, const RequestFacts& facts, Instant now,
                        web::Search& search) {
    io::HttpResponse response;
    response.headers.reserve(kJsonHeaders.size() + kCacheHeaderBytes);
    response.headers = kJsonHeaders;
    append_cache_headers(response.headers, served.note);
    response.lead.reserve(160);
    JsonWriter json(response.lead);
    json.begin_object();
    json.field("request_id", facts.context.id.text());
    json.field("cached", served.cached);
    json.field("stale", served.stale);
    if (served.note.from_past) {
        json.field("age_s", std::chrono::floor<std::chrono::seconds>(served.note.age).count());
    }
    if (served.degraded) {
        json.field("degraded", true);
    }
    json.field("elapsed_ms", elapsed_ms(facts.context, now));
    if (facts.trace) {
        json.field("queued_ms", served.queued.count());
        write_attempts(json, served.attempts);
    }
    json.end_object();
    response.lead.back() = ',';  // in place of the brace that closes it
    response.body = search.body_of(*served.answer, web::Door::kRest, render_shared);
    response.was_paid = !served.cached;
    return response;
}

io::HttpResponse render(const web::Failure& failure, const RequestFacts& facts) {
    std::string attempts;
    if (facts.trace) {
        JsonWriter json(attempts);
        json.begin_object();
        json.field("queued_ms", failure.queued.count());
        write_attempts(json, failure.attempts);
        json.end_object();
        // Without its braces it is a further member of the problem.
        attempts.front() = ',';
        attempts.pop_back();
    }
    io::HttpResponse response = problem(failure.error, facts.context.id, attempts);
    append_cache_headers(response.headers, failure.note);
    return response;
}

io::HttpResponse render(const web::SearchReply& reply, const RequestFacts& facts, Instant now,
                        web::Search& search) {
    if (const auto* served = std::get_if<web::Served>(&reply)) {
        return render(*served, facts, now, search);
    }
    return render(std::get<web::Failure>(reply), facts);
}

Task<io::HttpResponse> finish(Task<web::SearchReply> work, RequestFacts facts, const Clock& clock,
                              web::Search& search) {
    const web::SearchReply reply = co_await std::move(work);
    co_return render(reply, facts, clock.now(), search);
}

Task<io::HttpResponse> finish_explaining(Task<web::Explanation> work, RequestId id) {
    const web::Explanation explanation = co_await std::move(work);
    co_return render_explanation(explanation, id);
}

// Nothing when the client takes JSON.
std::optional<Error> check_accept(const io::HttpRequest& request) {
    const auto accept = request.header("Accept");
    if (!accept) {
        return std::nullopt;
    }
    for (std::string_view range : split_list(*accept)) {
        const std::string_view type = trim(range.substr(0, range.find(';')));
        if (type == "*/*" || equals_ignoring_case(type, "application/*") ||
            equals_ignoring_case(type, "application/json")) {
            return std::nullopt;
        }
    }
    return Error{Code::kNotAcceptable,
                 Blame::kCaller,
                 "answers are application/json; send that in Accept, or leave Accept out",
                 {}};
}

}  // namespace

SearchDoor::SearchDoor(web::Search& search, access::Access& access, const Clock& clock)
    : search_(search), access_(access), clock_(clock) {}

io::HttpReply SearchDoor::post(const io::HttpRequest& request) {
    if (auto error = check_json_body(request)) {
        return problem(*error, request.context.id);
    }
    return serve(parse_search_json(request.body), request);
}

io::HttpReply SearchDoor::get(const io::HttpRequest& request) {
    return serve(parse_search_query(request.query), request);
}

io::HttpReply SearchDoor::serve(Result<web::SearchRequest> parsed, const io::HttpRequest& request) {
    if (auto error = check_accept(request)) {
        return problem(*error, request.context.id);
    }
    if (!parsed.ok()) {
        return problem(parsed.error(), request.context.id);
    }
    if (parsed->explain) {
        return explain(*std::move(parsed), request);
    }
    const RequestFacts facts{request.context, parsed->trace};
    web::SearchStart start =
        search_.answer(std::move(*parsed), access_.credentials_of(request), request.context);
    if (const auto* reply = std::get_if<web::SearchReply>(&start)) {
        return render(*reply, facts, clock_.now(), search_);
    }
    return finish(std::get<Task<web::SearchReply>>(std::move(start)), facts, clock_, search_);
}

io::HttpReply SearchDoor::explain(web::SearchRequest parsed, const io::HttpRequest& request) {
    auto start = search_.explain(std::move(parsed), access_.credentials_of(request));
    if (const auto* error = std::get_if<Error>(&start)) {
        return problem(*error, request.context.id);
    }
    return finish_explaining(std::get<Task<web::Explanation>>(std::move(start)),
                             request.context.id);
}

std::string render_shared(const web::SearchAnswer& answer) {
    // Of this thread, and big enough after a while, so that what is kept is made in one piece.
    static thread_local std::string out;
    out.clear();
    JsonWriter json(out);
    json.begin_object();
    json.field("object", "search");
    json.field("query", answer.query());
    json.field("lane", to_string(answer.lane()));
    json.field("provider", answer.provider());
    if (answer.answer()) {
        json.field("answer", *answer.answer());
    }
    json.key("results").begin_array();
    for (const Hit& hit : answer.hits()) {
        json.begin_object();
        json.field("url", hit.url);
        json.field("title", hit.title);
        json.field("snippet", hit.snippet);
        json.field("rank", hit.rank);
        json.field("provider", hit.provider);
        json.field("site", hit.site);
        if (hit.score) {
            json.field("score", *hit.score);
        }
        if (hit.published_at) {
            json.field("published_at", *hit.published_at);
        }
        if (!hit.content.empty()) {
            json.field("content", hit.content);
        }
        write_origins(json, hit.origins);
        json.end_object();
    }
    json.end_array();
    write_constraints(json, answer.constraints());
    json.end_object();
    out += '\n';
    std::string body(out, 1);  // without the brace that the lead has opened already
    if (out.capacity() > kMaxScratchBytes) {
        out = std::string();
    }
    return body;
}

}  // namespace sluice::surface
