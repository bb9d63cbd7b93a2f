// The real web side (search, flights, lanes, keys, cache, failover) over a manual clock and a
// scripted network, on the test's own thread.
#pragma once

#include "access/access.h"
#include "access/budget.h"
#include "access/tokens.h"
#include "io/egress.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "support/collecting_sink.h"
#include "support/fake_http_client.h"
#include "support/fake_spend_store.h"
#include "support/manual_clock.h"
#include "web/search.h"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {

// Bodies of the shape that the providers answer with.
std::string serper_body(std::size_t hits);
std::string tavily_body(std::size_t hits);
FakeAnswer ok_answer(const io::ClientRequest& request, std::size_t hits = 3);
FakeAnswer status_answer(int status, std::string body = R"({"message":"no"})");

// The defaults with the fast route serper, tavily, without rates of calls and without retries.
// A search ends with its last caller, so that leaving shows at once.
web::WebConfig harness_config();

class WebHarness {
 public:
    explicit WebHarness(web::WebConfig config = harness_config(),
                        access::BudgetConfig budget_config = {});
    ~WebHarness();

    void add_key(std::string_view provider, std::string secret);
    // What a store with `stored_keys` would say of them, and of some that it no longer has.
    void apply_keys(std::vector<std::string> removed = {});
    web::KeyCounts key_counts(std::string_view provider);
    // The provider's next key is put to rest.
    void rest_key(std::string_view provider, web::KeyStatus status, Millis time);

    web::SearchRequest request(std::string query) const;

    // One search from start to end; time passes as far as it needs to.
    web::SearchReply search(web::SearchRequest request);

    // A search under way. hang_up() is the client leaving: its reply never comes.
    struct Client {
        std::optional<web::SearchReply> reply;
        Instant replied_at{};
        bool gone = false;
        boost::asio::cancellation_signal signal;
    };

    // Starts a search; run() or run_for() moves it. Without a token it is a local caller's.
    std::shared_ptr<Client> start(web::SearchRequest request, std::string_view token = {});
    void hang_up(Client& client);

    web::Search::Overview overview();
    // What a search would do.
    web::Explanation explain(web::SearchRequest request);

    // Runs everything that needs no time to pass.
    void run();
    // Lets time pass until nothing is left to do or `limit` is over.
    void run_for(Duration limit);

    boost::asio::io_context io{1};
    ManualClock clock;
    CollectingSink sink;
    obs::Log log;
    obs::Metrics metrics;
    access::TokenTable tokens;
    access::Access access;
    FakeSpendStore spend_store{clock};
    access::Budgets budgets;
    std::vector<web::StoredKey> stored_keys;
    web::KeyPool keys;
    FakeHttpClient http;
    io::EgressRouter egress{clock, log, metrics};
    web::Search web;
};

}  // namespace sluice::test
