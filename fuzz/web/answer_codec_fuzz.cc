// What Redis holds of an answer, from any bytes: it is refused, or it is what would be written
// again.
#include "base/result.h"
#include "web/answer_codec.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    sluice::web::SearchRequest request;
    request.query = sluice::QueryText("q");
    const auto answer = sluice::web::decode_answer(bytes, request, {}, {});
    if (answer) {
        SLUICE_ASSERT(sluice::web::encode_answer(*answer) == bytes);
    }
    return 0;
}
