#include "io/response_batch.h"

#include "base/result.h"
#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <utility>

namespace sluice::io {

namespace {

constexpr std::size_t kCopyUpTo = 1024;  // a copy is cheaper than one more buffer to gather
constexpr std::size_t kKeptTextBytes = 32 * 1024;  // kept between batches
// A packed body up to this size is unpacked into the text, so that several leave in one write.
constexpr std::size_t kUnpackUpTo = std::size_t{32} * 1024;
static_assert(kUnpackUpTo <= HttpBody::kPartBytes);

struct StatusLine {
    int status;
    std::string_view text;
};

// In ascending order.
constexpr StatusLine kStatusLines[] = {
    {200, "HTTP/1.1 200 OK\r\n"},
    {201, "HTTP/1.1 201 Created\r\n"},
    {202, "HTTP/1.1 202 Accepted\r\n"},
    {204, "HTTP/1.1 204 No Content\r\n"},
    {301, "HTTP/1.1 301 Moved Permanently\r\n"},
    {302, "HTTP/1.1 302 Found\r\n"},
    {303, "HTTP/1.1 303 See Other\r\n"},
    {304, "HTTP/1.1 304 Not Modified\r\n"},
    {307, "HTTP/1.1 307 Temporary Redirect\r\n"},
    {308, "HTTP/1.1 308 Permanent Redirect\r\n"},
    {400, "HTTP/1.1 400 Bad Request\r\n"},
    {401, "HTTP/1.1 401 Unauthorized\r\n"},
    {402, "HTTP/1.1 402 Payment Required\r\n"},
    {403, "HTTP/1.1 403 Forbidden\r\n"},
    {404, "HTTP/1.1 404 Not Found\r\n"},
    {405, "HTTP/1.1 405 Method Not Allowed\r\n"},
    {406, "HTTP/1.1 406 Not Acceptable\r\n"},
    {408, "HTTP/1.1 408 Request Timeout\r\n"},
    {409, "HTTP/1.1 409 Conflict\r\n"},
    {410, "HTTP/1.1 410 Gone\r\n"},
    {412, "HTTP/1.1 412 Precondition Failed\r\n"},
    {413, "HTTP/1.1 413 Content Too Large\r\n"},
    {414, "HTTP/1.1 414 URI Too Long\r\n"},
    {415, "HTTP/1.1 415 Unsupported Media Type\r\n"},
    {417, "HTTP/1.1 417 Expectation Failed\r\n"},
    {421, "HTTP/1.1 421 Misdirected Request\r\n"},
    {422, "HTTP/1.1 422 Unprocessable Content\r\n"},
    {424, "HTTP/1.1 424 Failed Dependency\r\n"},
    {429, "HTTP/1.1 429 Too Many Requests\r\n"},
    {431, "HTTP/1.1 431 Request Header Fields Too Large\r\n"},
    {499, "HTTP/1.1 499 Client Closed Request\r\n"},
    {500, "HTTP/1.1 500 Internal Server Error\r\n"},
    {501, "HTTP/1.1 501 Not Implemented\r\n"},
    {502, "HTTP/1.1 502 Bad Gateway\r\n"},
    {503, "HTTP/1.1 503 Service Unavailable\r\n"},
    {504, "HTTP/1.1 504 Gateway Timeout\r\n"},
    {505, "HTTP/1.1 505 HTTP Version Not Supported\r\n"},
};

std::string_view status_line(int status) {
    if (status == kStatusLines[0].status) {
        return kStatusLines[0].text;
    }
    const auto* const found =
        std::ranges::lower_bound(kStatusLines, status, {}, &StatusLine::status);
    return found != std::end(kStatusLines) && found->status == status ? found->text
                                                                      : std::string_view();
}

void append_number(std::string& out, std::size_t value) {
    char digits[20];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
    out.append(digits, end);
}

void append_status_line(std::string& out, int status) {
    if (const std::string_view line = status_line(status); !line.empty()) {
        out.append(line);
        return;
    }
    SLUICE_ASSERT(status >= 200 && status <= 599);
    out.append("HTTP/1.1 ");
    append_number(out, static_cast<std::size_t>(status));
    out.append(" \r\n");  // the space stays where a reason is left out
}

// A status that never has a body (RFC 9110 section 6.4.1).
bool is_bodiless(int status) {
    return status == 204 || status == 304;
}

bool has_content_encoding(std::string_view headers) {
    return contains_ignoring_case(headers, "content-encoding:");
}

// The body of one answer, decided: what goes into the text and what stays where it is.
struct Body {
    CodedBody pieces;
    std::shared_ptr<const HttpBody> owner;
    Coding coding = Coding::kIdentity;
    bool varies = false;
    bool unpacked_as_written = false;  // the shared piece is the plain form of a packed owner

