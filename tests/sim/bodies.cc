#include "sim/bodies.h"

#include "base/json.h"
#include "base/result.h"

namespace sluice::sim {

namespace {

// What the members of one result are called.
struct Names {
    std::string_view url;
    std::string_view title;
    std::string_view snippet;
};

void write_hits(JsonWriter& json, std::string_view list, const std::vector<BodyHit>& hits,
                const Names& names) {
    json.key(list).begin_array();
    for (const BodyHit& hit : hits) {
        json.begin_object()
            .field(names.url, hit.url)
            .field(names.title, hit.title)
            .field(names.snippet, hit.snippet)
            .end_object();
    }
    json.end_array();
}

void write_serper(JsonWriter& json, const Body& body) {
    json.begin_object().key("searchParameters").begin_object().field("type", "search").end_object();
    if (!body.answer.empty()) {
        json.key("answerBox").begin_object().field("answer", body.answer).end_object();
    }
    write_hits(json, body.topic == web::Topic::kNews ? "news" : "organic", body.hits,
               {"link", "title", "snippet"});
    json.field("credits", body.charge.units).end_object();
}

void write_tavily(JsonWriter& json, const Body& body) {
    json.begin_object().field("query", "q");
    if (!body.answer.empty()) {
        json.field("answer", body.answer);
    }
    write_hits(json, "results", body.hits, {"url", "title", "content"});
    json.key("usage").begin_object().field("credits", body.charge.units).end_object().end_object();
}

void write_exa(JsonWriter& json, const Body& body) {
    json.begin_object().field("requestId", "r");
    write_hits(json, "results", body.hits, {"url", "title", "summary"});
    if (!body.answer.empty()) {
        json.key("output").begin_object().field("content", body.answer).end_object();
    }
    json.key("costDollars")
        .begin_object()
        .field("total", static_cast<double>(body.charge.micro_usd) / 1'000'000)
        .end_object()
        .end_object();
}

void write_brave(JsonWriter& json, const Body& body) {
    const Names names{"url", "title", "description"};
    if (body.topic == web::Topic::kNews) {
        json.begin_object().field("type", "news");
        write_hits(json, "results", body.hits, names);
        json.end_object();
        return;
    }
    json.begin_object().field("type", "search");
    json.key("web").begin_object().field("type", "search");
    write_hits(json, "results", body.hits, names);
    json.end_object().end_object();
}

void write_google(JsonWriter& json, const Body& body) {
    json.begin_object().field("kind", "customsearch#search");
    json.key("searchInformation").begin_object().field("totalResults", "128000").end_object();
    if (!body.hits.empty()) {
        write_hits(json, "items", body.hits, {"link", "title", "snippet"});
    }
    json.end_object();
}

}  // namespace

std::string body_of(std::string_view provider, const Body& body) {
    std::string text;
    JsonWriter json(text);
    if (provider == "serper") {
        write_serper(json, body);
    } else if (provider == "tavily") {
        write_tavily(json, body);
    } else if (provider == "exa") {
        write_exa(json, body);
    } else if (provider == "brave") {
        write_brave(json, body);
    } else {
        SLUICE_ASSERT(provider == "google_cse" && "a provider whose answers nobody wrote down");
        write_google(json, body);
    }
    return text;
}

}  // namespace sluice::sim
