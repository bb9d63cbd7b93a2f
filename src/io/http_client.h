// HTTP out: the seam to every upstream. CurlHttpClient is the real one; tests script their own.
#pragma once

#include "base/clock.h"
#include "base/config_reader.h"
#include "base/result.h"
#include "base/secret.h"
#include "base/task.h"
#include "io/http_message.h"
#include "obs/log.h"
#include "obs/metrics.h"

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::io {

// A request to an upstream. The URL and what is secret never reach a log.
struct ClientRequest {
    Method method = Method::kGet;
    std::string url;                                           // http or https, absolute
    std::vector<std::pair<std::string, std::string>> headers;  // name, value
    std::vector<std::pair<std::string, Secret>> secret_headers;
    // Parameters that are added to the URL's query part when it is sent, and never stand in `url`:
    // for services that take their key there. Names need no encoding.
    std::vector<std::pair<std::string, Secret>> secret_query;
    std::string body;
    // Whom it is for, by the configured name, and how many bytes of `url` are that upstream's base
    // URL: what recordings are filed under (io/exchange.h). The name lives as long as the process.
    std::string_view upstream;
    std::size_t base_bytes = 0;
    Secret proxy;        // http://, https://, socks5://, socks5h://; empty: direct
    Instant deadline{};  // the transfer is freed then, whatever its state
    // After decompression. The client's own bound (HttpClientConfig) holds whatever stands here.
    std::size_t max_response_bytes = std::numeric_limits<std::size_t>::max();

    ClientRequest() = default;
};

struct ClientResponse {
    int status = 0;
    std::vector<std::pair<std::string, std::string>> headers;  // names in lower case, in order
    std::string body;
    Millis elapsed{};
    bool reused_connection = false;

    // The first header of that (lower-case) name, or an empty view.
    std::string_view header(std::string_view name) const;
};

// Not thread-safe: belongs to the control loop.
class HttpClient {
 public:
    virtual ~HttpClient() = default;

    // Any complete answer is a success, whatever its status. Errors, all blamed on the provider
    // except where noted: kTimeout (the deadline; blame kGateway when it had passed before anything
    // was sent), kUnavailable (resolve, connect, TLS: the request can't have arrived; blame
    // kGateway when the proxy is at fault), kUpstreamFailed (it may have arrived: reset, cut off,
    // malformed HTTP, a broken or unknown content encoding), kPayloadTooLarge (more than
    // max_response_bytes, or a compression bomb), kInvalidRequest (blame kGateway: a URL, proxy or
    // header that can't be sent), kOverloaded (blame kGateway: this machine lacks descriptors,
    // memory or ports for a connection), kCancelled (blame kCaller). Redirects are not followed: a
    // 3xx is an answer. A cancelled caller frees the transfer at once.
    virtual Task<Result<ClientResponse>> send(ClientRequest request) = 0;
};

struct HttpClientConfig {
    // The most that max_response_bytes can be set to: an answer is parsed and held as a whole.
    static constexpr std::size_t kLargestResponseBytes = std::size_t{64} * 1024 * 1024;

    std::size_t max_response_bytes = 8 * 1024 * 1024;
    Millis connect_timeout{3'000};
    int max_connections_per_host = 64;
    int max_idle_connections = 256;
    Millis dns_cache{60'000};
    std::string user_agent = "sluice";
    std::string ca_file = {};  // empty: the system's

    static HttpClientConfig read(ConfigReader& in);  // the section "upstream"
};

// libcurl's multi interface on an Asio executor. Connections are pooled per host and proxy; HTTP/2
// is spoken to TLS upstreams that offer it; gzip, deflate, br and zstd answers are decompressed.
class CurlHttpClient final : public HttpClient {
 public:
    // Everything is called on `executor`'s single thread, the destructor too.
    CurlHttpClient(Executor executor, HttpClientConfig config, const Clock& clock,
                   const obs::Log& log, obs::Metrics& metrics);
    ~CurlHttpClient() override;

    Task<Result<ClientResponse>> send(ClientRequest request) override;

    std::size_t transfers_under_way() const;

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::io
