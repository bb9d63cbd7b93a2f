// What PostgreSQL's own errors mean to us. For the files of io/postgres only.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

struct pg_result;

namespace sluice::io {

// The database can't be used now: kUnavailable, after a while it may be. That it does not answer in
// time is no other case than that it can't be reached.
Error away(std::string message);

// Of a failed statement; codes as io/postgres.h has them.
Error to_error(const pg_result* result);

// Whether nothing more is to be had of the connection that the statement failed on: the server goes
// down, or it forgot what was prepared.
bool ends_connection(const pg_result* result);

// A message of libpq or of the server as part of one of ours: one line, without control characters,
// bounded.
std::string one_line(std::string_view message);

}  // namespace sluice::io
