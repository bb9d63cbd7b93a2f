#include "io/http_message.h"

#include "base/text.h"

#define ZLIB_CONST  // its input is const then, as ours is
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

namespace sluice::io {

namespace {

// Compressed once and sent many times, on a thread that serves others: the levels are where more
// effort stops paying for JSON.
constexpr int kDeflateLevel = 5;
constexpr int kZstdLevel = 3;
constexpr int kRawDeflate = -15;  // the largest window, no zlib header
constexpr int kMemoryLevel = 8;   // zlib's default

// Whole bytes that more blocks may follow: the last one, which an answer adds, is not among them.
std::string raw_deflate(std::string_view plain) {
    z_stream stream{};
    if (deflateInit2(&stream, kDeflateLevel, Z_DEFLATED, kRawDeflate, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        throw std::bad_alloc();
    }
    std::string out;
    // The bound is for a stream that ends; what makes it whole bytes instead takes a few more.
    constexpr std::size_t kFlushBytes = 16;
    out.resize(deflateBound(&stream, static_cast<uLong>(plain.size())) + kFlushBytes);
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    // zlib counts in 32 bits; bodies of 4 GiB and more are fed in steps.
    constexpr std::size_t kStep = std::size_t{1} << 30;
    std::size_t room = out.size();
    for (bool is_done = false; !is_done;) {
        const std::size_t in = std::min(plain.size(), kStep);
        const std::size_t space = std::min(room, kStep);
        stream.next_in = reinterpret_cast<const Bytef*>(plain.data());
        stream.avail_in = static_cast<uInt>(in);
        stream.avail_out = static_cast<uInt>(space);
        const bool is_last = in == plain.size();
        const int state = deflate(&stream, is_last ? Z_SYNC_FLUSH : Z_NO_FLUSH);
        SLUICE_ASSERT(state == Z_OK);
        plain.remove_prefix(in - stream.avail_in);
        room -= space - stream.avail_out;
        is_done = is_last && stream.avail_out > 0;
        SLUICE_ASSERT(is_done || room > 0);
    }
    deflateEnd(&stream);
    out.resize(out.size() - room);
    out.shrink_to_fit();
    return out;
}

void append_zstd_frame(std::string& out, std::string_view plain) {
    const std::size_t before = out.size();
    out.resize(before + ZSTD_compressBound(plain.size()));
    const std::size_t size = ZSTD_compress(out.data() + before, out.size() - before, plain.data(),
                                           plain.size(), kZstdLevel);
    if (ZSTD_isError(size) != 0) {
        throw std::bad_alloc();  // the only failure that a large enough output leaves
    }
    out.resize(before + size);
}

std::string zstd_frame(std::string_view plain) {
    std::string out;
    append_zstd_frame(out, plain);
    out.shrink_to_fit();
    return out;
}

std::uint32_t checksum(std::string_view plain) {
    const auto* const bytes = reinterpret_cast<const Bytef*>(plain.data());
    return static_cast<std::uint32_t>(crc32_z(crc32_z(0, nullptr, 0), bytes, plain.size()));
}

}  // namespace

std::string_view to_string(Method method) {
    switch (method) {
        case Method::kGet:
            return "GET";
        case Method::kHead:
            return "HEAD";
        case Method::kPost:
            return "POST";
        case Method::kPut:
            return "PUT";
        case Method::kPatch:
            return "PATCH";
        case Method::kDelete:
            return "DELETE";
        case Method::kOptions:
            return "OPTIONS";
        case Method::kOther:
            return "other";
    }
    SLUICE_ASSERT(false && "a Method outside its enumeration");
}

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
    for (const HeaderField& field : headers) {
        if (field.name.size() == name.size() && equals_ignoring_case(field.name, name)) {
            return field.value;
        }
    }
    return std::nullopt;
}

// Several threads may ask at once for the first time: one compresses, the others wait for it.
struct HttpBody::Encodings {
    std::once_flag gzip_once;
    std::once_flag zstd_once;
    Encoded gzip;
    Encoded zstd;
};

HttpBody::HttpBody(std::string bytes)
    : bytes_(std::move(bytes)), encodings_(std::make_unique<Encodings>()) {}

HttpBody::~HttpBody() = default;

std::shared_ptr<const HttpBody> HttpBody::packed(std::string_view bytes) {
    SLUICE_ASSERT(!bytes.empty());
    auto body = std::make_shared<HttpBody>(std::string());
    body->packed_size_ = bytes.size();
    std::call_once(body->encodings_->zstd_once, [&] {
        std::string& frames = body->encodings_->zstd.data;
        for (std::string_view rest = bytes; !rest.empty();) {
            const std::string_view part = rest.substr(0, kPartBytes);
            append_zstd_frame(frames, part);
            body->part_ends_.push_back(frames.size());
            rest.remove_prefix(part.size());
        }
        frames.shrink_to_fit();
        body->encodings_->zstd.crc32 = checksum(bytes);
    });
    return body;
}

std::shared_ptr<const HttpBody> HttpBody::unpacked(std::shared_ptr<const HttpBody> body) {
    return body->is_packed() ? std::make_shared<const HttpBody>(body->unpack()) : body;
}

std::string_view HttpBody::bytes() const {
    SLUICE_ASSERT(!is_packed());
    return bytes_;
}

std::size_t HttpBody::memory_bytes() const {
    const std::size_t own = sizeof(HttpBody) + sizeof(Encodings);
    if (is_packed()) {
        return own + 2 * encodings_->zstd.data.capacity();
    }
    return own + bytes_.capacity() + bytes_.size() / 2;
}

std::string HttpBody::unpack() const {
    const std::string& frame = encodings_->zstd.data;
    std::string plain;
    plain.resize(packed_size_);
    const std::size_t size =
        ZSTD_decompress(plain.data(), plain.size(), frame.data(), frame.size());
    SLUICE_ASSERT(size == packed_size_);
    return plain;
}

void HttpBody::unpack_part(std::size_t part, std::string& out) const {
    SLUICE_ASSERT(part < part_ends_.size());
    const std::size_t begin = part == 0 ? 0 : part_ends_[part - 1];
    const std::string_view frame =
        std::string_view(encodings_->zstd.data).substr(begin, part_ends_[part] - begin);
    const std::size_t expected = std::min(kPartBytes, packed_size_ - part * kPartBytes);
    const std::size_t before = out.size();
    out.resize(before + expected);
    const std::size_t size =
        ZSTD_decompress(out.data() + before, expected, frame.data(), frame.size());
    SLUICE_ASSERT(size == expected);
}

const HttpBody::Encoded& HttpBody::gzip() const {
    std::call_once(encodings_->gzip_once, [this] {
        const std::string own = is_packed() ? unpack() : std::string();
        const std::string_view plain = is_packed() ? own : bytes_;
        encodings_->gzip.data = raw_deflate(plain);
        encodings_->gzip.crc32 = checksum(plain);
    });
    return encodings_->gzip;
}

const HttpBody::Encoded& HttpBody::zstd() const {
    std::call_once(encodings_->zstd_once, [this] {
        encodings_->zstd.data = zstd_frame(bytes_);
        encodings_->zstd.crc32 = checksum(bytes_);
    });
    return encodings_->zstd;
}

}  // namespace sluice::io
