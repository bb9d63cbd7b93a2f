#include "web/notices.h"

#include "web/provider.h"

#include <string>
#include <string_view>
#include <vector>

namespace sluice::web {

namespace {

// Why searches pass over a provider that a route names; empty when they don't.
std::string_view reason_to_skip(const WebConfig& config, std::string_view name) {
    if (find_provider(name) == nullptr) {
        return "not in this version";
    }
    return config.provider(name).enabled ? "" : "disabled";
}

void log_skipped(std::string_view route, const std::vector<std::string>& names,
                 const WebConfig& config, const obs::Log& log) {
    for (const std::string& name : names) {
        const std::string_view reason = reason_to_skip(config, name);
        if (!reason.empty()) {
            log.info("route_skips_provider",
                     {{"route", route}, {"provider", name}, {"reason", reason}});
        }
    }
}

}  // namespace

void log_notices(const WebConfig& config, const obs::Log& log) {
    log_skipped("fast", config.route_fast, config, log);
    log_skipped("deep", config.route_deep, config, log);
    for (const Provider* provider : all_providers()) {
        const ProviderSpec& spec = provider->spec();
        if (!spec.notice.empty() && config.provider(spec.name).enabled) {
            log.warn("provider_notice", {{"provider", spec.name}, {"notice", spec.notice}});
        }
    }
}

}  // namespace sluice::web
