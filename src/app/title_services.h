// What serves pages, and the search among their titles, to people and programs. Made only where
// titles.enabled says so: it has threads and a file of its own.
#pragma once

#include "access/access.h"
#include "app/config.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "base/task.h"
#include "io/sqlite_store.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "surface/all.h"
#include "surface/pages/body_renderer.h"
#include "surface/pages/door.h"
#include "surface/rest/page_search.h"
#include "titles/budget.h"
#include "titles/compute_threads.h"
#include "titles/page_store.h"
#include "titles/search.h"

#include <memory>

namespace sluice::app {

class TitleServices {
 public:
    // What it is made of; outlives it.
    struct Needs {
        Executor control;
        access::Access& access;
        titles::PageStore& pages;
        titles::ComputeThreads& pin_threads;
        Clock& clock;
        Random& random;
        const obs::Log& log;
        obs::Metrics& metrics;
    };

    // Opens the file that searches are counted in; errors are those of io/sqlite.h.
    static Result<std::unique_ptr<TitleServices>> open(const Config& config, const Needs& needs);

    surface::TitleDoors doors() { return {programs_, people_}; }

    // Applies what may change while running. Any thread.
    void reconfigure(const titles::TitlesConfig& config) { search_.reconfigure(config); }

    // Ends what is under way. Once, before the destructor, on the control loop.
    Task<void> stop();

 private:
    TitleServices(const Config& config, const Needs& needs, io::SqliteConnection budget);

    io::SqliteStore budget_file_;
    titles::SearchBudget budget_;
    titles::TitleSearch search_;
    surface::BodyRenderer bodies_;
    surface::PinGate pins_;
    surface::PageSearchDoor programs_;
    surface::PagesDoor people_;
};

}  // namespace sluice::app
