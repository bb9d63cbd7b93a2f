#include "web/types.h"

#include "web/provider.h"

#include <utility>

namespace sluice::web {
namespace {

std::shared_ptr<const ProviderAnswer> shared_fields(std::optional<std::string> answer,
                                                    std::vector<Hit> hits) {
    auto found = std::make_shared<ProviderAnswer>();
    found->answer = std::move(answer);
    found->hits = std::move(hits);
    return found;
}

}  // namespace

std::string_view to_string(Lane lane) {
    switch (lane) {
        case Lane::kFast:
            return "fast";
        case Lane::kDeep:
            return "deep";
    }
    SLUICE_ASSERT(false && "a Lane outside its enumeration");
}

std::string_view to_string(CacheMode mode) {
    switch (mode) {
        case CacheMode::kUse:
            return "use";
        case CacheMode::kRefresh:
            return "refresh";
        case CacheMode::kBypass:
            return "bypass";
        case CacheMode::kOnly:
            return "only";
    }
    SLUICE_ASSERT(false && "a CacheMode outside its enumeration");
}

std::string_view to_string(Strategy strategy) {
    switch (strategy) {
        case Strategy::kFailover:
            return "failover";
        case Strategy::kMerge:
            return "merge";
        case Strategy::kHedge:
            return "hedge";
        case Strategy::kOfLane:
            return "lane";
    }
    SLUICE_ASSERT(false && "a Strategy outside its enumeration");
}

std::string_view to_string(Honour honour) {
    switch (honour) {
        case Honour::kProvider:
            return "provider";
        case Honour::kOperator:
            return "operator";
        case Honour::kFilter:
            return "filter";
        case Honour::kShortened:
            return "shortened";
    }
    SLUICE_ASSERT(false && "an Honour outside its enumeration");
}

bool was_called(Outcome outcome) {
    return outcome != Outcome::kSkippedCircuit && outcome != Outcome::kSkippedNoKey &&
           outcome != Outcome::kSkippedCapability && outcome != Outcome::kSkippedBudget;
}

std::string_view to_string(Outcome outcome) {
    switch (outcome) {
        case Outcome::kSuccess:
            return "success";
        case Outcome::kEmpty:
            return "empty";
        case Outcome::kRateLimited:
            return "rate_limited";
        case Outcome::kAuthFailed:
            return "auth_failed";
        case Outcome::kQuotaExhausted:
            return "quota_exhausted";
        case Outcome::kPlanLimit:
            return "plan_limit";
        case Outcome::kTimeout:
            return "timeout";
        case Outcome::kConnectError:
            return "connect_error";
        case Outcome::kServerError:
            return "server_error";
        case Outcome::kUnparseable:
            return "unparseable";
        case Outcome::kBadRequest:
            return "bad_request";
        case Outcome::kBlocked:
            return "blocked";
        case Outcome::kSkippedCircuit:
            return "skipped_circuit";
        case Outcome::kSkippedNoKey:
            return "skipped_no_key";
        case Outcome::kSkippedCapability:
            return "skipped_capability";
        case Outcome::kSkippedBudget:
            return "skipped_budget";
        case Outcome::kCancelled:
            return "cancelled";
    }
    SLUICE_ASSERT(false && "an Outcome outside its enumeration");
}

SearchAnswer::SearchAnswer(std::string query, Lane lane, std::string provider,
                           std::shared_ptr<const ProviderAnswer> found)
    : query_(std::move(query)),
      lane_(lane),
      provider_(std::move(provider)),
      made_at_(found->made_at),
      keep_until_(found->keep_until),
      empty_(found->empty()),
      found_(std::move(found)),
      cost_(own_bytes() + found_->memory_bytes()) {}

SearchAnswer::SearchAnswer(std::string query, Lane lane, std::string provider,
                           std::optional<std::string> answer, std::vector<Hit> hits)
    : SearchAnswer(std::move(query), lane, std::move(provider),
                   shared_fields(std::move(answer), std::move(hits))) {}

const std::optional<std::string>& SearchAnswer::answer() const {
    SLUICE_ASSERT(found_ != nullptr);
    return found_->answer;
}

const std::vector<Hit>& SearchAnswer::hits() const {
    SLUICE_ASSERT(found_ != nullptr);
    return found_->hits;
}

const std::vector<Honoured>& SearchAnswer::constraints() const {
    SLUICE_ASSERT(found_ != nullptr);
    return found_->constraints;
}

void SearchAnswer::prepare_to_keep(const Sha256& key, std::size_t pack_over) {
    cache_key_ = key;
    pack_over_ = pack_over;
}

SearchAnswer::Body SearchAnswer::body_for(
    Door door, const std::function<std::string(const SearchAnswer&)>& render) const {
    const auto index = static_cast<std::size_t>(door);
    SLUICE_ASSERT(index < kDoorCount);
    Rendered& rendered = rendered_[index];
    // Not std::call_once: an initialiser that throws hangs the next caller under ThreadSanitizer.
    if (rendered.ready.load(std::memory_order_acquire)) {
        return {rendered.body, false};
    }
    const std::lock_guard lock(rendered.mutex);
    if (rendered.ready.load(std::memory_order_relaxed)) {
        return {rendered.body, false};
    }
    rendered.body = finish(render(*this));
    cost_.fetch_add(rendered.body->memory_bytes(), std::memory_order_relaxed);
    if (doors_left_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        cost_.fetch_sub(found_->memory_bytes(), std::memory_order_relaxed);
        found_.reset();
    }
    rendered.ready.store(true, std::memory_order_release);
    return {rendered.body, true};
}

std::shared_ptr<const io::HttpBody> SearchAnswer::finish(std::string bytes) const {
    if (bytes.size() > pack_over_) {
        return io::HttpBody::packed(bytes);
    }
    bytes.shrink_to_fit();
    return std::make_shared<const io::HttpBody>(std::move(bytes));
}

std::size_t SearchAnswer::own_bytes() const {
    return sizeof(SearchAnswer) + query_.capacity() + provider_.capacity();
}

std::size_t SearchAnswer::memory_bytes() const {
    return cost_.load(std::memory_order_relaxed);
}

}  // namespace sluice::web
