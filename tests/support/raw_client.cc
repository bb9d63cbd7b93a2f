#include "support/raw_client.h"

#include "base/result.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace sluice::test {

namespace {

int to_int(std::string_view text) {
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

int connect_unix(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    SLUICE_ASSERT(path.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path.data(), path.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    SLUICE_ASSERT(fd >= 0);
    const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
    SLUICE_ASSERT(::connect(fd, generic, sizeof address) == 0);
    return fd;
}

int connect_tcp(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(to_int(address.substr(colon + 1))));
    SLUICE_ASSERT(::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr) == 1);
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    SLUICE_ASSERT(fd >= 0);
    const auto* const generic = reinterpret_cast<const sockaddr*>(&to);
    SLUICE_ASSERT(::connect(fd, generic, sizeof to) == 0);
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

}  // namespace

std::optional<std::string> RawResponse::header(std::string_view name) const {
    std::string_view rest = head;
    while (!rest.empty()) {
        const std::size_t end = rest.find("\r\n");
        const std::string_view line = rest.substr(0, end);
        const std::size_t colon = line.find(':');
        if (colon != std::string_view::npos && equals_ignoring_case(line.substr(0, colon), name)) {
            return std::string(trim(line.substr(colon + 1)));
        }
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
    }
    return std::nullopt;
}

RawClient::RawClient(const std::string& address)
    : fd_(address.starts_with('/') ? connect_unix(address) : connect_tcp(address)) {
    timeval limit{};
    limit.tv_sec = 10;
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

RawClient::~RawClient() {
    close();
}

RawClient::RawClient(RawClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      buffer_(std::move(other.buffer_)),
      interim_(other.interim_),
      reset_(other.reset_),
      timed_out_(other.timed_out_) {}

bool RawClient::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

bool RawClient::get(std::string_view path, std::string_view fields) {
    std::string request = "GET ";
    request.append(path).append(" HTTP/1.1\r\nHost: localhost\r\n").append(fields).append("\r\n");
    return send(request);
}

bool RawClient::read_more() {
    char bytes[16 * 1024];
    const ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
    if (n <= 0) {
        reset_ = n < 0 && errno == ECONNRESET;
        timed_out_ = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
        return false;
    }
    buffer_.append(bytes, static_cast<std::size_t>(n));
    return true;
}

std::optional<std::string> RawClient::read_head_text() {
    for (;;) {
        const std::size_t end = buffer_.find("\r\n\r\n");
        if (end == std::string::npos) {
            if (!read_more()) {
                return std::nullopt;
            }
            continue;
        }
        std::string head = buffer_.substr(0, end + 4);
        buffer_.erase(0, end + 4);
        if (head.starts_with("HTTP/1.1 1")) {
            interim_ += 1;
            continue;
        }
        return head;
    }
}

std::optional<RawResponse> RawClient::read_head() {
    std::optional<std::string> head = read_head_text();
    if (!head) {
        return std::nullopt;
    }
    RawResponse response;
    response.head = std::move(*head);
    const std::size_t space = response.head.find(' ');
    response.status = to_int(response.head.substr(space + 1, 3));
    return response;
}

std::optional<RawResponse> RawClient::read_response() {
    std::optional<RawResponse> response = read_head();
    if (!response) {
        return std::nullopt;
    }
    const auto length =
        static_cast<std::size_t>(to_int(response->header("Content-Length").value_or("0")));
    while (buffer_.size() < length) {
        if (!read_more()) {
            return std::nullopt;
        }
    }
    response->body = buffer_.substr(0, length);
    buffer_.erase(0, length);
    return response;
}

std::string RawClient::read_all() {
    while (read_more()) {
    }
    return std::exchange(buffer_, {});
}

bool RawClient::is_closed() {
    return buffer_.empty() && !read_more() && !timed_out_;
}

void RawClient::finish_sending() {
    ::shutdown(fd_, SHUT_WR);
}

void RawClient::reset() {
    linger now{};
    now.l_onoff = 1;
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
}

void RawClient::close() {
    if (fd_ >= 0) {
        ::close(std::exchange(fd_, -1));
    }
}

}  // namespace sluice::test
