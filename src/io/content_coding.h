// Content codings of answers: which one a client takes (RFC 9110 section 12.5.3), and how an answer
// that is partly shared is put together without compressing the shared part again.
#pragma once

#include "io/http_message.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sluice::io {

enum class Coding : std::uint8_t { kIdentity, kGzip, kZstd };

// The name as Content-Encoding has it; empty for kIdentity.
std::string_view to_string(Coding coding);

struct CodingChoice {
    Coding coding = Coding::kIdentity;
    bool identity_refused =
        false;  // "identity;q=0": the coding is used even where it gains nothing
};

// The coding with the highest quality among the Accept-Encoding fields; zstd before gzip before
// identity where they are equal. Without a field, or with one that leaves nothing, identity.
CodingChoice choose_coding(std::span<const HeaderField> fields);

// A body in pieces: `before`, then `shared` (a view into the HttpBody's memo), then `after`.
struct CodedBody {
    std::string before = {};
    std::string_view shared = {};
    std::string after = {};

    std::size_t size() const { return before.size() + shared.size() + after.size(); }
};

// `lead`, `body` and `tail` as one gzip member: the lead as stored blocks, the memoised stream, the
// tail as stored blocks, and the checksum of all, computed from theirs.
CodedBody splice_gzip(std::string_view lead, const HttpBody& body, std::string_view tail = {});
// As a frame of raw blocks and the memoised frame, and `tail` as another one; decoders take frames
// one after the other.
CodedBody splice_zstd(std::string_view lead, const HttpBody& body, std::string_view tail = {});

}  // namespace sluice::io
