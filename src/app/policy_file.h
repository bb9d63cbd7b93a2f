// The file that `sluice test` reads: requests, what is given while they are made, and what is
// expected to be decided about each. The format is docs/policy-tests.md. Any thread.
#pragma once

#include "access/spending.h"
#include "access/tokens.h"
#include "base/result.h"
#include "web/key_types.h"
#include "web/types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::app {

inline constexpr std::size_t kMaxPolicies = 1'000;
inline constexpr std::size_t kMaxPolicyNameBytes = 200;
inline constexpr std::size_t kMaxPolicyErrors = 50;  // that are told at once

// Without a token, or with one of these scopes.
struct PolicyCaller {
    bool is_anonymous = false;
    access::Scopes scopes = {access::Scope::kSearch};
    access::OwnLimits budget = {};
};

using SpentByPeriod = std::array<access::Spent, access::kPeriods>;

// What the gateway would know by then. Everything else is as after a start.
struct PolicyGiven {
    std::optional<std::vector<std::string>> keys = {};   // who has a key; nothing: everybody
    std::map<std::string, web::KeyStatus> resting = {};  // whose key rests, and why
    std::vector<std::string> disabled = {};              // whose key is disabled
    std::vector<std::string> open_circuits = {};
    SpentByPeriod gateway_spent = {};
    SpentByPeriod caller_spent = {};
    std::map<std::string, SpentByPeriod> spent = {};  // by provider
    PolicyCaller caller = {};
};

// What has no value is not looked at.
struct PolicyExpectation {
    std::optional<std::vector<std::string>> asks = {};  // all of them, in order
    std::optional<std::string> first = {};
    std::vector<std::string> never = {};
    std::map<std::string, std::string> skips = {};  // provider -> the word of why
    std::optional<std::string> strategy = {};
    std::optional<std::int64_t> max_micro_usd = {};
    std::optional<std::string> refused = {};  // the code of the error
};

struct Policy {
    std::string name;
    std::size_t line = 1;
    std::string request;  // JSON, as /v1/search takes it
    PolicyGiven given;
    PolicyExpectation expect;
};

struct PolicyFileError {
    std::size_t line = 1;
    std::string message;  // names the member: "policies[2].expect: unknown member 'ask'"
};

struct PolicyFile {
    std::vector<Policy> policies;
    std::vector<PolicyFileError> errors;  // empty: the file is right
};

PolicyFile read_policies(std::string_view text);

// The word for a provider that no search of the route would look at.
inline constexpr std::string_view kSwitchedOff = "switched_off";

}  // namespace sluice::app
