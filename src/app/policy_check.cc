#include "app/policy_check.h"

#include "access/spending.h"
#include "base/join.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sluice::app {

namespace {

std::string list(const std::vector<std::string>& names) {
    return names.empty() ? "nobody" : join(names, ", ");
}

const PolicyOutlook* find(const PolicyDecision& decision, std::string_view provider) {
    const auto found = std::ranges::find(decision.route, provider, &PolicyOutlook::provider);
    return found == decision.route.end() ? nullptr : &*found;
}

// "serper was skipped: skipped_no_key, the provider has no key"
std::string why_not_asked(const PolicyDecision& decision, const std::string& provider) {
    const PolicyOutlook* const outlook = find(decision, provider);
    if (outlook == nullptr) {
        return provider + " is not in the route";
    }
    return provider + " was skipped: " + outlook->skip + ", " + outlook->detail;
}

std::string refusal(const Error& error) {
    return std::string(to_string(error.code)) + ": " + error.message;
}

class Comparison {
 public:
    Comparison(const PolicyExpectation& expect, const PolicyDecision& decision)
        : expect_(expect), decision_(decision), asks_(decision.asks()) {}

    std::vector<PolicyDifference> run() {
        compare_refusal();
        if (!decision_.is_turned_away) {
            compare_first();
            compare_asks();
            compare_never();
            compare_skips();
            compare_strategy();
            compare_price();
        }
        return std::move(found_);
    }

 private:
    void add(std::string member, std::string message) {
        found_.push_back({std::move(member), std::move(message)});
    }

    void compare_refusal() {
        if (!expect_.refused) {
            if (decision_.is_turned_away) {
                add("request", "was refused with " + refusal(*decision_.refused));
            }
            return;
        }
        const std::string expected = "expected to be refused with " + *expect_.refused + ", ";
        if (!decision_.refused) {
            add("refused", expected + "got " + list(asks_) + " asked");
        } else if (to_string(decision_.refused->code) != *expect_.refused) {
            add("refused", expected + "got " + refusal(*decision_.refused));
        }
    }

    void compare_first() {
        if (!expect_.first || (!asks_.empty() && asks_.front() == *expect_.first)) {
            return;
        }
        std::string message = "expected first provider " + *expect_.first + ", got " +
                              (asks_.empty() ? "nobody" : asks_.front());
        if (!is_asked(*expect_.first)) {
            message += ": " + why_not_asked(decision_, *expect_.first);
        }
        add("first", std::move(message));
    }

    void compare_asks() {
        if (!expect_.asks || *expect_.asks == asks_) {
            return;
        }
        std::string message =
            "expected " + list(*expect_.asks) + " in this order, got " + list(asks_);
        std::string_view separator = ": ";
        for (const std::string& provider : *expect_.asks) {
            if (!is_asked(provider)) {
                message.append(separator).append(why_not_asked(decision_, provider));
                separator = "; ";
            }
        }
        add("asks", std::move(message));
    }

    void compare_never() {
        for (const std::string& provider : expect_.never) {
            if (is_asked(provider)) {
                add("never", "expected that " + provider + " is never asked, got " + list(asks_));
            }
        }
    }

    void compare_skips() {
        for (const auto& [provider, reason] : expect_.skips) {
            const PolicyOutlook* const outlook = find(decision_, provider);
            if (outlook != nullptr && outlook->skip == reason) {
                continue;
            }
            add("skips", "expected " + provider + " to be skipped: " + reason + ", got: " +
                             (is_asked(provider) ? provider + " is asked"
                                                 : why_not_asked(decision_, provider)));
        }
    }

    void compare_strategy() {
        if (expect_.strategy && *expect_.strategy != decision_.strategy) {
            add("strategy",
                "expected strategy " + *expect_.strategy + ", got " + decision_.strategy);
        }
    }

    void compare_price() {
        const std::int64_t sum = decision_.micro_usd();
        if (!expect_.max_micro_usd || sum <= *expect_.max_micro_usd) {
            return;
        }
        std::string message = "expected at most " + access::format_usd(*expect_.max_micro_usd) +
                              " USD, got " + access::format_usd(sum);
        std::string_view separator = ": ";
        for (const PolicyOutlook& outlook : decision_.route) {
            if (outlook.skip.empty()) {
                message.append(separator).append(outlook.provider).append(" ");
                message += access::format_usd(outlook.micro_usd);
                separator = ", ";
            }
        }
        add("max_usd", std::move(message));
    }

    bool is_asked(const std::string& provider) const {
        return std::ranges::find(asks_, provider) != asks_.end();
    }

    const PolicyExpectation& expect_;
    const PolicyDecision& decision_;
    const std::vector<std::string> asks_;
    std::vector<PolicyDifference> found_;
};

}  // namespace

std::vector<PolicyDifference> differences(const PolicyExpectation& expect,
                                          const PolicyDecision& decision) {
    return Comparison(expect, decision).run();
}

}  // namespace sluice::app
