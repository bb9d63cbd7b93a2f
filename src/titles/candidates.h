// What searches look through: the candidates of the page store as one immutable snapshot, read
// again only when the store's revision says that something changed.
#pragma once

#include "base/clock.h"
#include "base/hash.h"
#include "base/result.h"
#include "base/store_revision.h"
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
    // `reading` counts how often everything was read, from 1.
    Snapshot(StoreRevision revision, std::uint64_t reading, std::shared_ptr<const Corpus> corpus);

    const StoreRevision& revision() const { return revision_; }
    // Of snapshots of one reading the same page in the same version has the same title. Of another
    // one it need not: a database that was restored goes on from an older version in its own way.
    std::uint64_t reading() const { return reading_; }
    const Corpus& corpus() const { return *corpus_; }
    const std::shared_ptr<const Corpus>& shared_corpus() const { return corpus_; }
    // Of which pages in which versions (titles/fingerprint.h).
    const Sha256& fingerprint() const { return fingerprint_; }
    // The candidate's number in the corpus.
    std::optional<std::size_t> find(std::int64_t id) const;

 private:
    StoreRevision revision_;
    std::uint64_t reading_;
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
    // kDeadlineExceeded.
    Task<Result<std::shared_ptr<const Snapshot>>> current(Instant deadline);

    // Waits for what is under way. Before the destructor.
    Task<void> stop();

    // Any thread.
    std::size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
    Task<Result<std::shared_ptr<const Snapshot>>> refresh(std::shared_ptr<guard::Stake> stake);

    PageStore& pages_;
    TaskScope tasks_;
    guard::SingleFlight<int, std::shared_ptr<const Snapshot>> flights_;
    ComputeThreads builder_{"pages", 1};
    std::shared_ptr<const Snapshot> snapshot_;
    std::atomic<std::size_t> size_{0};
};

}  // namespace sluice::titles
