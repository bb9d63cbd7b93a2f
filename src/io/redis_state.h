// State that replicas keep together in Redis. It is whole or it is lost: what can't be read, since
// a part is missing or something else is under its name, is deleted as a whole by whoever finds it,
// and told again by everybody in a new epoch. So nobody goes on with half of it.
#pragma once

#include "io/redis.h"

#include <string>
#include <string_view>

namespace sluice::io {

// A script that reads or changes such a state. `body` is Lua; it ends with `return`, and calls
// error() where the state can't be true. `names` is there: what the state is kept under, at first
// KEYS; the body adds what it derives. The script answers as the body does, or {'stale', why} when
// the state was lost, all of which is deleted then. What Redis refuses for reasons of its own (it
// is full, or takes no writes) is an error reply, as ever, and deletes nothing.
RedisScript state_script(std::string_view body);

// Why such a script answered 'stale', for a log line; never empty.
std::string why_lost(const RedisReply& stale);

// Of what the command INFO answers: the value of "name"; empty where it does not say.
std::string info_value(std::string_view info, std::string_view name);

}  // namespace sluice::io
