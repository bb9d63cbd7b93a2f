// From a body to what it asks of the keys. Any thread; pure.
#pragma once

#include "base/result.h"
#include "web/key_admin.h"
#include "web/key_store.h"

#include <string_view>

namespace sluice::surface {

// Errors: kInvalidRequest, with the field, what was expected, and the nearest known name of one
// that is not known. The secret is never in a message.
Result<web::NewKey> parse_new_key(std::string_view body);
Result<web::KeyChange> parse_key_change(std::string_view body);

}  // namespace sluice::surface
