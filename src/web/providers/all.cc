// One line a provider: its name here, its file beside this one.
#define SLUICE_EACH_PROVIDER(PROVIDER) \
    PROVIDER(serper)                   \
    PROVIDER(tavily)                   \
    PROVIDER(exa)                      \
    PROVIDER(brave)                    \
    PROVIDER(google_cse)

#include "web/provider.h"

namespace sluice::web {

#define SLUICE_DECLARE_PROVIDER(name) const Provider& name##_provider();
SLUICE_EACH_PROVIDER(SLUICE_DECLARE_PROVIDER)
#undef SLUICE_DECLARE_PROVIDER

const std::vector<const Provider*>& all_providers() {
#define SLUICE_LIST_PROVIDER(name) &name##_provider(),
    static const std::vector<const Provider*> all = {SLUICE_EACH_PROVIDER(SLUICE_LIST_PROVIDER)};
#undef SLUICE_LIST_PROVIDER
    return all;
}

}  // namespace sluice::web
