// Every door of the program, in one list.
#pragma once

#include "surface/common/router.h"
#include "surface/rest/keys.h"
#include "surface/rest/ops.h"
#include "surface/rest/pages.h"
#include "surface/rest/search.h"
#include "surface/rest/usage.h"

#include <vector>

namespace sluice::surface {

// The doors outlive the routes.
std::vector<Route> all_routes(SearchDoor& search, OpsDoor& ops, KeysDoor& keys, UsageDoor& usage,
                              PageAdminDoor& pages);

}  // namespace sluice::surface
