// Whether what was decided is what a policy expects. Pure; any thread.
#pragma once

#include "app/policy_decision.h"
#include "app/policy_file.h"

#include <string>
#include <vector>

namespace sluice::app {

struct PolicyDifference {
    std::string member;   // of `expect`; "request": it was refused before anything was decided
    std::string message;  // "expected first provider serper, got tavily: serper was skipped: ..."
};

// Empty: the policy holds.
std::vector<PolicyDifference> differences(const PolicyExpectation& expect,
                                          const PolicyDecision& decision);

}  // namespace sluice::app
