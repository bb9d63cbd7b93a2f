#include "io/http_transfer.h"

#include "base/text.h"
#include "io/transfer_errors.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <strings.h>
#include <utility>

namespace sluice::io {

namespace {

// Enough for most answers; a declared length is believed up to here, before its bytes have come.
constexpr std::size_t kMaxReservedBytes = 256 * 1024;

constexpr long kProxyAuthenticationRequired = 407;

template <class T>
void set(void* easy, CURLoption option, T value) {
    const CURLcode code = curl_easy_setopt(easy, option, value);
    SLUICE_ASSERT(code == CURLE_OK);
}

template <class T>
T info(void* easy, CURLINFO what) {
    T value{};
    curl_easy_getinfo(easy, what, &value);
    return value;
}

Error refuse(std::string message) {
    return Error{Code::kInvalidRequest, Blame::kGateway, std::move(message), std::nullopt};
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(), [text](std::string_view prefix) {
        return text.size() > prefix.size() &&
               equals_ignoring_case(text.substr(0, prefix.size()), prefix);
    });
}

bool is_header_name(std::string_view name) {
    constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";  // RFC 9110 section 5.6.2
    return !name.empty() && std::all_of(name.begin(), name.end(), [=](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               kOthers.find(c) != std::string_view::npos;
    });
}

bool is_header_value(std::string_view value) {
    return value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

// The URL with the parameters that are secret.
Secret whole_url(const ClientRequest& request) {
    std::size_t bytes = request.url.size();
    for (const auto& [name, value] : request.secret_query) {
        bytes += name.size() + 3 * value.reveal().size() + 2;
    }
    std::string url;
    url.reserve(bytes);  // so that it never moves: what it left behind would not be wiped
    url = request.url;
    char separator = request.url.find('?') == std::string::npos ? '?' : '&';
    for (const auto& [name, value] : request.secret_query) {
        const Secret encoded(percent_encode(value.reveal()));
        url.append(1, separator).append(name).append(1, '=').append(encoded.reveal());
        separator = '&';
    }
    return Secret(std::move(url));
}

// What people read in place of a CURLcode. libcurl's own texts are as safe (they never hold a URL),
// but theirs for these speak to programmers.
std::string describe(CURLcode code) {
    switch (code) {
        case CURLE_COULDNT_RESOLVE_PROXY:
        case CURLE_COULDNT_RESOLVE_HOST:
            return "the name could not be resolved (check DNS and the configured address)";
        case CURLE_COULDNT_CONNECT:
            return "the connection was refused or could not be made";
        case CURLE_OPERATION_TIMEDOUT:
            return "the connection could not be made in time";
        case CURLE_GOT_NOTHING:
            return "the connection was closed without an answer";
        case CURLE_PARTIAL_FILE:
            return "the answer was cut off";
        case CURLE_SEND_ERROR:
        case CURLE_RECV_ERROR:
            return "the connection was reset";
        case CURLE_UNSUPPORTED_PROTOCOL:
        case CURLE_WEIRD_SERVER_REPLY:
            return "the answer is not HTTP";
        case CURLE_BAD_CONTENT_ENCODING:
            return "the answer's content encoding is broken or unknown";
        case CURLE_SSL_CONNECT_ERROR:
            return "the TLS handshake failed";
        case CURLE_PEER_FAILED_VERIFICATION:
            return "the TLS certificate can't be trusted";
        case CURLE_PROXY:
            return "the proxy refused the connection";
        default:
            return to_lower(curl_easy_strerror(code));
    }
}

// Doubles, as a string does by itself, but goes to `most` as soon as half of it is not enough:
// while it grows both copies are there, and together they take no more than `most`.
void make_room(std::string& body, std::size_t more, std::size_t most) {
    const std::size_t needed = body.size() + more;
    if (needed <= body.capacity()) {
        return;
    }
    const std::size_t doubled = std::max(needed, 2 * body.capacity());
    body.reserve(doubled > most / 2 ? most : doubled);
}

}  // namespace

// The request's header lines in one block, with the list nodes that libcurl walks. Not built with
// curl_slist_append(): that copies each line into memory which nobody wipes.
struct HttpTransfer::HeaderLines {
    // So that the block never moves: what it leaves behind then would not be wiped.
    void reserve_for(const ClientRequest& request) {
        std::size_t bytes = kLeftOutBytes;
        for (const auto& [name, value] : request.headers) {
            bytes += name.size() + value.size() + kSeparatorBytes;
        }
        for (const auto& [name, value] : request.secret_headers) {
            bytes += name.size() + value.reveal().size() + kSeparatorBytes;
        }
        block.reserve(bytes);
    }

