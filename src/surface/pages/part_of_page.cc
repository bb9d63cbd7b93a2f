#include "surface/pages/part_of_page.h"

#include "base/text.h"

#include <string_view>

namespace sluice::surface {

bool is_part_of_a_page(const io::HttpRequest& request) {
    if (const auto destination = request.header("Sec-Fetch-Dest")) {
        // "empty": a script asks. One of another site is not the reader either.
        const bool is_chosen =
            *destination == "document" ||
            (*destination == "empty" && request.header("Sec-Fetch-Site") != "cross-site");
        return !is_chosen;
    }
    const std::string_view types = request.header("Accept").value_or("");
    return contains_ignoring_case(types, "image/") && !contains_ignoring_case(types, "text/html");
}

}  // namespace sluice::surface
