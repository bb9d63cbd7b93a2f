// Result<T>: a value or an Error that says whose fault it is. Expected failures travel this way;
// exceptions mean a bug. The interface is std::expected's, so it can become an alias of that one
// day.
#pragma once

#include <cassert>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sluice {

using Millis = std::chrono::milliseconds;

// Who has to change something before the same call can succeed.
enum class Blame : std::uint8_t { kCaller, kKey, kProvider, kGateway, kTenant };

// What went wrong, in words that no protocol owns. surface/common/errors.cc maps each one to the
// status and the body of every door; a new enumerator needs a row there (-Werror=switch says so).
enum class Code : std::uint8_t {
    kInvalidRequest,        // the request itself is malformed or out of limits
    kQueryRejected,         // a provider refused this query
    kUnauthenticated,       // no token, an unknown, expired or revoked one
    kForbidden,             // the token's scopes do not cover this
    kForeignOrigin,         // a foreign web page or an unexpected Host
    kNotFound,              //
    kMethodNotAllowed,      //
    kNotAcceptable,         // Accept leaves nothing that we can give
    kRequestTimeout,        // the client was too slow to send its request
    kPayloadTooLarge,       //
    kUriTooLong,            //
    kUnsupportedMediaType,  //
    kExpectationFailed,     //
    kHeadersTooLarge,       //
    kConflict,              // the thing is there already, or in another state
    kRateLimited,           // the caller's own window is full
    kBudgetExhausted,       // what may be spent on this is spent
    kOverloaded,            // no room now: shed, queue full, too many connections
    kNoUsableKey,           // no provider of the route has a key that may be used now
    kUpstreamFailed,    // an upstream took a request and spoilt the answer; every provider failed
    kTimeout,           // an upstream did not answer in time
    kDeadlineExceeded,  // the request's own deadline passed
    kNotCached,         // the caller asked for cached answers only
    kCancelled,         // the client left
    kUnavailable,       // a store or service that we need is away
    kVersionNotSupported,  // an HTTP version that is not 1.0 or 1.1
    kInternal,             // our own mistake
};

// Snake-case name as it appears in answers, logs and metrics: "invalid_request", "caller".
std::string_view to_string(Code code);
std::string_view to_string(Blame blame);

struct Error {
    Code code = Code::kInternal;
    Blame blame = Blame::kGateway;
    std::string message;                // for people; never a secret and never the query's text
    std::optional<Millis> retry_after;  // when trying again makes sense, if that is known
};

// One Result is either a value or an Error. Reading the wrong one is our own mistake and asserts.
template <class T>
class [[nodiscard]] Result {
 public:
    using value_type = T;

    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    bool ok() const { return state_.index() == 0; }
    bool has_value() const { return ok(); }
    explicit operator bool() const { return ok(); }

    T& value() & { return std::get<0>(state_); }
    const T& value() const& { return std::get<0>(state_); }
    T&& value() && { return std::get<0>(std::move(state_)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    Error& error() & { return std::get<1>(state_); }
    const Error& error() const& { return std::get<1>(state_); }
    Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
    using value_type = void;

    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    bool ok() const { return !error_.has_value(); }
    bool has_value() const { return ok(); }
    explicit operator bool() const { return ok(); }

    Error& error() & { return *error_; }
    const Error& error() const& { return *error_; }
    Error&& error() && { return std::move(*error_); }

 private:
    std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace sluice

#define SLUICE_CONCAT_INNER(a, b) a##b
#define SLUICE_CONCAT(a, b) SLUICE_CONCAT_INNER(a, b)

// TRY(auto value, expression): on failure returns the error from this function, else declares
// value. CO_TRY is the same inside a coroutine. One per line, never inside a condition. They expand
// to declarations and not to a statement expression, since some compilers crash on co_return inside
// one.
#define TRY(lhs, ...) SLUICE_TRY(return, SLUICE_CONCAT(try_result_, __LINE__), lhs, __VA_ARGS__)
#define CO_TRY(lhs, ...) \
    SLUICE_TRY(co_return, SLUICE_CONCAT(try_result_, __LINE__), lhs, __VA_ARGS__)
#define SLUICE_TRY(leave, result, lhs, ...) \
    auto result = __VA_ARGS__;              \
    if (!result.ok()) {                     \
        leave std::move(result).error();    \
    }                                       \
    lhs = std::move(result).value()

// The same for a Result<void>.
#define TRY_STATUS(...) SLUICE_TRY_STATUS(return, SLUICE_CONCAT(try_result_, __LINE__), __VA_ARGS__)
#define CO_TRY_STATUS(...) \
    SLUICE_TRY_STATUS(co_return, SLUICE_CONCAT(try_result_, __LINE__), __VA_ARGS__)
#define SLUICE_TRY_STATUS(leave, result, ...)      \
    if (auto result = __VA_ARGS__; !result.ok()) { \
        leave std::move(result).error();           \
    }                                              \
    static_assert(true, "a semicolon follows")

// A check of our own reasoning, on in every build. Never used on input.
#define SLUICE_ASSERT(condition)        \
    ((condition) ? static_cast<void>(0) \
                 : ::sluice::assertion_failed(#condition, __FILE__, __LINE__))

namespace sluice {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}
