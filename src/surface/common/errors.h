// From a neutral error to HTTP: the one table of status and title per code, and the native
// dialect's body (application/problem+json, RFC 9457).
#pragma once

#include "base/request_context.h"
#include "base/result.h"
#include "io/http_message.h"

#include <span>
#include <string>
#include <string_view>

namespace sluice::surface {

struct ErrorRow {
    Code code;
    int status;              // HTTP
    std::string_view title;  // the same for every occurrence
    std::string_view help;   // what to do about it, as Markdown for docs/errors.md
};

// Any thread, as everything here. The rows live as long as the process, in the order of Code.
const ErrorRow& error_row(Code code);
std::span<const ErrorRow> all_error_rows();

// When trying again makes sense, if the error knows: in whole seconds, rounded up, at least 1.
void append_retry_after(std::string& headers, const Error& error);

// The complete answer, with kPrivateHeaders:
// {"type","title","status","detail","code","request_id","blame"} and, where it is known,
// "retry_after_ms" with a Retry-After header. `extra` is a JSON fragment of further members
// (",\"attempts\":[...]") or empty.
io::HttpResponse problem(const Error& error, const RequestId& id, std::string_view extra = {});

// docs/errors.md.
std::string describe_errors();

}  // namespace sluice::surface
