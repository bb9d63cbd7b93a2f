// An answer as bytes, for a cache outside of this process. The query is not among them: who looks
// an answer up has it.
#pragma once

#include "base/clock.h"
#include "web/types.h"

#include <memory>
#include <string>
#include <string_view>

namespace sluice::web {

// Of an answer that no door has rendered yet. Any thread.
std::string encode_answer(const SearchAnswer& answer);

// The answer to `request` that `bytes` are, given at `made_at` and to be kept until `keep_until` at
// most. Null when they are anything else than what this version of encode_answer() writes: they
// come from outside. Any thread.
std::shared_ptr<SearchAnswer> decode_answer(std::string_view bytes, const SearchRequest& request,
                                            Instant made_at, Instant keep_until);

}  // namespace sluice::web
