#include "web/notices.h"

#include "web/provider.h"

namespace sluice::web {

void log_notices(const WebConfig& config, const obs::Log& log) {
    for (const Provider* provider : all_providers()) {
        const ProviderSpec& spec = provider->spec();
        if (!spec.notice.empty() && config.provider(spec.name).enabled) {
            log.warn("provider_notice", {{"provider", spec.name}, {"notice", spec.notice}});
        }
    }
}

}  // namespace sluice::web
