#include "io/redis_reply.h"

#include "base/result.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <hiredis/hiredis.h>
#include <new>
#include <utility>

namespace sluice::io {

namespace {

// An empty buffer up to this size is kept for the next replies: hiredis would give back what a few
// answers take, and ask for it again, with every batch of them.
constexpr std::size_t kKeptBufferBytes = std::size_t{256} * 1024;

// What the replies under construction may still take. hiredis hands it to each function below.
struct Budget {
    std::size_t elements_left = RedisReplyReader::kMaxElements;
    bool is_exceeded = false;
};

// The place of the reply that hiredis is about to make: in its array, or on its own. Null, which
// hiredis takes for a want of memory, when there is no room for it. Nothing may be thrown through
// C.
template <class Fill>
void* make(const redisReadTask* task, const Fill& fill) {
    try {
        if (task->parent != nullptr) {
            auto* const array = static_cast<RedisReply*>(task->parent->obj);
            RedisReply& reply = array->elements[static_cast<std::size_t>(task->idx)];
            fill(reply);
            return &reply;
        }
        auto reply = std::make_unique<RedisReply>();
        fill(*reply);
        return reply.release();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

RedisReply::Kind kind_of_text(int type) {
    switch (type) {
        case REDIS_REPLY_STATUS:
            return RedisReply::Kind::kStatus;
        case REDIS_REPLY_ERROR:
            return RedisReply::Kind::kError;
        default:
            return RedisReply::Kind::kText;
    }
}

void* make_text(const redisReadTask* task, char* text, std::size_t size) {
    return make(task, [&](RedisReply& reply) {
        reply.kind = kind_of_text(task->type);
        reply.text.assign(text, size);
    });
}

void* make_array(const redisReadTask* task, int size) {
    auto* const budget = static_cast<Budget*>(task->privdata);
    const auto wanted = static_cast<std::size_t>(std::max(size, 0));
    if (wanted > budget->elements_left) {
        budget->is_exceeded = true;
        return nullptr;
    }
    budget->elements_left -= wanted;
    return make(task, [&](RedisReply& reply) {
        reply.kind = RedisReply::Kind::kArray;
        reply.elements.resize(wanted);  // stays as long as it is: elements have their places in it
    });
}

void* make_integer(const redisReadTask* task, long long number) {
    return make(task, [&](RedisReply& reply) {
        reply.kind = RedisReply::Kind::kInteger;
        reply.integer = number;
    });
}

void* make_nil(const redisReadTask* task) {
    return make(task, [](RedisReply& reply) { reply.kind = RedisReply::Kind::kNil; });
}

std::unique_ptr<RedisReply> own(void* reply) {
    return std::unique_ptr<RedisReply>(static_cast<RedisReply*>(reply));
}

void free_reply(void* reply) {
    own(reply).reset();
}

// A line that says how many follow.
void append_size(std::string& out, char kind, std::size_t size) {
    std::array<char, 24> line{kind};
    char* const end = std::to_chars(line.data() + 1, line.data() + line.size(), size).ptr;
    out.append(line.data(), end);
    out.append("\r\n");
}

redisReplyObjectFunctions* functions() {
    static redisReplyObjectFunctions table{make_text, make_array, make_integer, make_nil,
                                           free_reply};
    return &table;
}

}  // namespace

std::string_view RedisReply::error_word() const {
    const std::string_view word = std::string_view(text).substr(0, text.find(' '));
    const bool is_word = !word.empty() && word.size() <= 32 &&
                         std::ranges::all_of(word, [](char c) { return c >= 'A' && c <= 'Z'; });
    return is_word ? word : std::string_view("ERR");
}

void append_command(std::string& out, std::span<const std::string_view> words) {
    // By hand: hiredis prints each number, and makes a text of its own that would be copied.
    append_size(out, '*', words.size());
    for (const std::string_view word : words) {
        append_size(out, '$', word.size());
        out.append(word);
        out.append("\r\n");
    }
}

struct RedisReplyReader::Impl {
    Impl() : reader(redisReaderCreateWithFunctions(functions()), redisReaderFree) {
        if (!reader) {
            throw std::bad_alloc();
        }
        reader->privdata = &budget;
        reader->maxbuf = kKeptBufferBytes;
    }

    Budget budget;
    std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader;
    std::size_t unread = 0;  // bytes of what is no whole reply yet
    bool is_fed = true;
};

RedisReplyReader::RedisReplyReader() : impl_(std::make_unique<Impl>()) {}

RedisReplyReader::~RedisReplyReader() = default;

void RedisReplyReader::feed(std::string_view bytes) {
    impl_->unread += bytes.size();
    impl_->is_fed = redisReaderFeed(impl_->reader.get(), bytes.data(), bytes.size()) == REDIS_OK;
}

RedisReplyReader::State RedisReplyReader::next(RedisReply& out) {
    redisReader* const reader = impl_->reader.get();
    void* made = nullptr;
    if (!impl_->is_fed || redisReaderGetReply(reader, &made) != REDIS_OK) {
        return impl_->budget.is_exceeded ? State::kTooLarge : State::kGarbled;
    }
    if (made == nullptr) {
        return impl_->unread > kMaxReplyBytes ? State::kTooLarge : State::kNeedsMore;
    }
    out = std::move(*own(made));
    impl_->budget = Budget();
    // What follows in the buffer belongs to later replies.
    impl_->unread = reader->len - reader->pos;
    return State::kReply;
}

}  // namespace sluice::io