    std::size_t size() const { return pieces.size() + (unpacked_as_written ? owner->size() : 0); }
};

Body plain_body(HttpResponse&& response) {
    Body body;
    body.pieces.before = std::move(response.lead);
    body.pieces.after = std::move(response.tail);
    if (response.body) {
        body.owner = std::move(response.body);
        body.unpacked_as_written = body.owner->is_packed();
        if (!body.unpacked_as_written) {
            body.pieces.shared = body.owner->bytes();
        }
    }
    return body;
}

// Where little or nothing is shared, the memo would not help: the whole body is compressed as one.
void join_unless_shared(HttpResponse& response) {
    if (response.body && response.body->size() >= ResponseBatch::kCompressFrom) {
        return;
    }
    std::string whole = std::move(response.lead);
    if (response.body) {
        whole.append(HttpBody::unpacked(response.body)->bytes());
    }
    whole.append(response.tail);
    response.lead.clear();
    response.tail.clear();
    response.body = std::make_shared<const HttpBody>(std::move(whole));
}

Body choose_body(HttpResponse&& response, const AnswerContext& context) {
    const std::size_t plain_size =
        response.lead.size() + (response.body ? response.body->size() : 0) + response.tail.size();
    if (plain_size == 0 || has_content_encoding(response.headers)) {
        return plain_body(std::move(response));
    }
    const bool worth_it = plain_size >= ResponseBatch::kCompressFrom;
    const CodingChoice choice = choose_coding(context.request_fields);
    const bool is_made =
        choice.coding == Coding::kZstd && response.body && response.body->is_packed();
    if (plain_size > ResponseBatch::kCompressUpTo && !is_made) {
        return plain_body(std::move(response));
    }
    if (choice.coding == Coding::kIdentity || (!worth_it && !choice.identity_refused)) {
        Body body = plain_body(std::move(response));
        body.varies = worth_it;
        return body;
    }
    join_unless_shared(response);
    Body body;
    body.pieces = choice.coding == Coding::kGzip
                      ? splice_gzip(response.lead, *response.body, response.tail)
                      : splice_zstd(response.lead, *response.body, response.tail);
    if (body.pieces.size() >= plain_size && !choice.identity_refused) {
        body = plain_body(std::move(response));
    } else {
        body.coding = choice.coding;
        body.owner = std::move(response.body);
    }
    body.varies = true;
    return body;
}

}  // namespace

void DateLine::update(WallTime now) {
    const auto second = std::chrono::floor<std::chrono::seconds>(now);
    if (second.time_since_epoch().count() == second_) {
        return;
    }
    second_ = second.time_since_epoch().count();
    const auto day = std::chrono::floor<std::chrono::days>(second);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss time(second - day);
    const auto two = [this](std::size_t at, unsigned value) {
        text_[at] = static_cast<char>('0' + value / 10 % 10);
        text_[at + 1] = static_cast<char>('0' + value % 10);
    };
    std::memcpy(text_.data(), "Date: Sun, 00 Jan 0000 00:00:00 GMT\r\n", text_.size());
    std::memcpy(&text_[6], &"SunMonTueWedThuFriSat"[3 * std::chrono::weekday(day).c_encoding()], 3);
    two(11, static_cast<unsigned>(date.day()));
    std::memcpy(
        &text_[14],
        &"JanFebMarAprMayJunJulAugSepOctNovDec"[3 * (static_cast<unsigned>(date.month()) - 1)], 3);
    const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
    two(18, year / 100);
    two(20, year % 100);
    two(23, static_cast<unsigned>(time.hours().count()));
    two(26, static_cast<unsigned>(time.minutes().count()));
    two(29, static_cast<unsigned>(time.seconds().count()));
}

std::size_t ResponseBatch::add(HttpResponse response, const AnswerContext& context) {
    const std::size_t size_before = size_;
    const std::size_t text_before = text_.size();
    const int status = response.status;
    append_status_line(text_, status);
    text_.append(context.date_line);
    text_.append(response.headers);

    Body body;
    if (!is_bodiless(status)) {
        body = choose_body(std::move(response), context);
        text_.append("Content-Length: ");
        append_number(text_, body.size());
        text_.append("\r\n");
        if (body.coding != Coding::kIdentity) {
            text_.append("Content-Encoding: ").append(to_string(body.coding)).append("\r\n");
        }
        if (body.varies) {
            text_.append("Vary: Accept-Encoding\r\n");
        }
    }
    text_.append("X-Request-Id: ").append(context.request_id);
    if (!context.traceparent.empty()) {
        text_.append("\r\ntraceparent: ").append(context.traceparent);
    }
    if (!context.keep_alive) {
        text_.append("\r\nConnection: close\r\n\r\n");
    } else if (!context.http11) {
        text_.append("\r\nConnection: keep-alive\r\n\r\n");
    } else {
        text_.append("\r\n\r\n");
    }

    std::size_t shared_bytes = 0;
    if (!context.head_only) {
        text_.append(body.pieces.before);
        if (body.unpacked_as_written && body.owner->size() <= kUnpackUpTo) {
            body.owner->unpack_part(0, text_);
        } else if (!body.unpacked_as_written && body.pieces.shared.size() <= kCopyUpTo) {
            text_.append(body.pieces.shared);
        } else {
            shared_bytes = body.size() - body.pieces.before.size() - body.pieces.after.size();
            pieces_.push_back({text_.size(), body.pieces.shared, std::move(body.owner)});
        }
        text_.append(body.pieces.after);
    }
    answers_ += 1;
    size_ += text_.size() - text_before + shared_bytes;
    return size_ - size_before;
}

void ResponseBatch::add_continue() {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    text_.append(kContinue);
    answers_ += 1;
    size_ += kContinue.size();
}

std::span<const boost::asio::const_buffer> ResponseBatch::buffers(Buffers& storage) {
    std::size_t skip = written_;
    std::size_t count = 0;
    const auto take = [&](const char* data, std::size_t size) {
        const std::size_t skipped = std::min(skip, size);
        skip -= skipped;
        if (size > skipped && count < storage.size()) {
            storage[count] = boost::asio::const_buffer(data + skipped, size - skipped);
            count += 1;
        }
    };
    std::size_t text_begin = 0;
    for (const Piece& piece : pieces_) {
        take(text_.data() + text_begin, piece.text_end - text_begin);
        text_begin = piece.text_end;
        if (!piece.shared.empty()) {
            take(piece.shared.data(), piece.shared.size());
        } else if (skip >= piece.owner->size()) {
            skip -= piece.owner->size();
        } else if (count < storage.size()) {
            const std::string_view part = part_of(*piece.owner, skip);
            skip %= HttpBody::kPartBytes;
            take(part.data(), part.size());
            return {storage.data(), count};
        }
    }
    take(text_.data() + text_begin, text_.size() - text_begin);
    return {storage.data(), count};
}

// The part of a packed body that holds its plain byte `offset`.
std::string_view ResponseBatch::part_of(const HttpBody& body, std::size_t offset) {
    const std::size_t index = offset / HttpBody::kPartBytes;
    if (part_owner_ != &body || part_index_ != index) {
        part_.clear();
        body.unpack_part(index, part_);
        part_owner_ = &body;
        part_index_ = index;
    }
    return part_;
}

void ResponseBatch::await_room() {
    part_ = std::string();
    part_owner_ = nullptr;
}

void ResponseBatch::written(std::size_t bytes) {
    written_ += bytes;
    SLUICE_ASSERT(written_ <= size_);
    if (written_ == size_) {
        reset();
    }
}

std::vector<std::shared_ptr<const HttpBody>> ResponseBatch::bodies() const {
    std::vector<std::shared_ptr<const HttpBody>> all;
    all.reserve(pieces_.size());
    for (const Piece& piece : pieces_) {
        all.push_back(piece.owner);
    }
    return all;
}

void ResponseBatch::reset() {
    if (text_.capacity() > kKeptTextBytes) {
        text_ = std::string();
    }
    text_.clear();
    pieces_.clear();
    if (part_owner_ != nullptr) {
        await_room();
    }
    answers_ = 0;
    size_ = 0;
    written_ = 0;
}

}  // namespace sluice::io
