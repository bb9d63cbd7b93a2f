// The case files under tests/cases, and the plain forms in which they are compared.
//
// A case is JSON: "why", then what happens and what is expected. "request" holds the fields of a
// search that differ from the usual one; an upstream's answer is either the name of a "fixture" or
// a "response" with "status", "headers" and a JSON "body" or a "text".
#pragma once

#include "base/json.h"
#include "io/http_client.h"
#include "web/blame.h"
#include "web/types.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::web::testing {

inline constexpr std::string_view kUsualQuery = "stoneware glaze chemistry";
inline constexpr std::string_view kUsualSecret = "secret-key-9f3b7d1c5a";

ProviderKey usual_key();
SearchRequest usual_request();
// 2026-11-30T12:00:00Z
WallTime usual_now();

std::string read_file(const std::string& path);
// Paths of the *.json files right inside `folder`, sorted.
std::vector<std::string> json_files(const std::string& folder);

// A JSON document that owns its reader, so that several can be held at once. Throws on bad JSON.
class Document {
 public:
    explicit Document(const std::string& text);
    const JsonValue& root() const { return root_; }

 private:
    JsonReader reader_;
    JsonValue root_;
};

// One form for equal values: members by name, no white space.
std::string canonical(const JsonValue& value);
std::string canonical(const std::string& json);

// Throw on members that they do not know, so that a misspelt one cannot pass for an expectation.
SearchRequest read_request(const JsonValue& request);
io::ClientResponse read_response(const JsonValue& response);
WallTime read_time(std::string_view text);
// The "response" of a case, or the "fixture" of the provider whose folder that is.
io::ClientResponse read_answer(const JsonValue& root, const std::string& folder);

std::string_view name_of(Effect effect);
std::string_view name_of(Reach reach);
// {"verdict": {...}} or {"answer": {...}} as the case files have it.
std::string describe(const Judgement& judgement);

}  // namespace sluice::web::testing
