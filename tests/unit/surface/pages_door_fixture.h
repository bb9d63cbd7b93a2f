// The doors to pages over real files, for the tests of both.
#pragma once

#include "access/tokens.h"
#include "base/text.h"
#include "request.h"
#include "support/collecting_sink.h"
#include "support/run_io.h"
#include "support/temp_dir.h"
#include "surface/pages/door.h"
#include "surface/pages/metrics.h"
#include "surface/rest/page_search.h"
#include "titles/sqlite_page_store.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::surface {

using namespace std::chrono_literals;  // of this header's tests alone
using io::Method;
using testing::HasSubstr;

inline std::vector<Route> both(PagesDoor& pages, PageSearchDoor& programs) {
    std::vector<Route> routes = pages_routes(pages);
    for (Route& route : page_search_routes(programs)) {
        routes.push_back(std::move(route));
    }
    return routes;
}

// Of the PINs "2468", "1357" and "24 68", as crypto_pwhash_str() makes them with the least memory,
// so that tests need not wait for each.
inline constexpr const char* kHash2468 =
    "$argon2id$v=19$m=8,t=1,p=1$GYrZtaIg8F11SHYZ0KxqCA$1nMo3ZK3FRUrl5oFNEpaFS7AFJNL+q7LPoFEFcgUdcQ";
inline constexpr const char* kHash1357 =
    "$argon2id$v=19$m=8,t=1,p=1$92ljJPn4VtlDbgzHGA/XeA$kkLLsgqOUx50ziz6fa29Yh0+rAOCPcPLCzimX3IffNQ";
inline constexpr const char* kHash24Space68 =
    "$argon2id$v=19$m=8,t=1,p=1$LoJbyXkW1CYFbz9WYt+DtQ$tSWwL3Fmen7aqILo2/8Boy7yo5E+o0LVGt3YbHPX2P0";

class PagesDoorTest : public testing::Test {
 protected:
    ~PagesDoorTest() override {
        boost::asio::co_spawn(loop, search.stop(), boost::asio::detached);
        boost::asio::co_spawn(loop, bodies.stop(), boost::asio::detached);
        loop.restart();
        loop.run();
        EXPECT_EQ(broken_renderings, may_break_renderings) << "a rendering ended by an exception";
    }

    titles::PageRecord add(std::string title, std::string body = {}) {
        titles::NewPage page;
        page.title = std::move(title);
        page.body = std::move(body);
        page.author = "Ada";
        return test::run_io(loop, store.add(std::move(page))).value();
    }
    void patch(std::int64_t id, titles::PagePatch patch) {
        EXPECT_TRUE(test::run_io(loop, store.patch(id, std::move(patch))).ok());
    }
    void claim(std::int64_t id, std::string pin_hash) {
        titles::PagePatch change;
        change.is_claimed = true;
        change.pin_hash = std::move(pin_hash);
        patch(id, std::move(change));
    }
    // With all of its text in `lead`.
    io::HttpResponse ask(const TestRequest& request) {
        io::HttpReply reply = router.handle(request.get());
        if (auto* ready = std::get_if<io::HttpResponse>(&reply)) {
            return std::move(*ready);
        }
        auto response = test::run_io(loop, std::get<Task<io::HttpResponse>>(std::move(reply)));
        if (response.body) {
            response.lead.append(response.body->bytes()).append(response.tail);
        }
        return response;
    }
    // `meanwhile` is called when `early` of them have been answered.
    std::vector<io::HttpResponse> get_at_once(const std::vector<std::string>& targets,
                                              std::ptrdiff_t early = 0,
                                              const std::function<void()>& meanwhile = {}) {
        std::list<TestRequest> requests;
        std::vector<std::optional<io::HttpResponse>> answers(targets.size());
        for (std::size_t i = 0; i < targets.size(); ++i) {
            const TestRequest& request =
                requests.emplace_back(Method::kGet, targets[i], clock.now());
            auto task = std::get<Task<io::HttpResponse>>(router.handle(request.get()));
            boost::asio::co_spawn(loop, store_result(std::move(task), answers[i]),
                                  boost::asio::detached);
        }
        loop.restart();
        const auto is_answered = [](const auto& answer) { return answer.has_value(); };
        while (std::ranges::count_if(answers, is_answered) < early) {
            loop.run_one();
        }
        if (meanwhile) {
            meanwhile();
        }
        loop.run();
        std::vector<io::HttpResponse> all;
        for (auto& answer : answers) {
            all.push_back(*std::move(answer));
        }
        return all;
    }
    static std::string long_body(const std::string& end) {
        std::string body;
        while (body.size() < 3 * BodyRenderer::kShort) {
            body += "A *paragraph* of some length that is repeated.\n\n";
        }
        return body + end;
    }
    io::HttpResponse get(const std::string& target) {
        return ask(TestRequest(Method::kGet, target, clock.now()));
    }
    io::HttpResponse send_pin(const std::string& path, const std::string& form,
                              const std::string& client = "203.0.113.7") {
        TestRequest request(Method::kPost, path, clock.now());
        request.header("Content-Type", "application/x-www-form-urlencoded").body(form);
        request.from(client);
        return ask(request);
    }
    double pin_tries(const char* outcome) { return metrics.counter(kPinTries, {outcome}).value(); }
    static std::size_t rows_of(const io::HttpResponse& response) {
        std::size_t rows = 0;
        for (auto at = response.lead.find("<tr><td>"); at != std::string::npos;
             at = response.lead.find("<tr><td>", at + 1)) {
            rows += 1;
        }
        return rows;
    }

