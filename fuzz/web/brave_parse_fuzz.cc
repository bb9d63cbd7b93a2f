#include "judge_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const sluice::web::Provider* const provider = sluice::web::find_provider("brave");
    sluice::web::judge_everything(*provider, {reinterpret_cast<const char*>(data), size});
    return 0;
}
