#include "io/http_parser.h"

#include "base/text.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

namespace sluice::io {

namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

constexpr std::size_t kMaxMethodBytes = 32;
constexpr std::size_t kLineBytes =
    sizeof("  HTTP/1.1\r") - 1;            // of a request line, beside its parts
constexpr std::size_t kMaxBlankLines = 4;  // before a request line; RFC 9112 section 2.2
constexpr std::uint32_t kMaxChunkOverhead = 16 * 1024;
constexpr std::uint8_t kMaxSizeDigits = 15;  // a size of 16 digits could overflow when added to

std::string_view to_std(string_view text) {
    return {text.data(), text.size()};
}

Method method_of(http::verb verb) {
    switch (verb) {
        case http::verb::get:
            return Method::kGet;
        case http::verb::head:
            return Method::kHead;
        case http::verb::post:
            return Method::kPost;
        case http::verb::put:
            return Method::kPut;
        case http::verb::patch:
            return Method::kPatch;
        case http::verb::delete_:
            return Method::kDelete;
        case http::verb::options:
            return Method::kOptions;
        default:
            return Method::kOther;
    }
}

// A request line that is right but for its version, as in "GET / HTTP/2.0".
bool has_foreign_version(std::string_view line) {
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    const std::size_t space = line.rfind(' ');
    if (space == std::string_view::npos || std::count(line.begin(), line.end(), ' ') != 2) {
        return false;
    }
    const std::string_view version = line.substr(space + 1);
    return version.size() == 8 && version.starts_with("HTTP/") && digit(version[5]) &&
           version[6] == '.' && digit(version[7]) && version != "HTTP/1.0" && version != "HTTP/1.1";
}

// Only what can stand in "uri-host [ ':' port ]". Whether the host is ours is for the doors to say.
bool is_acceptable_host(std::string_view host) {
    return std::none_of(host.begin(), host.end(), [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || c == '/' || c == '?' || c == '#' ||
               c == '@' || c == '\\' || c == ',' || c == '"' || c == '<' || c == '>';
    });
}

// Beast's parser checks the grammar and finds the pieces; what is stricter here is checked as the
// pieces come. Their views are kept, so a head costs no allocation.
class HeadParser final : public http::basic_parser<true> {
 public:
    HeadParser(std::string_view bytes, const HeadLimits& limits, RequestHead& head)
        : bytes_(bytes), limits_(limits), head_(head) {
        // Lengths are checked by parse_head(), which knows which of the two bounds was passed.
        header_limit(std::numeric_limits<std::uint32_t>::max());
        body_limit(boost::none);
    }

    std::optional<Code> refusal;
    std::string_view reason;

    bool has_request_line() const { return !head_.target.empty(); }

    void finish(error_code& ec) {
        if (head_.http11 && hosts_ == 0) {
            refuse(Code::kInvalidRequest, "a Host header is required", ec);
        } else if (head_.chunked && has_length_) {
            refuse(Code::kInvalidRequest, "Content-Length and Transfer-Encoding together", ec);
        } else if (head_.chunked && !head_.http11) {
            refuse(Code::kInvalidRequest, "Transfer-Encoding in an HTTP/1.0 request", ec);
        }
    }

 private:
    void refuse(Code code, std::string_view why, error_code& ec) {
        refusal = code;
        reason = why;
        ec = http::error::bad_field;
    }

    void on_request_impl(http::verb verb, string_view method, string_view target, int version,
                         error_code& ec) override {
        head_.method = method_of(verb);
        head_.method_text = to_std(method);
        head_.target = to_std(target);
        head_.http11 = version == 11;
        if (target.size() > limits_.max_target_bytes) {
            return refuse(Code::kUriTooLong, "the request target is too long", ec);
        }
        if (!split_target()) {
            return refuse(Code::kInvalidRequest, "malformed request target", ec);
        }
    }

    // origin-form, absolute-form, and "*" for OPTIONS (RFC 9112 section 3.2).
    bool split_target() {
        std::string_view rest = head_.target;
        if (rest == "*") {
            head_.path = rest;
            head_.query = {};
            return head_.method == Method::kOptions;
        }
        if (rest.front() != '/') {
            const std::size_t scheme_end = rest.find("://");
            if (scheme_end == std::string_view::npos) {
                return false;
            }
            const std::string_view scheme = rest.substr(0, scheme_end);
            if (!equals_ignoring_case(scheme, "http") && !equals_ignoring_case(scheme, "https")) {
                return false;
            }
            rest.remove_prefix(scheme_end + 3);
            const std::size_t authority_end = std::min(rest.find_first_of("/?"), rest.size());
            if (authority_end == 0) {
                return false;
            }
            rest.remove_prefix(authority_end);
        }
        if (rest.find('#') != std::string_view::npos) {
            return false;
        }
        const std::size_t question = rest.find('?');
        head_.path = rest.substr(0, question);
        head_.query =
            question == std::string_view::npos ? std::string_view() : rest.substr(question + 1);
        if (head_.path.empty()) {
            head_.path = "/";  // absolute-form without a path
        }
        return true;
    }

