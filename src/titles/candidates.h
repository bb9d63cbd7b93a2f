// What searches look through: the candidates of the page store as one immutable snapshot, read
// again only when the store's revision says that something changed.
#pragma once

#include "base/clock.h"
#include "base/hash.h"
#include "base/result.h"
#include "base/task.h"
#include "guard/singleflight.h"
#include "titles/compute_threads.h"
#include "titles/corpus.h"
#include "titles/page_store.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace sluice::titles {

// Immutable.
class Snapshot {
 public:
    Snapshot(std::int64_t revision, std::shared_ptr<const Corpus> corpus);

    std::int64_t revision() const { return revision_; }
    const Corpus& corpus() const { return *corpus_; }
    const std::shared_ptr<const Corpus>& shared_corpus() const { return corpus_; }
    // Of which pages in which versions (titles/fingerprint.h).
    const Sha256& fingerprint() const { return fingerprint_; }
    // The candidate's number in the corpus.
    std::optional<std::size_t> find(std::int64_t id) const;

 private:
    std::int64_t revision_;
    std::shared_ptr<const Corpus> corpus_;
    Sha256 fingerprint_;
    std::vector<std::uint32_t> by_id_;  // numbers in the corpus by ascending id
};

// Belongs to the thread of its executor.
class Candidates {
 public:
    // References outlive it, and it outlives its calls.
    Candidates(Executor control, PageStore& pages, Clock& clock,
               std::function<void(std::exception_ptr)> on_exception);
    ~Candidates();

    // Of the revision that the store has now, or of a later one. At most one is built at a time;
    // whoever asks meanwhile waits for it. Errors: those of PageStore and of Corpus::build(),
    // kTimeout at the deadline.
    Task<Result<std::shared_ptr<const Snapshot>>> current(Instant deadline);

    // Waits for what is under way. Before the destructor.
    Task<void> stop();

    // Any thread.
    std::size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
    Task<Result<std::shared_ptr<const Snapshot>>> refresh(std::int64_t revision,
                                                          std::shared_ptr<guard::Stake> stake);

    PageStore& pages_;
    TaskScope tasks_;
    guard::SingleFlight<int, std::shared_ptr<const Snapshot>> flights_;
    ComputeThreads builder_{"pages", 1};
    std::shared_ptr<const Snapshot> snapshot_;
    std::atomic<std::size_t> size_{0};
};

}  // namespace sluice::titles
