#include "web/types.h"

#include "web/provider.h"

#include <utility>

namespace sluice::web {
namespace {

// Names, quotes and numbers around the texts of one hit when it is rendered.
constexpr std::size_t kRenderedHitFrame = 160;
// The same for one line on a constraint.
constexpr std::size_t kRenderedConstraintFrame = 60;

std::shared_ptr<const ProviderAnswer> shared_fields(std::optional<std::string> answer,
                                                    std::vector<Hit> hits) {
    auto found = std::make_shared<ProviderAnswer>();
    found->answer = std::move(answer);
    found->hits = std::move(hits);
    return found;
}

std::size_t text_bytes(const Hit& hit) {
    const std::size_t origins = hit.origins.size() * sizeof(HitOrigin);
    return origins + hit.url.size() + hit.title.size() + hit.snippet.size() + hit.content.size() +
           hit.provider.size() + hit.site.size() +
           (hit.published_at ? hit.published_at->size() : 0);
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
      found_(std::move(found)) {
    SLUICE_ASSERT(found_ != nullptr);
}

SearchAnswer::SearchAnswer(std::string query, Lane lane, std::string provider,
                           std::optional<std::string> answer, std::vector<Hit> hits)
    : SearchAnswer(std::move(query), lane, std::move(provider),
                   shared_fields(std::move(answer), std::move(hits))) {}

const std::optional<std::string>& SearchAnswer::answer() const {
    return found_->answer;
}

const std::vector<Hit>& SearchAnswer::hits() const {
    return found_->hits;
}

const std::vector<Honoured>& SearchAnswer::constraints() const {
    return found_->constraints;
}

Instant SearchAnswer::made_at() const {
    return found_->made_at;
}

Instant SearchAnswer::keep_until() const {
    return found_->keep_until;
}

std::shared_ptr<const io::HttpBody> SearchAnswer::body_for(
    Door door, const std::function<std::string(const SearchAnswer&)>& render) const {
    const auto index = static_cast<std::size_t>(door);
    SLUICE_ASSERT(index < kDoorCount);
    Rendered& rendered = rendered_[index];
    // Not std::call_once: an initialiser that throws hangs the next caller under ThreadSanitizer.
    if (!rendered.ready.load(std::memory_order_acquire)) {
        const std::lock_guard lock(rendered.mutex);
        if (!rendered.ready.load(std::memory_order_relaxed)) {
            rendered.body = std::make_shared<const io::HttpBody>(render(*this));
            rendered.ready.store(true, std::memory_order_release);
        }
    }
    return rendered.body;
}

std::size_t SearchAnswer::memory_bytes() const {
    std::size_t texts = query_.size() + provider_.size() + (answer() ? answer()->size() : 0);
    for (const Hit& hit : hits()) {
        texts += text_bytes(hit);
    }
    for (const Honoured& honoured : constraints()) {
        texts += honoured.constraint.size() + honoured.provider.size() + kRenderedConstraintFrame;
    }
    return sizeof(SearchAnswer) + constraints().size() * sizeof(Honoured) + 2 * texts +
           hits().size() * (sizeof(Hit) + kRenderedHitFrame);
}

}  // namespace sluice::web