    test::TempDir dir;
    test::ManualClock clock;
    SeededRandom random{7};
    test::CollectingSink sink;
    obs::Log log{clock, sink, obs::Level::kInfo};
    obs::Metrics metrics;
    boost::asio::io_context loop{1};
    io::SqliteStore page_file{
        "pages", io::SqliteConnection::open(dir.file("pages.db"), titles::page_schema()).value(),
        metrics};
    io::SqliteStore budget_file{
        "budget",
        io::SqliteConnection::open(dir.file("budget.db"), titles::budget_schema()).value(),
        metrics};
    titles::SqlitePageStore store{page_file, page_file, clock};
    titles::SearchBudget budget{budget_file, clock};
    access::TokenTable tokens;
    access::Access access{access::AccessConfig(), true, {"127.0.0.1"}, tokens, clock, metrics};
    std::function<void()> before_scoring;
    titles::TitleSearch search{
        loop.get_executor(),
        titles::TitlesConfig(),
        access,
        store,
        budget,
        clock,
        random,
        log,
        metrics,
        [this](const titles::Corpus& corpus, const QueryText& match,
               const titles::ScoreLimits& limits, const std::stop_token& stop) {
            if (before_scoring) {
                before_scoring();
            }
            return titles::score_titles(corpus, match, limits, stop);
        }};
    titles::ComputeThreads pin_threads{"pins", 2};
    static constexpr std::int64_t kWrongAnHour = 60;
    std::function<void()> before_rendering;  // of a long body
    std::size_t may_break_renderings = 0;
    std::size_t broken_renderings = 0;  // by what that threw
    BodyRenderer bodies{loop.get_executor(), clock,
                        [this](const std::exception_ptr&) { broken_renderings += 1; },
                        [this](std::string_view markdown) {
                            if (before_rendering && markdown.size() > BodyRenderer::kShort) {
                                before_rendering();
                            }
                            return markdown_to_html(markdown);
                        }};
    bool can_verify = true;
    std::function<void()> before_verifying;
    PinGate pins{pin_threads,
                 kWrongAnHour,
                 clock,
                 random,
                 metrics,
                 [this](const std::string& hash, const Secret& pin) -> Result<bool> {
                     if (before_verifying) {
                         before_verifying();
                     }
                     if (!can_verify) {
                         return Error{Code::kOverloaded, Blame::kGateway, "no memory", {}};
                     }
                     return titles::verify_pin(hash, pin);
                 }};
    PagesDoor door{search, store, bodies, pins, access};
    PageSearchDoor programs{search, access};
    Router router{both(door, programs), access,
                  [this](const io::HttpRequest& request, const Error& error) {
                      return door.refusal(request, error);
                  }};
};

}  // namespace sluice::surface
