// A blocking client that sends exactly the bytes it is told to, for tests of the HTTP server.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::test {

struct RawResponse {
    int status = 0;
    std::string head;  // status line and fields, with the empty line
    std::string body;

    // The first field of that name (case does not matter).
    std::optional<std::string> header(std::string_view name) const;
};

// Not thread-safe. Every read gives up after ten seconds, as if the server had closed.
class RawClient {
 public:
    // "127.0.0.1:43210" or the path of a Unix socket. Aborts the test program when that fails.
    explicit RawClient(const std::string& address);
    ~RawClient();
    RawClient(RawClient&& other) noexcept;
    RawClient& operator=(RawClient&&) = delete;

    // False when the server has closed the connection.
    bool send(std::string_view bytes);
    // A request without a body: "GET /path HTTP/1.1" with a Host and `fields` (whole lines).
    bool get(std::string_view path, std::string_view fields = {});

    // The next final answer (interim ones are skipped and counted), its body by its
    // Content-Length. Nothing when the connection ends before.
    std::optional<RawResponse> read_response();
    // An answer to HEAD, which has no body whatever its fields say.
    std::optional<RawResponse> read_head();
    std::size_t interim_responses() const { return interim_; }

    // Everything until the server closes, a reset counting as the end.
    std::string read_all();
    // True when the server closes without sending anything more.
    bool is_closed();
    // True if the end of the connection, once seen, was a reset.
    bool was_reset() const { return reset_; }

    void finish_sending();
    // Closes at once with a reset.
    void reset();
    void close();

    int descriptor() const { return fd_; }

 private:
    bool read_more();
    std::optional<std::string> read_head_text();

    int fd_ = -1;
    std::string buffer_;
    std::size_t interim_ = 0;
    bool reset_ = false;
    bool timed_out_ = false;
};

}  // namespace sluice::test
