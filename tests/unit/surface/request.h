// A request as the server hands it to a door, and an answer as a client reads it.
#pragma once

#include "base/json.h"
#include "base/random.h"
#include "io/http_message.h"
#include "support/run_task.h"

#include <boost/asio/io_context.hpp>

#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::surface {

// Owns the texts that an io::HttpRequest only points to; stays where it is.
class TestRequest {
 public:
    TestRequest(io::Method method, std::string target, Instant started)
        : target_(std::move(target)) {
        const std::string_view whole = target_;
        const std::size_t mark = std::min(whole.find('?'), whole.size());
        request_.method = method;
        request_.method_text = to_string(method);
        request_.target = whole;
        request_.path = whole.substr(0, mark);
        request_.query = mark < whole.size() ? whole.substr(mark + 1) : std::string_view();
        request_.peer = *io::Address::parse("127.0.0.1");
        SeededRandom random(1);
        request_.context.id = RequestId::make(random);
        request_.context.started = started;
        header("Host", "127.0.0.1:8080");
    }
    TestRequest(const TestRequest&) = delete;
    TestRequest& operator=(const TestRequest&) = delete;

    TestRequest& header(std::string name, std::string value) {
        const std::string& kept_name = texts_.emplace_back(std::move(name));
        const std::string& kept_value = texts_.emplace_back(std::move(value));
        fields_.push_back({kept_name, kept_value});
        request_.headers = fields_;
        return *this;
    }
    TestRequest& body(std::string text) {
        request_.body = texts_.emplace_back(std::move(text));
        return *this;
    }
    TestRequest& from(const std::string& peer) {
        request_.peer = *io::Address::parse(peer);
        return *this;
    }
    TestRequest& over_unix_socket() {
        request_.over_unix_socket = true;
        return *this;
    }

    const io::HttpRequest& get() const { return request_; }
    std::string_view id() const { return request_.context.id.text(); }

 private:
    std::string target_;
    std::list<std::string> texts_;
    std::vector<io::HeaderField> fields_;
    io::HttpRequest request_;
};

// The answer, once it is there.
inline io::HttpResponse finished(io::HttpReply reply, boost::asio::io_context& io,
                                 test::ManualClock& clock) {
    if (auto* ready = std::get_if<io::HttpResponse>(&reply)) {
        return std::move(*ready);
    }
    return test::run_task(io, clock, std::get<Task<io::HttpResponse>>(std::move(reply)));
}

inline std::string body_of(const io::HttpResponse& response) {
    return response.lead + std::string(response.body ? response.body->bytes() : "");
}

// Whether the line "Name: value" is among the headers.
inline bool has_header(const io::HttpResponse& response, std::string_view line) {
    return ("\r\n" + response.headers).find("\r\n" + std::string(line) + "\r\n") !=
           std::string::npos;
}

}  // namespace sluice::surface
