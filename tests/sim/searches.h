// The clients of a run: what they ask, and what has to hold of each reply. Every query carries a
// mark by which the network knows it again; the network puts the mark into each hit, so that an
// answer to somebody else's question is recognised.
#pragma once

#include "base/random.h"
#include "sim/payers.h"
#include "sim/totals.h"
#include "sim/violations.h"
#include "support/web_harness.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::sim {

// Registrable domains of the simulated web: hits lie in them, domain lists name them.
inline constexpr std::array<std::string_view, 6> kDomains = {
    "alpha.example", "beta.example", "gamma.test", "delta.test", "epsilon.org", "zeta.net"};

// One query, by however many clients.
struct Question {
    std::string mark;                  // "zq1234z", somewhere in the query
    web::SearchRequest request;        // of the first that asked; all of a common one are alike
    bool is_common = false;            // several clients ask it
    Instant deadline{};                // the latest of those who asked
    std::optional<Instant> over_at{};  // of one that is not common: nobody waits any more
    bool is_refused = false;           // a provider said that the caller is at fault
    const Payer* payer = nullptr;      // who asks; null: anybody does
    std::size_t calls = 0;             // to providers
};

class Searches {
 public:
    // Common questions of a run.
    static constexpr std::size_t kCommon = 25;

    // References outlive it.
    Searches(test::WebHarness& harness, const Payers& payers, Random& random,
             Violations& violations, Totals& totals);

    void ask_something();
    // A client that still waits leaves, if there is one.
    void somebody_leaves();
    // Looks at what arrived, and for who waits past the deadline.
    void check_replies();
    // Everybody must have got a reply by then.
    void check_all_served();
    // A question to one provider alone, which has to be answered.
    void expect_answer_of(std::string_view provider);

    // The question whose mark is somewhere in `text`; null when there is none.
    Question* find(std::string_view text);
    // What somebody might ask, which has to lead to nothing.
    web::SearchRequest something_to_explain();
    std::size_t waiting() const { return waiting_.size(); }

 private:
    struct Waiting {
        std::shared_ptr<test::WebHarness::Client> client;
        Question* question;
        Instant deadline;
        web::SearchRequest request;
    };

    Question& common_question();
    Question& new_question();
    web::SearchRequest some_request(Question& question);
    Instant deadline_of(const web::SearchRequest& request) const;
    void vary(web::SearchRequest& request);
    void send(Question& question, web::SearchRequest request);
    void check_reply(const Waiting& waiting);
    void check_answer(const Waiting& waiting, const web::Served& served);
    void check_hits(const Question& question, const web::SearchRequest& request,
                    const std::vector<Hit>& hits);
    void check_trail(const Waiting& waiting, const std::vector<web::Attempt>& trail);
    std::string numbered_mark();

    test::WebHarness& harness_;
    const Payers& payers_;
    Random& random_;
    Violations& violations_;
    Totals& totals_;
    std::unordered_map<std::string, std::unique_ptr<Question>> questions_;  // by mark
    std::vector<Question*> common_;
    std::vector<Waiting> waiting_;
    std::vector<std::shared_ptr<test::WebHarness::Client>> left_;  // their signals are still in use
    std::uint64_t last_number_ = 0;
};

}  // namespace sluice::sim
