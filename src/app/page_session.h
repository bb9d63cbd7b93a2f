// The pages of a configuration, for one command. A running gateway notices a change at the next
// search, so commands work the same beside one and without one.
#pragma once

#include "app/commands/common.h"
#include "app/config.h"
#include "app/private_loop.h"
#include "app/stores.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/random.h"
#include "base/result.h"
#include "obs/metrics.h"
#include "titles/page_store.h"

#include <memory>
#include <utility>

namespace sluice::app {

// Belongs to one thread.
class PageSession {
 public:
    // References outlive it. Errors as the functions of app/data_dir.h and of app/stores.h have
    // them.
    static Result<std::unique_ptr<PageSession>> open(const Config& config,
                                                     const Environment& environment, StoreUse use);
    ~PageSession();
    PageSession(const PageSession&) = delete;
    PageSession& operator=(const PageSession&) = delete;

    // To its end.
    template <class T>
    T run(Task<T> task) {
        return loop_.run(std::move(task));
    }

    titles::PageStore& pages() { return stores_.pages(); }

 private:
    PageSession(const Config& config, const Environment& environment);

    SystemClock clock_;
    SystemRandom random_;
    QuietLog log_{clock_};
    obs::Metrics metrics_;
    PrivateLoop loop_;
    Stores stores_;
};

}  // namespace sluice::app
