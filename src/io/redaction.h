// Removes the secrets of one request from texts that may repeat them.
#pragma once

#include "base/secret.h"
#include "io/exchange.h"
#include "io/http_client.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {

// Knows each secret of a request as it is sent, without its scheme ("Bearer"), percent-encoded and
// escaped for JSON, in any case of its letters. What is shorter than kShortestSecret is no secret:
// removing every "key" from a text would only spoil it.
class Redaction {
 public:
    static constexpr std::size_t kShortestSecret = 6;
    static constexpr std::string_view kMark = "[removed]";

    explicit Redaction(const ClientRequest& request);

    void clean(std::string& text) const;
    // Everything of it that came over the wire or goes into a file.
    void clean(Exchange& exchange) const;

 private:
    void add(std::string_view secret);
    std::vector<Secret> needles_;  // lower case, the longest first
};

}  // namespace sluice::io
