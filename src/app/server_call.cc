#include "app/server_call.h"

#include <curl/curl.h>

#include <cerrno>
#include <memory>

namespace sluice::app {

namespace {

// libcurl's write callback: what it hands over is `count` bytes; taking fewer ends the transfer.
std::size_t append(char* data, std::size_t, std::size_t count, void* target) {
    auto& body = *static_cast<std::string*>(target);
    if (body.size() + count > kMaxServerAnswerBytes) {
        return 0;
    }
    body.append(data, count);
    return count;
}

struct ListDeleter {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListDeleter>;

void add_header(HeaderList& headers, const std::string& line) {
    headers.reset(curl_slist_append(headers.release(), line.c_str()));
}

std::string advice_for(CURLcode code, std::string_view url) {
    if (code == CURLE_COULDNT_CONNECT) {
        return "; is a gateway running there? Start one with `sluice serve`, or say where it is "
               "with "
               "--server or --data-dir";
    }
    if (code == CURLE_GOT_NOTHING && url.starts_with("http://")) {
        return "; perhaps it is served with TLS: try https://";
    }
    if (code == CURLE_SSL_CONNECT_ERROR && url.starts_with("https://")) {
        return "; perhaps it is served without TLS: try http://";
    }
    if (code == CURLE_PEER_FAILED_VERIFICATION) {
        return "; this machine trusts nobody who signed its certificate. Beside the gateway leave "
               "--server out: its socket needs none";
    }
    return {};
}

}  // namespace

Result<ServerAnswer> call_server(const ServerCall& call) {
    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                   &curl_easy_cleanup);
    ServerAnswer answer;
    const std::string url =
        (call.socket_path.empty() ? call.url : std::string("http://localhost")) + call.target;
    HeaderList headers;
    add_header(headers, "Content-Type: application/json");
    add_header(headers, "Expect:");
    if (!call.token.empty()) {
        add_header(headers, "Authorization: Bearer " + std::string(call.token.reveal()));
    }
    curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");
    curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(call.timeout.count()));
    curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer.body);
    if (!call.socket_path.empty()) {
        curl_easy_setopt(curl.get(), CURLOPT_UNIX_SOCKET_PATH, call.socket_path.c_str());
    }
    if (call.method == "POST") {
        curl_easy_setopt(curl.get(), CURLOPT_POST, 1L);
        curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, call.body.c_str());
        curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(call.body.size()));
    } else if (call.method != "GET") {
        curl_easy_setopt(curl.get(), CURLOPT_CUSTOMREQUEST, call.method.c_str());
        if (!call.body.empty()) {
            curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, call.body.c_str());
            curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE,
                             static_cast<long>(call.body.size()));
        }
    }
    const CURLcode code = curl_easy_perform(curl.get());
    if (code != CURLE_OK) {
        long os_error = 0;
        curl_easy_getinfo(curl.get(), CURLINFO_OS_ERRNO, &os_error);
        const bool nobody_listens =
            code == CURLE_COULDNT_CONNECT && (os_error == ENOENT || os_error == ECONNREFUSED);
        const std::string where = call.socket_path.empty() ? call.url : call.socket_path;
        return Error{
            nobody_listens ? Code::kNotFound : Code::kUnavailable,
            Blame::kGateway,
            "cannot reach " + where + ": " + curl_easy_strerror(code) + advice_for(code, call.url),
            {}};
    }
    long status = 0;
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
    answer.status = static_cast<int>(status);
    return answer;
}

}  // namespace sluice::app
