// One exchange with an upstream as a file: what was asked, and what came back or what went wrong.
// Readable JSON, which people may write by hand; docs/record-and-replay.md describes it. No file
// says how a caller proved who he is.
#pragma once

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "io/http_client.h"
#include "io/http_message.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::io {

// What a recording is found by, apart from its headers.
struct ExchangeRequest {
    std::string upstream;  // "serper"
    std::string base_url;  // for readers; without credentials
    Method method = Method::kGet;
    std::string target;  // what follows the base URL: "/search?q=a"
    std::vector<std::pair<std::string, std::string>> headers = {};
    std::string body = {};
    std::vector<std::string> removed = {};  // what was secret: "header X-API-KEY", "parameter key"
};

struct Exchange {
    ExchangeRequest request;
    Result<ClientResponse> outcome;
    Millis latency{};
    std::string recorded_at = {};  // RFC 3339, or empty
};

// The request as it may be written down: nothing of secret_headers and secret_query, no credentials
// in the base URL. What the rest may repeat of a secret is Redaction's to remove.
ExchangeRequest without_secrets(const ClientRequest& request);

// Reads and writes such files. Keeps buffers; not thread-safe.
class ExchangeFormat {
 public:
    // Of a file. Answers are bounded by the client that received them, and escaping makes them
    // larger.
    static constexpr std::size_t kMaxFileBytes = 4 * HttpClientConfig::kLargestResponseBytes;

    ExchangeFormat();

    // Bodies that are JSON become part of the file, others text, or hexadecimal where they are not
    // UTF-8.
    std::string write(const Exchange& exchange);

    // `upstreams` are the names that there are. kInvalidRequest; the message begins with the field
    // ("response.status: expected ...") and quotes nothing but names.
    Result<Exchange> read(std::string_view bytes, std::span<const std::string_view> upstreams);

    // What equal requests have in common: upstream, method, path, the parameters in any order, and
    // the body, with the members of objects in any order where it is JSON. Headers and the base URL
    // have no part in it.
    std::string match_key(const ExchangeRequest& request);

 private:
    JsonReader files_;
    JsonReader bodies_;
};

// For messages, without what was searched for: "POST serper /search".
std::string operation_of(const ExchangeRequest& request);

}  // namespace sluice::io
