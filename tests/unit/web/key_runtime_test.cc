#include "key_runtime_conformance.h"
#include "key_usage_conformance.h"
#include "support/run_task.h"
#include "web/key_runtime_memory.h"

#include <boost/asio/io_context.hpp>

namespace sluice::test {
namespace {

class MemoryStand final : public KeyRuntimeStand {
 public:
    explicit MemoryStand(ManualClock& clock) : clock_(clock) {}

    std::shared_ptr<web::KeyRuntime> make(const web::RuntimeConfig& config) override {
        return std::make_shared<web::MemoryKeyRuntime>(clock_, config);
    }
    void run(Task<void> task) override { run_task(io_, clock_, std::move(task)); }

 private:
    ManualClock& clock_;
    boost::asio::io_context io_{1};
};

std::unique_ptr<KeyRuntimeStand> make_memory_stand(ManualClock& clock) {
    return std::make_unique<MemoryStand>(clock);
}

INSTANTIATE_TEST_SUITE_P(Memory, KeyRuntimeConformance, testing::Values(make_memory_stand));

}  // namespace
}  // namespace sluice::test
