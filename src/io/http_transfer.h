// One HTTP exchange as libcurl performs it: a handle, the memory that it reads and writes while the
// exchange lasts, and the verdict at its end. Internal to http_client.cc, which pools them.
#pragma once

#include "base/result.h"
#include "io/curl_loop.h"
#include "io/http_client.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {

// Bounds on what an upstream may send before its body.
inline constexpr std::size_t kMaxResponseHeaders = 256;
inline constexpr std::size_t kMaxResponseHeadBytes = 64 * 1024;
inline constexpr std::size_t kMaxUrlBytes = 64 * 1024;

// TLS sessions that every transfer of one client may resume. Outlives the transfers.
class TlsSessions {
 public:
    TlsSessions();
    ~TlsSessions();
    TlsSessions(const TlsSessions&) = delete;
    TlsSessions& operator=(const TlsSessions&) = delete;

    void* share() const { return share_; }

 private:
    void* share_;  // CURLSH*
};

// Not thread-safe. libcurl keeps pointers into it, so it never moves.
class HttpTransfer {
 public:
    HttpTransfer(const HttpClientConfig& config, const TlsSessions& sessions);
    ~HttpTransfer();
    HttpTransfer(const HttpTransfer&) = delete;
    HttpTransfer& operator=(const HttpTransfer&) = delete;

    // Describes the exchange to libcurl. kInvalidRequest, blamed on us, for what must not go on the
    // wire: another scheme, a line break in a header, a URL over kMaxUrlBytes.
    Status prepare(ClientRequest request);

    // What became of it, from the CURLcode that it ended with; `elapsed` goes into the answer.
    Result<ClientResponse> finish(int code, Millis elapsed);

    // What to call it that it has not ended by its deadline. While libcurl performs it.
    Error timed_out() const;

    // After finish(), or for a transfer that was stopped: the new connections that it made.
    long new_connections() const;

    // Forgets the exchange, and wipes what may hold secrets. Not while libcurl performs it.
    void clear();

    void* easy() const { return easy_; }
    // For CurlLoop::start().
    CurlLoop::Opening& opening() { return opening_; }

 private:
    struct HeaderLines;
    enum class Excess : unsigned char { kNone, kHead, kBody };

    void apply_config();
    void apply_method();
    Status apply_headers();
    std::size_t take_header_line(std::string_view line);
    std::size_t take_body(std::string_view bytes);
    Error error_of(int code) const;
    bool was_sent() const;
    int shortage_behind(int code) const;
    bool proxy_is_at_fault(int code) const;
    bool proxy_handshake_failed() const;
    bool proxy_kept_the_tunnel() const;
    long tunnel_status() const;
    std::string refused_tunnel() const;

    static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* transfer);
    static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* transfer);

    const HttpClientConfig& config_;
    void* easy_;  // CURL*
    CurlLoop::Opening opening_;
    ClientRequest request_;
    Secret url_;  // the request's with what is secret in it
    std::unique_ptr<HeaderLines> lines_;
    ClientResponse response_;
    std::size_t max_body_bytes_ = 0;
    std::size_t head_bytes_ = 0;
    bool head_complete_ = false;
    Excess excess_ = Excess::kNone;
};

}  // namespace sluice::io
