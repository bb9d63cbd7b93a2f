// Any bytes as a search: the body of a POST, and the query string of a GET. Whatever is accepted
// keeps to the limits that the rest of the program relies on.
#include "base/result.h"
#include "base/text.h"
#include "surface/rest/search_fields.h"
#include "surface/rest/search_request.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

void check(const sluice::Result<sluice::web::SearchRequest>& parsed) {
    if (!parsed.ok()) {
        SLUICE_ASSERT(parsed.error().blame == sluice::Blame::kCaller);
        SLUICE_ASSERT(sluice::is_valid_utf8(parsed.error().message));
        return;
    }
    const sluice::web::SearchRequest& request = *parsed;
    SLUICE_ASSERT(!request.query.empty());
    SLUICE_ASSERT(sluice::is_valid_utf8(request.query.reveal()));
    SLUICE_ASSERT(sluice::count_code_points(request.query.reveal()) <=
                  sluice::surface::kMaxQueryCodePoints);
    SLUICE_ASSERT(request.max_results >= 1 && request.max_results <= 50);
    SLUICE_ASSERT(request.page >= 1 && request.page <= 100);
    SLUICE_ASSERT(request.include_domains.size() <= sluice::surface::kMaxDomains);
    SLUICE_ASSERT(request.exclude_domains.size() <= sluice::surface::kMaxDomains);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    check(sluice::surface::parse_search_json(bytes));
    check(sluice::surface::parse_search_query(bytes));
    return 0;
}
