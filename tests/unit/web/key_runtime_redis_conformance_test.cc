#include "key_replicas.h"
#include "key_runtime_conformance.h"
#include "key_usage_conformance.h"
#include "web/metrics.h"

namespace sluice::test {
namespace {

class RedisStand final : public KeyRuntimeStand {
 public:
    explicit RedisStand(ManualClock& clock) : clock_(clock) {}
    ~RedisStand() override {
        EXPECT_EQ(replicas_->metrics().counter(web::kKeyPicks, {"alone"}).value(), 0);
    }

    std::shared_ptr<web::KeyRuntime> make(const web::RuntimeConfig& config) override {
        static const RedisServer server;
        replicas_ = nullptr;
        replicas_ = std::make_unique<KeyReplicas>(clock_);
        KeyReplicas::Replica& replica = replicas_->start(server.url(), config);
        std::vector<std::string> flush{"FLUSHALL"};
        SLUICE_ASSERT(
            replicas_->run(replica.redis->command(std::move(flush), Instant::max())).ok());
        return replica.keys;
    }
    void run(Task<void> task) override { replicas_->run(std::move(task)); }

 private:
    ManualClock& clock_;
    std::unique_ptr<KeyReplicas> replicas_;
};

std::unique_ptr<KeyRuntimeStand> make_redis_stand(ManualClock& clock) {
    return std::make_unique<RedisStand>(clock);
}

INSTANTIATE_TEST_SUITE_P(Redis, KeyRuntimeConformance, testing::Values(make_redis_stand));

}  // namespace
}  // namespace sluice::test
