// Every door of the program, in one list.
#pragma once

#include "surface/common/router.h"
#include "surface/pages/door.h"
#include "surface/rest/keys.h"
#include "surface/rest/ops.h"
#include "surface/rest/page_search.h"
#include "surface/rest/pages.h"
#include "surface/rest/search.h"
#include "surface/rest/usage.h"

#include <optional>
#include <vector>

namespace sluice::surface {

// Where titles are searched.
struct TitleDoors {
    PageSearchDoor& programs;
    PagesDoor& people;
};

// The doors outlive the routes. Without `titles` nothing is served of pages but their
// administration.
std::vector<Route> all_routes(SearchDoor& search, OpsDoor& ops, KeysDoor& keys, UsageDoor& usage,
                              PageAdminDoor& pages, const std::optional<TitleDoors>& titles);

}  // namespace sluice::surface
