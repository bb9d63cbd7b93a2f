// How a request is put to one provider: what its API honours by itself, what becomes an operator in
// the query, what is filtered here afterwards, and what it can't honour at all. Nothing that
// somebody asked for is dropped in silence: a provider is passed over instead, or the answer says
// how each constraint was honoured. Pure functions.
#pragma once

#include "web/provider.h"
#include "web/types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::web {

std::string_view to_string(Constraint constraint);  // the request field's name

class Planner;

// What one provider makes of one request.
class CallPlan {
 public:
    struct Entry {
        Constraint constraint;
        Honour how;
    };

    // What can't be honoured, for the trace ("freshness range"): the provider is passed over.
    // Nothing when everything can.
    std::optional<std::string_view> unmet() const { return unmet_; }

    // What the adapter is given of `request`, of which the plan was made: only what it has to send,
    // within its limits.
    const SearchRequest& sent(const SearchRequest& request) const {
        return adapted_ ? *adapted_ : request;
    }

    // How each constraint is honoured; one may be twice there (in part by an operator, the rest by
    // a filter). Empty when the request has none.
    std::span<const Entry> entries() const { return {entries_.data(), count_}; }

    // Leaves out what the domain lists of `request` exclude, as far as the provider was not told.
    void filter(const SearchRequest& request, std::vector<Hit>& hits) const;

 private:
    friend class Planner;
    std::optional<std::string_view> unmet_;
    std::optional<SearchRequest> adapted_;
    std::array<Entry, kConstraintCount + 1> entries_;  // a shortened list has two
    std::size_t count_ = 0;
    bool filters_include_ = false;
    bool filters_exclude_ = false;
};

CallPlan plan_call(const ProviderSpec& spec, const SearchRequest& request);

// The entries of the plan for `request` as an answer lists them, after a call that was built as
// `variant`.
std::vector<Honoured> honoured(const CallPlan& plan, const ProviderSpec& spec,
                               const SearchRequest& request, BuildVariant variant);

}  // namespace sluice::web
