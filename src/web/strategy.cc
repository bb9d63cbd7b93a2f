#include "web/strategy.h"

#include "web/failover.h"
#include "web/hedge.h"
#include "web/merge.h"

#include <string>
#include <utility>

namespace sluice::web {

Task<StrategyResult> run_strategy(const SearchWork& work) {
    switch (work.config->strategy(*work.request)) {
        case Strategy::kFailover:
            return run_failover(work);
        case Strategy::kMerge:
            return run_merge(work);
        case Strategy::kHedge:
            return run_hedge(work);
        case Strategy::kOfLane:
            break;
    }
    SLUICE_ASSERT(false && "a Strategy outside its enumeration");
}

std::shared_ptr<SearchAnswer> make_answer(const SearchRequest& request, std::string_view provider,
                                          std::shared_ptr<const ProviderAnswer> found) {
    return std::make_shared<SearchAnswer>(std::string(request.query.reveal()), request.lane,
                                          std::string(provider), std::move(found));
}

}  // namespace sluice::web
