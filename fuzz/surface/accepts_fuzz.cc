// Any bytes as what a request would like to get. A page is only for who names one, and never for
// who likes JSON as well as anything.
#include "base/result.h"
#include "base/text.h"
#include "io/http_message.h"
#include "surface/common/accepts.h"
#include "surface/pages/part_of_page.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace {

using namespace sluice;

bool prefers(const std::vector<io::HeaderField>& fields) {
    io::HttpRequest request;
    request.headers = fields;
    return surface::prefers_html(request);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    std::vector<io::HeaderField> fields;
    for (const std::string_view line : split_list(bytes, '\n')) {
        fields.push_back({"Accept", line});
    }
    const bool html = prefers(fields);
    SLUICE_ASSERT(!html || contains_ignoring_case(bytes, "html"));
    io::HttpRequest request;
    request.headers = fields;
    const bool is_part = surface::is_part_of_a_page(request);
    SLUICE_ASSERT(!is_part || contains_ignoring_case(bytes, "image/"));
    fields.push_back({"Accept", "application/json"});
    SLUICE_ASSERT(!prefers(fields));
    return 0;
}
