#include "titles/candidates.h"

#include "titles/fingerprint.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <utility>

namespace sluice::titles {

namespace {

// One is built at a time, and goes on although nobody waits any more: the next search needs it.
constexpr guard::FlightLimits kOneBuild{.max_flights = 1, .max_unattended = 1};

Sha256 fingerprint_of(const Corpus& corpus) {
    std::vector<PageVersion> versions;
    versions.reserve(corpus.size());
    for (std::size_t i = 0; i < corpus.size(); ++i) {
        versions.push_back({corpus.candidate(i).id, corpus.candidate(i).version});
    }
    return corpus_fingerprint(std::move(versions));
}

// The candidates of `before`, or none, as `changes` left them.
std::vector<Candidate> merge(const Snapshot* before, CandidateSet changes) {
    if (before == nullptr) {
        return std::move(changes.candidates);
    }
    std::unordered_set<std::int64_t> replaced(changes.gone.begin(), changes.gone.end());
    for (const Candidate& candidate : changes.candidates) {
        replaced.insert(candidate.id);
    }
    std::vector<Candidate> all = std::move(changes.candidates);
    const Corpus& corpus = before->corpus();
    for (std::size_t i = 0; i < corpus.size(); ++i) {
        if (!replaced.contains(corpus.candidate(i).id)) {
            all.push_back(corpus.candidate(i));
        }
    }
    return all;
}

using Built = Result<std::shared_ptr<const Snapshot>>;

// To be run where it holds nobody up.
Task<Built> build(std::shared_ptr<const Snapshot> before, std::uint64_t reading,
                  CandidateSet changes) {
    StoreRevision revision = changes.revision;
    CO_TRY(auto corpus, Corpus::build(merge(before.get(), std::move(changes))));
    co_return std::make_shared<const Snapshot>(std::move(revision), reading, std::move(corpus));
}

Task<void> drop(std::shared_ptr<const Snapshot> old) {
    old.reset();
    co_return;
}

}  // namespace

Snapshot::Snapshot(StoreRevision revision, std::uint64_t reading,
                   std::shared_ptr<const Corpus> corpus)
    : revision_(std::move(revision)),
      reading_(reading),
      corpus_(std::move(corpus)),
      fingerprint_(fingerprint_of(*corpus_)),
      by_id_(corpus_->size()) {
    std::iota(by_id_.begin(), by_id_.end(), std::uint32_t{0});
    std::ranges::sort(by_id_, {}, [this](std::uint32_t i) { return corpus_->candidate(i).id; });
}

std::optional<std::size_t> Snapshot::find(std::int64_t id) const {
    const auto id_of = [this](std::uint32_t i) { return corpus_->candidate(i).id; };
    const auto found = std::ranges::lower_bound(by_id_, id, {}, id_of);
    return found != by_id_.end() && id_of(*found) == id ? std::optional<std::size_t>(*found)
                                                        : std::nullopt;
}

Candidates::Candidates(Executor control, PageStore& pages, Clock& clock,
                       std::function<void(std::exception_ptr)> on_exception)
    : pages_(pages),
      tasks_(std::move(control), std::move(on_exception)),
      flights_(tasks_, clock, kOneBuild) {}

Candidates::~Candidates() = default;

Task<Built> Candidates::current(Instant deadline) {
    for (bool has_waited = false;; has_waited = true) {
        CO_TRY(const StoreRevision revision, co_await pages_.revision());
        if (snapshot_ && snapshot_->revision() == revision) {
            co_return snapshot_;
        }
        auto work = [this](const std::shared_ptr<guard::Stake>& stake) { return refresh(stake); };
        CO_TRY(const auto built, co_await flights_.run(0, deadline, std::move(work)));
        // A build that was under way already may have begun before the change; the one after it
        // began after this call. Which is later numbers can't tell: a database may have gone back.
        if (has_waited || built->revision() == revision) {
            co_return built;
        }
    }
}

Task<Built> Candidates::refresh(std::shared_ptr<guard::Stake> stake) {
    const guard::Stake::Hold hold(stake.get());
    std::shared_ptr<const Snapshot> before = snapshot_;
    StoreRevision known = before ? before->revision() : StoreRevision();
    CO_TRY(auto changes, co_await pages_.candidates(std::move(known)));
    const bool adds_to_it = before && !changes.is_whole;
    const std::uint64_t reading = before ? before->reading() + (adds_to_it ? 0 : 1) : 1;
    const auto builder = builder_.try_acquire();
    SLUICE_ASSERT(builder);
    Task<Built> task = build(adds_to_it ? before : nullptr, reading, std::move(changes));
    CO_TRY(snapshot_, co_await run_on(builder->executor(), std::move(task)));
    size_.store(snapshot_->corpus().size(), std::memory_order_relaxed);
    // To take a corpus apart takes as long as an event loop may not be held up.
    Task<void> dropped = drop(std::move(before));
    co_await run_on(builder->executor(), std::move(dropped));
    co_return snapshot_;
}

Task<void> Candidates::stop() {
    tasks_.close();
    flights_.cancel_all();
    co_await tasks_.join();
}

}  // namespace sluice::titles
