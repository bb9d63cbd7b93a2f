#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace sluice {

std::string_view to_string(Code code) {
    switch (code) {
        case Code::kInvalidRequest:
            return "invalid_request";
        case Code::kQueryRejected:
            return "query_rejected";
        case Code::kUnauthenticated:
            return "unauthenticated";
        case Code::kForbidden:
            return "forbidden";
        case Code::kForeignOrigin:
            return "foreign_origin";
        case Code::kNotFound:
            return "not_found";
        case Code::kMethodNotAllowed:
            return "method_not_allowed";
        case Code::kNotAcceptable:
            return "not_acceptable";
        case Code::kRequestTimeout:
            return "request_timeout";
        case Code::kPayloadTooLarge:
            return "payload_too_large";
        case Code::kUriTooLong:
            return "uri_too_long";
        case Code::kUnsupportedMediaType:
            return "unsupported_media_type";
        case Code::kExpectationFailed:
            return "expectation_failed";
        case Code::kHeadersTooLarge:
            return "headers_too_large";
        case Code::kConflict:
            return "conflict";
        case Code::kRateLimited:
            return "rate_limited";
        case Code::kBudgetExhausted:
            return "budget_exhausted";
        case Code::kOverloaded:
            return "overloaded";
        case Code::kNoUsableKey:
            return "no_usable_key";
        case Code::kUpstreamFailed:
            return "upstream_failed";
        case Code::kTimeout:
            return "upstream_timeout";
        case Code::kDeadlineExceeded:
            return "deadline_exceeded";
        case Code::kNotCached:
            return "not_cached";
        case Code::kCancelled:
            return "cancelled";
        case Code::kUnavailable:
            return "unavailable";
        case Code::kVersionNotSupported:
            return "version_not_supported";
        case Code::kInternal:
            return "internal";
    }
    SLUICE_ASSERT(false && "a Code outside its enumeration");
}

std::string_view to_string(Blame blame) {
    switch (blame) {
        case Blame::kCaller:
            return "caller";
        case Blame::kKey:
            return "key";
        case Blame::kProvider:
            return "provider";
        case Blame::kGateway:
            return "gateway";
        case Blame::kTenant:
            return "tenant";
    }
    SLUICE_ASSERT(false && "a Blame outside its enumeration");
}

void assertion_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    std::abort();
}

}  // namespace sluice