    void add(std::string_view name, std::string_view value) {
        starts.push_back(block.size());
        block.append(name);
        // A name with a colon and nothing behind it tells libcurl to leave that header out; the
        // semicolon is how it is told to send an empty one.
        if (value.empty()) {
            block += ';';
        } else {
            block.append(": ").append(value);
        }
        block += '\0';
    }

    // Keeps libcurl from sending a header of its own making.
    void leave_out(std::string_view name) {
        starts.push_back(block.size());
        block.append(name).append(":").push_back('\0');
    }

    curl_slist* link() {
        nodes.resize(starts.size());
        for (std::size_t i = 0; i < starts.size(); ++i) {
            nodes[i].data = block.data() + starts[i];
            nodes[i].next = i + 1 < starts.size() ? &nodes[i + 1] : nullptr;
        }
        return nodes.empty() ? nullptr : nodes.data();
    }

    void wipe() {
        ::explicit_bzero(block.data(), block.size());
        block.clear();
        starts.clear();
        nodes.clear();
    }

    static constexpr std::size_t kSeparatorBytes = 3;  // ": " and the terminator
    static constexpr std::size_t kLeftOutBytes = 64;   // the names that are left out

    std::string block;
    std::vector<std::size_t> starts;
    std::vector<curl_slist> nodes;
};

TlsSessions::TlsSessions() : share_(curl_share_init()) {
    SLUICE_ASSERT(share_ != nullptr);
    curl_share_setopt(static_cast<CURLSH*>(share_), CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}

TlsSessions::~TlsSessions() {
    curl_share_cleanup(static_cast<CURLSH*>(share_));
}

HttpTransfer::HttpTransfer(const HttpClientConfig& config, const TlsSessions& sessions)
    : config_(config), easy_(curl_easy_init()), lines_(std::make_unique<HeaderLines>()) {
    SLUICE_ASSERT(easy_ != nullptr);
    set(easy_, CURLOPT_SHARE, static_cast<CURLSH*>(sessions.share()));  // outlasts a reset
}

HttpTransfer::~HttpTransfer() {
    curl_easy_cleanup(easy_);
    lines_->wipe();
}

Status HttpTransfer::prepare(ClientRequest request) {
    request_ = std::move(request);
    url_ = whole_url(request_);
    if (url_.reveal().size() > kMaxUrlBytes) {
        return refuse("the upstream's URL is too long");
    }
    if (!starts_with_any(request_.url, {"http://", "https://"})) {
        return refuse("the upstream's URL is not http or https");
    }
    if (!request_.proxy.empty() &&
        !starts_with_any(request_.proxy.reveal(),
                         {"http://", "https://", "socks5://", "socks5h://"})) {
        return refuse("the proxy is not http, https, socks5 or socks5h");
    }
    if (request_.method == Method::kOther) {
        return refuse("the upstream's method is not known");
    }
    max_body_bytes_ = std::min(request_.max_response_bytes, config_.max_response_bytes);
    apply_config();
    // Terminated, as all of a string. libcurl copies it and frees the copy with the next reset.
    set(easy_, CURLOPT_URL, url_.reveal().data());
    set(easy_, CURLOPT_PROXY, request_.proxy.reveal().data());
    if (request_.method != Method::kHead) {
        // Refuses a declared length at once; what is not declared is counted as it comes.
        set(easy_, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(max_body_bytes_));
    }
    apply_method();
    return apply_headers();
}

// Everything that is the same for every exchange. It is set each time, since one reset of the
// handle is the only way to be sure that nothing of the last exchange is left.
void HttpTransfer::apply_config() {
    set(easy_, CURLOPT_NOSIGNAL, 1L);
    // Without this, giving up while a name is being resolved waits for the resolver's thread.
    set(easy_, CURLOPT_QUICK_EXIT, 1L);
    set(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
    set(easy_, CURLOPT_FOLLOWLOCATION, 0L);
    set(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
    set(easy_, CURLOPT_ACCEPT_ENCODING, "");
    set(easy_, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(config_.connect_timeout.count()));
    set(easy_, CURLOPT_DNS_CACHE_TIMEOUT,
        static_cast<long>(std::chrono::ceil<std::chrono::seconds>(config_.dns_cache).count()));
    set(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
    set(easy_, CURLOPT_USERAGENT, config_.user_agent.c_str());
    // An empty list, or the environment's NO_PROXY would lead around a configured proxy.
    set(easy_, CURLOPT_NOPROXY, "");
    set(easy_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    if (!config_.ca_file.empty()) {
        for (const CURLoption option : {CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO}) {
            set(easy_, option, config_.ca_file.c_str());
        }
        for (const CURLoption option : {CURLOPT_CAPATH, CURLOPT_PROXY_CAPATH}) {
            set(easy_, option, static_cast<const char*>(nullptr));
        }
    }
    set(easy_, CURLOPT_HEADERFUNCTION, &HttpTransfer::on_header);
    set(easy_, CURLOPT_HEADERDATA, this);
    set(easy_, CURLOPT_WRITEFUNCTION, &HttpTransfer::on_body);
    set(easy_, CURLOPT_WRITEDATA, this);
}

void HttpTransfer::apply_method() {
    const bool has_body = !request_.body.empty() || request_.method == Method::kPost ||
                          request_.method == Method::kPut || request_.method == Method::kPatch;
    if (has_body) {
        set(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
        set(easy_, CURLOPT_POSTFIELDS, request_.body.data());
    }
    if (request_.method == Method::kHead) {
        set(easy_, CURLOPT_NOBODY, 1L);
        return;
    }
    const bool implied = request_.method == (has_body ? Method::kPost : Method::kGet);
    if (!implied) {
        set(easy_, CURLOPT_CUSTOMREQUEST, std::string(to_string(request_.method)).c_str());
    }
}

Status HttpTransfer::apply_headers() {
    lines_->reserve_for(request_);
    bool has_content_type = false;
    for (const auto& [name, value] : request_.headers) {
        if (!is_header_name(name) || !is_header_value(value)) {
            return refuse("a header of the upstream request has characters that it can't have");
        }
        has_content_type = has_content_type || equals_ignoring_case(name, "content-type");
        lines_->add(name, value);
    }
    for (const auto& [name, value] : request_.secret_headers) {
        if (!is_header_name(name) || !is_header_value(value.reveal())) {
            return refuse(
                "a secret header of the upstream request has characters that it can't have");
        }
        lines_->add(name, value.reveal());
    }
    // libcurl would call every body a form, and ask for permission to send a large one.
    if (!has_content_type) {
        lines_->leave_out("Content-Type");
    }
    lines_->leave_out("Expect");
    set(easy_, CURLOPT_HTTPHEADER, lines_->link());
    return {};
}

std::size_t HttpTransfer::on_header(char* data, std::size_t size, std::size_t count,
                                    void* transfer) {
    return static_cast<HttpTransfer*>(transfer)->take_header_line({data, size * count});
}

std::size_t HttpTransfer::on_body(char* data, std::size_t size, std::size_t count, void* transfer) {
    return static_cast<HttpTransfer*>(transfer)->take_body({data, size * count});
}

// Both return how much they took; anything else ends the transfer with CURLE_WRITE_ERROR.
std::size_t HttpTransfer::take_header_line(std::string_view line) {
    head_bytes_ += line.size();
    if (head_bytes_ > kMaxResponseHeadBytes) {
        excess_ = Excess::kHead;
        return 0;
    }
    if (line.starts_with("HTTP/")) {
        // Another head: what came before it was an interim (1xx) one.
        response_.headers.clear();
        head_complete_ = false;
        return line.size();
    }
    const std::string_view text = trim(line);
    if (text.empty()) {
        head_complete_ = true;
        return line.size();
    }
    const std::size_t colon = text.find(':');
    // After the head come only trailers, which nobody asked for.
    if (head_complete_ || colon == std::string_view::npos) {
        return line.size();
    }
    if (response_.headers.size() == kMaxResponseHeaders) {
        excess_ = Excess::kHead;
        return 0;
    }
    std::string name = to_lower(trim(text.substr(0, colon)));
    response_.headers.emplace_back(std::move(name), std::string(trim(text.substr(colon + 1))));
    return line.size();
}

std::size_t HttpTransfer::take_body(std::string_view bytes) {
    std::string& body = response_.body;
    if (bytes.size() > max_body_bytes_ - body.size()) {
        excess_ = Excess::kBody;
        return 0;
    }
    if (body.empty()) {
        const auto declared = info<curl_off_t>(easy_, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T);
        if (declared > 0) {
            body.reserve(
                std::min({static_cast<std::size_t>(declared), max_body_bytes_, kMaxReservedBytes}));
        }
    }
    make_room(body, bytes.size(), max_body_bytes_);
    body.append(bytes);
    return bytes.size();
}

Result<ClientResponse> HttpTransfer::finish(int code, Millis elapsed) {
    if (code != CURLE_OK) {
        return error_of(code);
    }
    response_.status = static_cast<int>(info<long>(easy_, CURLINFO_RESPONSE_CODE));
    response_.elapsed = elapsed;
    response_.reused_connection = new_connections() == 0;
    return std::move(response_);
}

Error HttpTransfer::timed_out() const {
    if (proxy_is_at_fault(CURLE_OPERATION_TIMEDOUT)) {
        return error_of(CURLE_OPERATION_TIMEDOUT);
    }
    return transfer_timed_out();
}

long HttpTransfer::new_connections() const {
    return info<long>(easy_, CURLINFO_NUM_CONNECTS);
}

Error HttpTransfer::error_of(int code) const {
    Error error{Code::kUnavailable, Blame::kProvider, {}, std::nullopt};
    // The latter is how libcurl reports a header line beyond its own bound of 100 KiB, which it
    // reaches before the line gets here.
    const bool head_too_large =
        excess_ == Excess::kHead || (code == CURLE_OUT_OF_MEMORY && !head_complete_);
    if (head_too_large) {
        error.code = Code::kPayloadTooLarge;
        error.message = "the answer's head is too large";
    } else if (excess_ == Excess::kBody || code == CURLE_FILESIZE_EXCEEDED) {
        error.code = Code::kPayloadTooLarge;
        error.message = "the answer is larger than " + std::to_string(max_body_bytes_) + " bytes";
    } else if (code == CURLE_URL_MALFORMAT) {
        error = refuse("the upstream's URL can't be read");
    } else if (opening_.is_second) {
        error.code = Code::kUpstreamFailed;
        error.message = describe(CURLE_GOT_NOTHING);
    } else if (const int shortage = shortage_behind(code); shortage != 0) {
        error = transfer_short_of_resources(shortage);
    } else if (proxy_is_at_fault(code)) {
        error.blame = Blame::kGateway;
        error.message = refused_tunnel();
        if (error.message.empty()) {
            error.message = "through the proxy: " + describe(static_cast<CURLcode>(code));
        }
    } else {
        error.code = was_sent() ? Code::kUpstreamFailed : Code::kUnavailable;
        error.message = refused_tunnel();
        if (error.message.empty()) {
            error.message = describe(static_cast<CURLcode>(code));
        }
    }
    return error;
}

// What a proxy said in place of opening a tunnel; empty when it opened one, or was not asked to.
// libcurl ends either way as if the connection had been reset.
std::string HttpTransfer::refused_tunnel() const {
    const long status = tunnel_status();
    if (status < 300) {
        return {};
    }
    std::string text = "the proxy answered " + std::to_string(status) + " to CONNECT";
    if (status == kProxyAuthenticationRequired) {
        text += ": check its user and password";
    }
    return text;
}

// Whether the upstream may have seen any of the request. A proxy's CONNECT is no part of it.
bool HttpTransfer::was_sent() const {
    return head_bytes_ > 0 || (info<curl_off_t>(easy_, CURLINFO_PRETRANSFER_TIME_T) > 0 &&
                               info<long>(easy_, CURLINFO_REQUEST_SIZE) > 0);
}

// What this machine had too little of when a connection could not be made, as an errno; 0: nothing.
int HttpTransfer::shortage_behind(int code) const {
    int reason = 0;
    if (code == CURLE_COULDNT_CONNECT) {
        reason = opening_.error != 0 ? opening_.error
                                     : static_cast<int>(info<long>(easy_, CURLINFO_OS_ERRNO));
    } else if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY) {
        reason = descriptor_shortage();  // the resolver does not tell
    }
    return is_shortage(reason) ? reason : 0;
}

// The proxy is ours to repair where it can't be reached, refuses us, or breaks off before it has
// connected us. What it reports about the upstream is the upstream's.
bool HttpTransfer::proxy_is_at_fault(int code) const {
    if (request_.proxy.empty()) {
        return false;
    }
    switch (code) {
        case CURLE_COULDNT_RESOLVE_PROXY:
        case CURLE_COULDNT_RESOLVE_HOST:  // libcurl's word for a SOCKS proxy's own name
        case CURLE_COULDNT_CONNECT:
            return true;
        case CURLE_OPERATION_TIMEDOUT:
            // On a connection of before, and behind a tunnel, it is the upstream that did not
            // answer; whoever waited for another call's connection had none to be connected by.
            return new_connections() > 0 && tunnel_status() == 0 &&
                   info<curl_off_t>(easy_, CURLINFO_CONNECT_TIME_T) == 0;
        case CURLE_PROXY:
            switch (info<long>(easy_, CURLINFO_PROXY_ERROR)) {
                case CURLPX_RESOLVE_HOST:  // the upstream's, which socks5:// has resolved here
                case CURLPX_REPLY_CONNECTION_REFUSED:
                case CURLPX_REPLY_HOST_UNREACHABLE:
                case CURLPX_REPLY_NETWORK_UNREACHABLE:
                case CURLPX_REPLY_TTL_EXPIRED:
                    return false;
                default:
                    return true;
            }
        default:
            return proxy_handshake_failed() || proxy_kept_the_tunnel();
    }
}

// The status of a CONNECT, 0 when there was none.
long HttpTransfer::tunnel_status() const {
    return info<long>(easy_, CURLINFO_HTTP_CONNECTCODE);
}

// Of the TLS with the proxy itself. libcurl has an error in this place from the start of that
// handshake until the proxy's certificate has proved good, its name included.
bool HttpTransfer::proxy_handshake_failed() const {
    return info<long>(easy_, CURLINFO_PROXY_SSL_VERIFYRESULT) != 0;
}

bool HttpTransfer::proxy_kept_the_tunnel() const {
    const long status = tunnel_status();
    const bool asks_for_tunnel = starts_with_any(request_.url, {"https://"}) &&
                                 starts_with_any(request_.proxy.reveal(), {"http://", "https://"});
    if (status == 0) {
        return asks_for_tunnel && new_connections() > 0;
    }
    // 502 and 504 are how a proxy says that it can't reach the upstream.
    return status >= 300 && status != 502 && status != 504;
}

void HttpTransfer::clear() {
    curl_easy_reset(easy_);
    lines_->wipe();
    opening_ = {};
    url_ = Secret();
    request_ = ClientRequest();
    response_ = ClientResponse();
    max_body_bytes_ = 0;
    head_bytes_ = 0;
    head_complete_ = false;
    excess_ = Excess::kNone;
}

}  // namespace sluice::io
