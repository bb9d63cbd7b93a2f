#include "app/title_services.h"

#include "app/faulty_scorer.h"
#include "base/exception.h"

#include <exception>
#include <string>
#include <utility>

namespace sluice::app {

namespace {

titles::TitleScorer scorer_for(const Config& config, obs::Metrics& metrics) {
    titles::TitleScorer scorer = titles::score_titles;
    return config.faults.title_rules.empty()
               ? scorer
               : faulty_scorer(std::move(scorer), config.faults, metrics);
}

Error unusable_budget_file(const Config& config, Error error) {
    error.message = config.titles.budget_file + " can't be used (" + error.message +
                    "); name a database of sluice's own or a new file, in a folder that is there "
                    "and that the gateway may write, or leave it out for search-budget.db in "
                    "data_dir";
    return unusable_setting("titles.budget_file", error);
}

}  // namespace

Result<std::unique_ptr<TitleServices>> TitleServices::open(const Config& config,
                                                           const Needs& needs) {
    auto budget = io::SqliteConnection::open(search_budget_path(config), titles::budget_schema());
    if (!budget.ok()) {
        return config.titles.budget_file.empty() ? budget.error()
                                                 : unusable_budget_file(config, budget.error());
    }
    return std::unique_ptr<TitleServices>(new TitleServices(config, needs, *std::move(budget)));
}

TitleServices::TitleServices(const Config& config, const Needs& needs, io::SqliteConnection budget)
    : budget_file_("search_budget", std::move(budget), needs.metrics),
      budget_(budget_file_, needs.clock),
      search_(needs.control, config.titles, needs.access, needs.pages, budget_, needs.clock,
              needs.random, needs.log, needs.metrics, scorer_for(config, needs.metrics)),
      bodies_(needs.control, needs.clock,
              [&log = needs.log](const std::exception_ptr& error) {
                  log.error("task_failed", {{"exception", exception_type(error)}});
              }),
      pins_(needs.pin_threads, config.titles.pin_wrong_limit_hour, needs.clock, needs.random,
            needs.metrics),
      programs_(search_, needs.access),
      people_(search_, needs.pages, bodies_, pins_, needs.access) {}

Task<void> TitleServices::stop() {
    co_await search_.stop();
    co_await bodies_.stop();
}

}  // namespace sluice::app