    void on_field_impl(http::field field, string_view name, string_view value,
                       error_code& ec) override {
        const std::string_view text = to_std(value);
        if (is_folded(to_std(name), text)) {
            return refuse(Code::kInvalidRequest, "a folded header line", ec);
        }
        if (head_.fields.size() == kMaxHeaderFields) {
            return refuse(Code::kHeadersTooLarge, "too many header fields", ec);
        }
        head_.fields.push_back({to_std(name), text});
        switch (field) {
            case http::field::host:
                return on_host(text, ec);
            case http::field::content_length:
                return on_content_length(text, ec);
            case http::field::transfer_encoding:
                return on_transfer_encoding(text, ec);
            case http::field::expect:
                return on_expect(text, ec);
            default:
                break;
        }
        if (head_.traceparent.empty() && name.size() == 11 &&
            equals_ignoring_case(to_std(name), "traceparent")) {
            head_.traceparent = text;
        }
    }

    // Beast joins a folded value in a buffer of its own, or starts it on the continuation line when
    // the first one was blank. Both show between the end of the name and the start of the value.
    bool is_folded(std::string_view name, std::string_view value) const {
        const char* const end = bytes_.data() + bytes_.size();
        if (value.data() < name.data() || value.data() > end) {
            return true;
        }
        const char* const name_end = name.data() + name.size();
        return std::memchr(name_end, '\r', static_cast<std::size_t>(value.data() - name_end)) !=
               nullptr;
    }

    void on_host(std::string_view value, error_code& ec) {
        hosts_ += 1;
        if (hosts_ > 1) {
            return refuse(Code::kInvalidRequest, "more than one Host header", ec);
        }
        if (!is_acceptable_host(value)) {
            return refuse(Code::kInvalidRequest, "malformed Host header", ec);
        }
    }

    void on_content_length(std::string_view value, error_code& ec) {
        if (has_length_) {
            return refuse(Code::kInvalidRequest, "more than one Content-Length", ec);
        }
        has_length_ = true;
        const auto [end, error] =
            std::from_chars(value.data(), value.data() + value.size(), head_.content_length);
        if (error != std::errc() || end != value.data() + value.size()) {
            return refuse(Code::kInvalidRequest, "malformed Content-Length", ec);
        }
    }

    void on_transfer_encoding(std::string_view value, error_code& ec) {
        if (!equals_ignoring_case(value, "chunked")) {
            return refuse(Code::kInvalidRequest, "only the transfer coding chunked is understood",
                          ec);
        }
        head_.chunked = true;
    }

    void on_expect(std::string_view value, error_code& ec) {
        if (!head_.http11) {
            return;  // RFC 9110 section 10.1.1: ignored from an HTTP/1.0 client
        }
        if (!equals_ignoring_case(value, "100-continue")) {
            return refuse(Code::kExpectationFailed, "only 100-continue can be expected", ec);
        }
        head_.expects_continue = true;
    }

    void on_header_impl(error_code& ec) override { ec = {}; }

    // A request's body is read by the server and the rest belongs to responses.
    void on_response_impl(int, string_view, int, error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(string_view, error_code&) override { return 0; }
    void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, string_view, error_code&) override { return 0; }
    void on_finish_impl(error_code& ec) override { ec = {}; }

    const std::string_view bytes_;
    const HeadLimits& limits_;
    RequestHead& head_;
    int hosts_ = 0;
    bool has_length_ = false;
};

void clear(RequestHead& head) {
    std::vector<HeaderField> fields = std::move(head.fields);
    fields.clear();
    head = RequestHead();
    head.fields = std::move(fields);
}

HeadResult refused(Code code, std::string_view reason) {
    return {.state = HeadState::kRefused, .size = 0, .refusal = code, .reason = reason};
}

// Which bound an unfinished head has passed, if any.
HeadResult judge_incomplete(std::string_view bytes, const HeadLimits& limits) {
    const std::size_t line_end = bytes.find('\n');
    if (line_end == std::string_view::npos &&
        bytes.size() > kMaxMethodBytes + limits.max_target_bytes + kLineBytes) {
        return refused(Code::kUriTooLong, "the request line is too long");
    }
    if (bytes.size() >= limits.max_header_bytes) {
        return refused(Code::kHeadersTooLarge, "the request head is too long");
    }
    return {};
}

HeadResult judge_error(error_code ec, std::string_view bytes) {
    if (ec != http::error::bad_version) {
        if (ec == http::error::header_limit) {
            return refused(Code::kInvalidRequest, "a folded header line");
        }
        return refused(Code::kInvalidRequest, "malformed request head");
    }
    if (has_foreign_version(bytes.substr(0, bytes.find_first_of("\r\n")))) {
        return refused(Code::kVersionNotSupported, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    }
    return refused(Code::kInvalidRequest, "malformed HTTP version");
}

}  // namespace

HeadResult parse_head(std::string_view bytes, const HeadLimits& limits, RequestHead& head) {
    std::size_t blank = 0;
    while (blank < 2 * kMaxBlankLines && bytes.substr(blank).starts_with("\r\n")) {
        blank += 2;
    }
    bytes.remove_prefix(blank);
    if (bytes.empty() || bytes == "\r") {
        return {};
    }
    clear(head);
    HeadParser parser(bytes, limits, head);
    error_code ec;
    const std::size_t size = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), ec);
    if (parser.refusal) {
        return refused(*parser.refusal, parser.reason);
    }
    if (ec == http::error::need_more) {
        // A request line that ends too early leaves Beast waiting for the rest of it.
        if (!parser.has_request_line() && bytes.find('\n') != std::string_view::npos) {
            return refused(Code::kInvalidRequest, "malformed request line");
        }
        return judge_incomplete(bytes, limits);
    }
    if (ec) {
        return judge_error(ec, bytes);
    }
    if (size > limits.max_header_bytes) {
        return refused(Code::kHeadersTooLarge, "the request head is too long");
    }
    if (head.method_text.size() > kMaxMethodBytes) {
        return refused(Code::kInvalidRequest, "the method is too long");
    }
    parser.finish(ec);
    if (parser.refusal) {
        return refused(*parser.refusal, parser.reason);
    }
    head.keep_alive = parser.keep_alive();
    return {.state = HeadState::kComplete, .size = blank + size};
}

