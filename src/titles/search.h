// A title search, from what was typed to what is shown: search.cc answer() is the ten steps in
// order. Validation, the client's bucket, its two windows, the candidates, the cache, a scoring
// thread, the scores.
#pragma once

#include "access/access.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/task.h"
#include "io/http_message.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "titles/budget.h"
#include "titles/config.h"
#include "titles/corpus.h"
#include "titles/page_store.h"
#include "titles/query.h"
#include "titles/score.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::titles {

enum class TitleOutcome : std::uint8_t {
    kRejected,     // by validation; TitleAnswer::query says how. Nothing was spent
    kLimited,      // a window is full; nothing was spent
    kUnavailable,  // the windows can't be counted: nothing was spent; or the pages can't be read
    kBusy,         // every scoring thread is taken; the budget is spent
    kFailed,       // scoring broke; the budget is spent
    kFound,        // maybe nothing
    kLeft,         // the caller is gone; nobody gets this
};
std::string_view to_string(TitleOutcome outcome);

// What is the door's to translate.
struct TitleRequest {
    const io::HttpRequest* http = nullptr;  // valid until its reply is complete
    std::optional<std::string> typed = {};  // the first `q`, decoded; nothing: there is none
    BudgetKind kind = BudgetKind::kPage;

    TitleRequest() = default;  // no aggregate: see the rules in base/task.h
};

struct TitleHit {
    const Candidate* page = nullptr;  // of TitleAnswer::corpus, as it is now
    double score = 0;                 // 0 to 100
};

struct TitleAnswer {
    TitleOutcome outcome = TitleOutcome::kRejected;
    TitleQuery query;
    std::optional<BudgetVerdict> budget;   // once the windows were asked
    std::chrono::seconds retry_after{};    // of kLimited, kUnavailable and kBusy: at least 1
    std::shared_ptr<const Corpus> corpus;  // of kFound
    std::vector<TitleHit> hits;            // the best first, at most titles.result_limit
    std::size_t total_matched = 0;         // at least as many
    bool is_truncated = false;             // more matched than are listed
    bool from_cache = false;
};

// score_titles(), or what a test puts in its place. Called on several threads at once; may throw.
using TitleScorer =
    std::function<std::optional<Ranking>(const Corpus& corpus, const QueryText& match,
                                         const ScoreLimits& limits, const std::stop_token& stop)>;

// Any thread; what has to happen in one place happens on the control loop.
class TitleSearch {
 public:
    // References outlive it, and it outlives its calls.
    TitleSearch(Executor control, TitlesConfig config, const access::Access& access,
                PageStore& pages, SearchBudget& budget, Clock& clock, Random& random,
                const obs::Log& log, obs::Metrics& metrics, TitleScorer scorer = score_titles);
    ~TitleSearch();
    TitleSearch(const TitleSearch&) = delete;
    TitleSearch& operator=(const TitleSearch&) = delete;

    // Every end of a search is an answer. Nothing is logged of what was typed.
    Task<TitleAnswer> answer(TitleRequest request);

    // Applies what may change while running.
    void reconfigure(TitlesConfig config);

    // Waits for what is under way besides the calls. Once, before the destructor, while the control
    // loop runs.
    Task<void> stop();

 private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace sluice::titles
