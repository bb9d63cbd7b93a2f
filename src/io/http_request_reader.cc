#include "io/http_request_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::io {

namespace {

constexpr std::size_t kBodyStep = 16 * 1024;       // room offered at once for a body of its own
constexpr std::size_t kKeptBodyBytes = 64 * 1024;  // of its memory, between requests

}  // namespace

RequestReader::RequestReader(std::size_t max_header_bytes)
    : buffer_(std::make_unique_for_overwrite<char[]>(max_header_bytes + kBodyRoom)),
      capacity_(max_header_bytes + kBodyRoom) {}

RequestReader::State RequestReader::next(const HeadLimits& limits, std::size_t max_body_bytes) {
    if (!head_complete_) {
        const State state = take_head(bounded(limits), max_body_bytes);
        if (state != State::kComplete) {
            return state;
        }
    }
    return head_.chunked ? take_chunks(max_body_bytes) : take_body();
}

// The settings may have changed since the buffer was made.
HeadLimits RequestReader::bounded(const HeadLimits& limits) const {
    return {.max_header_bytes = std::min(limits.max_header_bytes, max_header_bytes()),
            .max_target_bytes = limits.max_target_bytes};
}

RequestReader::State RequestReader::refuse(Code code, std::string_view reason) {
    refusal_ = code;
    reason_ = reason;
    return State::kRefused;
}

RequestReader::State RequestReader::take_head(const HeadLimits& limits,
                                              std::size_t max_body_bytes) {
    const std::string_view bytes = unread();
    if (scanned_ > 0 && !needs_another_look(bytes, limits, scanned_)) {
        return State::kIncomplete;
    }
    const HeadResult result = parse_head(bytes, limits, head_);
    switch (result.state) {
        case HeadState::kIncomplete:
            scanned_ = bytes.size();
            return State::kIncomplete;
        case HeadState::kRefused:
            return refuse(result.refusal, result.reason);
        case HeadState::kComplete:
            break;
    }
    head_complete_ = true;
    head_size_ = result.size;
    scanned_ = 0;
    if (head_.content_length > max_body_bytes) {
        return refuse(Code::kPayloadTooLarge, "the request body is too large");
    }
    return State::kComplete;
}

// A body of known length is read where it stands if the buffer has room for it.
bool RequestReader::body_stays_in_buffer() const {
    return head_.content_length <= capacity_ - begin_ - head_size_;
}

RequestReader::State RequestReader::take_body() {
    const std::string_view arrived = unread().substr(head_size_);
    const auto length = static_cast<std::size_t>(head_.content_length);
    if (body_stays_in_buffer()) {
        if (arrived.size() < length) {
            return await_body();
        }
        body_ = arrived.substr(0, length);
        size_ = head_size_ + length;
        return State::kComplete;
    }
    // All that has arrived belongs to the body, since the buffer could not hold it to its end.
    own_body_.append(arrived);
    end_ = begin_ + head_size_;
    if (own_body_.size() < length) {
        return await_body();
    }
    body_ = own_body_;
    size_ = head_size_;
    return State::kComplete;
}

RequestReader::State RequestReader::take_chunks(std::size_t max_body_bytes) {
    std::size_t consumed = 0;
    switch (chunks_.feed(unread().substr(head_size_), max_body_bytes, own_body_, consumed)) {
        case ChunkDecoder::State::kMore:
            end_ = begin_ + head_size_;
            return await_body();
        case ChunkDecoder::State::kDone:
            body_ = own_body_;
            size_ = head_size_ + consumed;
            return State::kComplete;
        case ChunkDecoder::State::kMalformed:
            return refuse(Code::kInvalidRequest, "malformed chunked body");
        case ChunkDecoder::State::kTooLarge:
            return refuse(Code::kPayloadTooLarge, "the request body is too large");
    }
    SLUICE_ASSERT(false && "a state outside its enumeration");
}

// The body, or the rest of it, is still to come.
RequestReader::State RequestReader::await_body() {
    if (body_awaited_) {
        return State::kIncomplete;
    }
    body_awaited_ = true;
    const bool nothing_yet = own_body_.empty() && unread().size() == head_size_;
    continue_due_ = head_.expects_continue && nothing_yet;
    head_due_ = continue_due_ || head_.chunked || !body_stays_in_buffer();
    if (head_.chunked && begin_ > 0) {
        // Chunks are read behind the head, so that is moved to the front, and parsed again since
        // its views move with it. The limits have been checked.
        compact();
        const HeadLimits any{.max_header_bytes = capacity_, .max_target_bytes = capacity_};
        const HeadResult again = parse_head(unread(), any, head_);
        SLUICE_ASSERT(again.state == HeadState::kComplete);
    }
    return State::kIncomplete;
}

bool RequestReader::take_continue() {
    return std::exchange(continue_due_, false);
}

std::span<char> RequestReader::room() {
    if (head_complete_ && !head_.chunked && !body_stays_in_buffer()) {
        const auto length = static_cast<std::size_t>(head_.content_length);
        own_filled_ = own_body_.size();
        if (own_body_.capacity() < length && 2 * own_body_.capacity() >= length) {
            own_body_.reserve(length);  // doubling would take more than the body needs
        }
        own_body_.resize(own_filled_ + std::min(kBodyStep, length - own_filled_));
        return std::span(own_body_).subspan(own_filled_);
    }
    if (!head_complete_ && begin_ > 0) {
        compact();
    }
    SLUICE_ASSERT(end_ < capacity_);
    return room_behind();
}

void RequestReader::filled(std::size_t bytes) {
    if (head_complete_ && !head_.chunked && !body_stays_in_buffer()) {
        own_body_.resize(own_filled_ + bytes);
        return;
    }
    end_ += bytes;
}

std::span<char> RequestReader::room_behind() {
    return {buffer_.get() + end_, capacity_ - end_};
}

void RequestReader::compact() {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
}

void RequestReader::finish() {
    begin_ += size_;
    if (begin_ == end_) {
        begin_ = 0;
        end_ = 0;
    }
    head_complete_ = false;
    body_awaited_ = false;
    continue_due_ = false;
    head_due_ = false;
    own_body_.clear();
    if (own_body_.capacity() > kKeptBodyBytes) {
        own_body_ = std::string();
    }
    body_ = {};
    chunks_ = ChunkDecoder();
}

void RequestReader::reset() {
    size_ = 0;
    finish();
    begin_ = 0;
    end_ = 0;
    scanned_ = 0;
}

}  // namespace sluice::io
