#include "key_runtime_conformance.h"
#include "web/key_runtime_memory.h"

namespace sluice::test {
namespace {

std::shared_ptr<web::KeyRuntime> make_memory_runtime(ManualClock& clock,
                                                     const web::RuntimeConfig& config) {
    return std::make_shared<web::MemoryKeyRuntime>(clock, config);
}

INSTANTIATE_TEST_SUITE_P(Memory, KeyRuntimeConformance, testing::Values(make_memory_runtime));

}  // namespace
}  // namespace sluice::test