bool needs_another_look(std::string_view bytes, const HeadLimits& limits, std::size_t& scanned) {
    const bool line_ended = bytes.find('\n', scanned) != std::string_view::npos;
    scanned = bytes.size();
    return line_ended || judge_incomplete(bytes, limits).state == HeadState::kRefused;
}

ChunkDecoder::State ChunkDecoder::feed(std::string_view wire, std::size_t max_body_bytes,
                                       std::string& body, std::size_t& consumed) {
    consumed = 0;
    while (consumed < wire.size() && step_ != Step::kDone) {
        if (step_ == Step::kData) {
            const std::size_t n = static_cast<std::size_t>(
                std::min<std::uint64_t>(remaining_, wire.size() - consumed));
            body.append(wire.substr(consumed, n));
            consumed += n;
            remaining_ -= n;
            if (remaining_ == 0) {
                step_ = Step::kDataCr;
            }
            continue;
        }
        const State state = take(wire[consumed], max_body_bytes, body.size());
        if (state != State::kMore) {
            return state;
        }
        consumed += 1;
    }
    return step_ == Step::kDone ? State::kDone : State::kMore;
}

// One byte of everything that is not chunk data.
ChunkDecoder::State ChunkDecoder::take(char c, std::size_t max_body_bytes, std::size_t body_bytes) {
    const auto expect = [&](char wanted, Step next) {
        if (c != wanted) {
            return State::kMalformed;
        }
        step_ = next;
        return State::kMore;
    };
    const auto skip = [&](Step at_line_end) {
        overhead_ += 1;
        if (overhead_ > kMaxChunkOverhead) {
            return State::kTooLarge;
        }
        if (c == '\r') {
            step_ = at_line_end;
            return State::kMore;
        }
        const bool control = static_cast<unsigned char>(c) < ' ' && c != '\t';
        return control || c == '\x7f' ? State::kMalformed : State::kMore;
    };
    switch (step_) {
        case Step::kSize: {
            unsigned digit = 0;
            if (std::from_chars(&c, &c + 1, digit, 16).ec == std::errc()) {
                digits_ += 1;
                remaining_ = remaining_ * 16 + digit;
                return digits_ > kMaxSizeDigits ? State::kMalformed : State::kMore;
            }
            if (digits_ == 0) {
                return State::kMalformed;
            }
            if (remaining_ > max_body_bytes - std::min(max_body_bytes, body_bytes)) {
                return State::kTooLarge;
            }
            if (c == ' ' || c == '\t') {
                step_ = Step::kBlanks;
                return skip(Step::kSizeEnd);
            }
            return c == ';' ? expect(';', Step::kExtension) : expect('\r', Step::kSizeEnd);
        }
        // RFC 9112 section 7.1.1 has them in front of an extension only.
        case Step::kBlanks:
            return c == ' ' || c == '\t' ? skip(Step::kSizeEnd) : expect(';', Step::kExtension);
        case Step::kExtension:
            return skip(Step::kSizeEnd);
        case Step::kSizeEnd:
            digits_ = 0;
            return expect('\n', remaining_ == 0 ? Step::kTrailerStart : Step::kData);
        case Step::kDataCr:
            return expect('\r', Step::kDataEnd);
        case Step::kDataEnd:
            return expect('\n', Step::kSize);
        case Step::kTrailerStart:
            if (c == '\r') {
                return expect('\r', Step::kLastEnd);
            }
            step_ = Step::kTrailer;
            return skip(Step::kTrailerEnd);
        case Step::kTrailer:
            return skip(Step::kTrailerEnd);
        case Step::kTrailerEnd:
            return expect('\n', Step::kTrailerStart);
        case Step::kLastEnd:
            return expect('\n', Step::kDone);
        case Step::kData:
        case Step::kDone:
            break;
    }
    SLUICE_ASSERT(false && "chunk data is taken by feed()");
}

}  // namespace sluice::io
