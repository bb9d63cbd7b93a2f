// How an exception, which is always a bug, is named in logs.
#pragma once

#include <exception>
#include <string>

namespace sluice {

// Its type: "std::out_of_range", or "unknown" for what is no std::exception. Not its text, which
// may quote a query or a key. `error` is not null. Any thread.
std::string exception_type(const std::exception_ptr& error);

}  // namespace sluice
