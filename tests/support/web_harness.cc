#include "support/web_harness.h"

#include "base/hash.h"
#include "support/run_task.h"
#include "web/key_runtime_memory.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <utility>

namespace sluice::test {

namespace {

// A client on this machine.
access::Credentials credentials(std::string_view token = {}) {
    access::Credentials credentials;
    credentials.token = token;
    credentials.client = *io::Address::parse("127.0.0.1");
    credentials.host = "127.0.0.1:8080";
    return credentials;
}

Task<void> store(Task<web::SearchReply> task, std::shared_ptr<WebHarness::Client> client,
                 const Clock& clock) {
    web::SearchReply reply = co_await std::move(task);
    if (!client->gone) {
        client->replied_at = clock.now();
        client->reply.emplace(std::move(reply));
    }
}

std::vector<std::string> provider_names() {
    const std::vector<std::string_view> names = web::provider_names();
    return {names.begin(), names.end()};
}

access::BudgetConfig for_all_providers(access::BudgetConfig config) {
    config.providers.resize(web::all_providers().size());
    return config;
}

Task<void> stop(web::Search& web, access::Budgets& budgets) {
    co_await web.stop();
    co_await budgets.stop();
}

}  // namespace

std::string serper_body(std::size_t hits) {
    std::string body = R"({"organic":[)";
    for (std::size_t i = 0; i < hits; ++i) {
        const std::string n = std::to_string(i + 1);
        body += (i == 0 ? "" : ",") + std::string(R"({"title":"Title )") + n +
                R"(","link":"https://www.site)" + n + R"(.example.com/a","snippet":"Snippet )" + n +
                R"(","position":)" + n + "}";
    }
    return body + "]}";
}

std::string tavily_body(std::size_t hits) {
    std::string body = R"({"query":"q","answer":null,"results":[)";
    for (std::size_t i = 0; i < hits; ++i) {
        const std::string n = std::to_string(i + 1);
        body += (i == 0 ? "" : ",") + std::string(R"({"title":"Title )") + n +
                R"(","url":"https://site)" + n + R"(.example.org/b","content":"Content )" + n +
                R"(","score":0.5})";
    }
    return body + "]}";
}

FakeAnswer ok_answer(const io::ClientRequest& request, std::size_t hits) {
    FakeAnswer answer;
    answer.body =
        request.url.find("serper") != std::string::npos ? serper_body(hits) : tavily_body(hits);
    return answer;
}

FakeAnswer status_answer(int status, std::string body) {
    FakeAnswer answer;
    answer.status = status;
    answer.body = std::move(body);
    return answer;
}

web::WebConfig harness_config() {
    ConfigLayers layers;
    layers.add_file("harness.toml",
                    "[routing]\nfast = [\"serper\", \"tavily\"]\n"
                    "[retry]\nmax_retries = 0\n"
                    "[providers.serper.rate]\ntokens = 0\n"
                    "[providers.tavily.rate]\ntokens = 0\n");
    ConfigReader reader(layers);
    web::WebConfig config = web::WebConfig::read(reader);
    config.cache.max_unattended = 0;
    return config;
}

WebHarness::WebHarness(web::WebConfig config, access::BudgetConfig budget_config)
    : log(clock, sink, obs::Level::kDebug),
      access(access::AccessConfig{}, true, {"127.0.0.1"}, tokens, clock, metrics),
      budgets(io.get_executor(), for_all_providers(std::move(budget_config)), provider_names(),
              spend_store, clock, log, metrics),
      keys(std::make_shared<web::MemoryKeyRuntime>(clock, config.keys.runtime)),
      http(clock, [](const io::ClientRequest& request) { return ok_answer(request); }),
      web(io.get_executor(), std::move(config), access, budgets, keys, http, egress, clock, log,
          metrics) {
    keys.set_default_accounts(web.config()->default_accounts());
    egress.configure(web.config()->egress, web.config()->egress_users());
}

WebHarness::~WebHarness() {
    boost::asio::co_spawn(io, stop(web, budgets), boost::asio::detached);
    run();
}

void WebHarness::add_key(std::string_view provider, std::string secret) {
    web::StoredKey key;
    key.record.id = to_hex(sha256(std::string(provider) + " " + secret)).substr(0, 12);
    key.record.provider = provider;
    key.secret = Secret(std::move(secret));
    stored_keys.push_back(std::move(key));
    apply_keys();
}

void WebHarness::apply_keys(std::vector<std::string> removed) {
    web::KeySet set;
    set.keys = stored_keys;
    set.removed = std::move(removed);
    keys.apply(set);
}

web::KeyCounts WebHarness::key_counts(std::string_view provider) {
    return keys.counts_of(*web::find_provider_index(provider));
}

void WebHarness::rest_key(std::string_view provider, web::KeyStatus status, Millis time) {
    web::LeaseStart start = keys.lease(*web::find_provider_index(provider), {});
    auto& lease = std::get<web::KeyLease>(std::get<web::LeaseResult>(start));
    const web::KeyRest rest{status, time, web::Reach::kKey};
    std::move(lease).settle(web::Outcome::kRateLimited, rest);
}

web::SearchRequest WebHarness::request(std::string query) const {
    web::SearchRequest request;
    request.query = QueryText(std::move(query));
    request.trace = true;
    return request;
}

std::shared_ptr<WebHarness::Client> WebHarness::start(web::SearchRequest request,
                                                      std::string_view token) {
    auto client = std::make_shared<Client>();
    RequestContext context;
    context.started = clock.now();
    web::SearchStart started = web.answer(std::move(request), credentials(token), context);
    if (auto* ready = std::get_if<web::SearchReply>(&started)) {
        client->replied_at = clock.now();
        client->reply.emplace(std::move(*ready));
        return client;
    }
    boost::asio::co_spawn(
        io, store(std::get<Task<web::SearchReply>>(std::move(started)), client, clock),
        boost::asio::bind_cancellation_slot(client->signal.slot(),
                                            [](const std::exception_ptr&) {}));
    return client;
}

void WebHarness::hang_up(Client& client) {
    client.gone = true;
    client.signal.emit(boost::asio::cancellation_type::terminal);
}

web::SearchReply WebHarness::search(web::SearchRequest request) {
    const auto client = start(std::move(request));
    run();
    while (!client->reply) {
        const auto next = clock.next_deadline();
        SLUICE_ASSERT(next.has_value() && "the search neither ended nor waits for anything");
        clock.advance_to(*next);
        run();
    }
    return std::move(*client->reply);
}

web::Explanation WebHarness::explain(web::SearchRequest request) {
    auto started = web.explain(std::move(request), credentials());
    SLUICE_ASSERT(std::holds_alternative<Task<web::Explanation>>(started));
    return run_task(io, clock, std::get<Task<web::Explanation>>(std::move(started)));
}

web::Search::Overview WebHarness::overview() {
    return run_task(io, clock, web.overview());
}

void WebHarness::run() {
    io.restart();
    while (io.poll() > 0) {
    }
}

void WebHarness::run_for(Duration limit) {
    const Instant end = clock.now() + limit;
    run();
    for (auto next = clock.next_deadline(); next && *next <= end; next = clock.next_deadline()) {
        clock.advance_to(std::max(*next, clock.now()));
        run();
    }
    clock.advance_to(end);
    run();
}

}  // namespace sluice::test
