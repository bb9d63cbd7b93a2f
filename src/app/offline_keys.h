// The keys API without a gateway: for commands that find none running. The same door answers the
// same requests, over the store of the data directory.
#pragma once

#include "app/config.h"
#include "app/data_dir.h"
#include "app/server_call.h"
#include "base/environment.h"
#include "base/result.h"

#include <memory>
#include <string>

namespace sluice::app {

// Belongs to one thread.
class OfflineKeys {
 public:
    // Errors as app/stores.h and app/data_dir.h have them. `environment` outlives it.
    // StoreUse::kRead is for lists only.
    static Result<std::unique_ptr<OfflineKeys>> open(const Config& config,
                                                     const Environment& environment, StoreUse use);
    ~OfflineKeys();

    // What a gateway would answer over its admin socket. Of `call` the method, the target and the
    // body count.
    ServerAnswer answer(const ServerCall& call);

 private:
    struct Parts;
    explicit OfflineKeys(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace sluice::app
