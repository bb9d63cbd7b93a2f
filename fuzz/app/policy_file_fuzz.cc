// Any bytes as a file of policies. What is accepted is within its bounds and names only what this
// binary has; what is refused is told in lines of text.
#include "app/policy_file.h"
#include "app/yaml.h"
#include "base/json.h"
#include "base/text.h"
#include "web/provider.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using namespace sluice;

void check_policy(const app::Policy& policy) {
    SLUICE_ASSERT(!policy.name.empty() && policy.name.size() <= app::kMaxPolicyNameBytes);
    SLUICE_ASSERT(!has_control_characters(policy.name));
    JsonReader reader;
    const auto request = reader.parse(policy.request);
    SLUICE_ASSERT(request.ok() && request->is_object());
    if (policy.given.keys) {
        for (const std::string& provider : *policy.given.keys) {
            SLUICE_ASSERT(web::find_provider_index(provider).has_value());
        }
    }
    SLUICE_ASSERT(!policy.expect.max_micro_usd || *policy.expect.max_micro_usd >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const app::PolicyFile file = app::read_policies(text);
    SLUICE_ASSERT(file.errors.size() <= app::kMaxPolicyErrors);
    for (const app::PolicyFileError& error : file.errors) {
        SLUICE_ASSERT(error.line >= 1 && !error.message.empty());
        SLUICE_ASSERT(is_valid_utf8(error.message) && !has_control_characters(error.message));
    }
    if (file.errors.empty()) {
        SLUICE_ASSERT(!file.policies.empty() && file.policies.size() <= app::kMaxPolicies);
        std::ranges::for_each(file.policies, check_policy);
    }
    return 0;
}
