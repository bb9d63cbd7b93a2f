// How a command talks to a running gateway: one request over the admin socket or over TCP.
#pragma once

#include "base/result.h"
#include "base/secret.h"

#include <cstddef>
#include <string>

namespace sluice::app {

struct ServerCall {
    std::string socket_path;  // the admin socket; or, when empty, `url`
    std::string url;          // "http://127.0.0.1:8080"
    std::string method = "GET";
    std::string target = {};
    std::string body = {};  // JSON
    Secret token = {};      // sent as a bearer token unless it is empty
    Millis timeout{60'000};
};

struct ServerAnswer {
    int status = 0;
    std::string body;
};

// A longer answer is an error.
inline constexpr std::size_t kMaxServerAnswerBytes = std::size_t{64} * 1024 * 1024;

// Blocks the calling thread, for call.timeout at most. kNotFound, with what to do about it, when
// nobody listens there, and kUnavailable when no whole answer comes; an HTTP error is an answer
// like any other.
Result<ServerAnswer> call_server(const ServerCall& call);

}  // namespace sluice::app
