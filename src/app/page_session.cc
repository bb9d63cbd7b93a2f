#include "app/page_session.h"

namespace sluice::app {

Result<std::unique_ptr<PageSession>> PageSession::open(const Config& config,
                                                       const Environment& environment,
                                                       StoreUse use) {
    if (!has_shared_pages(config)) {
        TRY_STATUS(use_data_dir(config.data_dir, use));
    }
    auto session = std::unique_ptr<PageSession>(new PageSession(config, environment));
    TRY_STATUS(session->stores_.open_pages(use));
    TRY_STATUS(session->loop_.run(session->stores_.start()));
    return session;
}

PageSession::PageSession(const Config& config, const Environment& environment)
    : stores_(config, environment, loop_.executor(), clock_, random_, log_, metrics_) {}

PageSession::~PageSession() {
    loop_.run(stores_.stop());
}

}  // namespace sluice::app
