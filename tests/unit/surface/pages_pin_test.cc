// What a PIN opens, how often it may be tried, and by whom.
#include "pages_door_fixture.h"

#include <latch>
#include <optional>
#include <string>
#include <utility>

namespace sluice::surface {
namespace {

TEST_F(PagesDoorTest, APinOpensItsPage) {
    const titles::PageRecord page = add("Secret plans", "Plan *one*.");
    claim(page.id, kHash24Space68);
    const std::string path = "/p/" + page.slug;
    const io::HttpResponse asked = get(path);
    EXPECT_EQ(asked.status, 200);
    EXPECT_THAT(asked.lead, HasSubstr("<form class=\"pin\" method=\"post\" action=\"" + path));
    EXPECT_TRUE(has_header(asked, "Cache-Control: private, no-store"));
    EXPECT_TRUE(has_header(asked, "X-Robots-Tag: noindex"));

    const io::HttpResponse wrong = send_pin(path, "pin=1111");
    EXPECT_EQ(wrong.status, 403);
    EXPECT_THAT(wrong.lead, HasSubstr("That is not the PIN."));
    EXPECT_EQ(send_pin(path, "").lead, wrong.lead) << "each wrong PIN has the same answer";
    for (const std::string& kept : {asked.lead, wrong.lead}) {
        EXPECT_EQ(kept.find("Plan"), std::string::npos);
        EXPECT_EQ(kept.find("Secret"), std::string::npos);
    }

    const io::HttpResponse right = send_pin(path, "pin=24+68");
    EXPECT_EQ(right.status, 200);
    EXPECT_THAT(right.lead, HasSubstr("Plan <em>one</em>."));
    EXPECT_TRUE(has_header(right, "Cache-Control: private, no-store"));
    EXPECT_EQ(right.headers.find("Set-Cookie"), std::string::npos);
    EXPECT_EQ(get(path).status, 200);
    EXPECT_EQ(get(path).lead, asked.lead) << "nothing is remembered";
    EXPECT_EQ(pin_tries("right"), 1);
    EXPECT_EQ(pin_tries("wrong"), 2);
}

// Five tries a minute for a client and a page, whether right or wrong; then not even the right one.
TEST_F(PagesDoorTest, APinCanBeTriedSoOften) {
    const titles::PageRecord page = add("Secret plans", "Plan *one*.");
    const titles::PageRecord other = add("Other plans");
    claim(page.id, kHash2468);
    claim(other.id, kHash1357);
    const std::string path = "/p/" + page.slug;
    for (int i = 0; i < PinGate::kTriesPerMinute; ++i) {
        EXPECT_EQ(send_pin(path, "pin=0000").status, 403);
    }
    const io::HttpResponse limited = send_pin(path, "pin=2468");
    EXPECT_EQ(limited.status, 429);
    EXPECT_NE(limited.headers.find("Retry-After: "), std::string::npos);
    EXPECT_EQ(limited.lead.find("Plan"), std::string::npos);
    EXPECT_EQ(send_pin(path, "pin=2468", "203.0.113.8").status, 200);
    EXPECT_EQ(send_pin("/p/" + other.slug, "pin=1357").status, 200);
    clock.advance(60s);
    EXPECT_EQ(send_pin(path, "pin=2468").status, 200);
    EXPECT_EQ(pin_tries("limited"), 1);
}

// However many addresses somebody guesses from: so many wrong ones an hour, and nobody's PIN is
// looked at before it is over.
TEST_F(PagesDoorTest, WrongPinsAreBoundedOverAllClients) {
    const titles::PageRecord page = add("Secret plans", "Plan *one*.");
    const titles::PageRecord other = add("Other plans");
    claim(page.id, kHash2468);
    claim(other.id, kHash1357);
    clock.set_wall(WallTime(std::chrono::hours(500'000)));
    const std::string path = "/p/" + page.slug;
    for (int i = 0; i < 40; ++i) {
        EXPECT_EQ(send_pin(path, "pin=2468", "198.51.100." + std::to_string(i)).status, 200)
            << "right ones don't count";
    }
    for (int i = 0; i < kWrongAnHour; ++i) {
        EXPECT_EQ(send_pin(path, "pin=0000", "203.0.113." + std::to_string(i)).status, 403);
    }
    // What is refused for all counts for nobody, so that each is told when all may try again.
    constexpr int kRefused = 3 * PinGate::kTriesPerMinute;
    for (int i = 0; i < kRefused; ++i) {
        const io::HttpResponse refused = send_pin(path, "pin=2468", "192.0.2.1");
        EXPECT_EQ(refused.status, 429);
        EXPECT_TRUE(has_header(refused, "Retry-After: 3600"));
    }
    EXPECT_EQ(pin_tries("page_limited"), kRefused);
    clock.advance(59min);
    const io::HttpResponse limited = send_pin(path, "pin=2468", "192.0.2.1");
    EXPECT_EQ(limited.status, 429);
    EXPECT_TRUE(has_header(limited, "Retry-After: 60"));
    EXPECT_EQ(limited.lead.find("Plan"), std::string::npos);
    EXPECT_EQ(send_pin("/p/" + other.slug, "pin=1357", "192.0.2.1").status, 200);
    EXPECT_EQ(pin_tries("page_limited"), kRefused + 1);
    clock.advance(1min);
    EXPECT_EQ(send_pin(path, "pin=2468", "192.0.2.1").status, 200);
}

// One client can't use up what all of them have, so that it locks nobody out but itself.
TEST_F(PagesDoorTest, OneClientCanNotSpendTheHourOfAll) {
    const titles::PageRecord page = add("Secret plans", "Plan *one*.");
    claim(page.id, kHash2468);
    clock.set_wall(WallTime(std::chrono::hours(500'000)));
    const std::string path = "/p/" + page.slug;
    int wrong = 0;
    for (int minute = 0; minute < 20; ++minute) {
        for (int i = 0; i < PinGate::kTriesPerMinute; ++i) {
            wrong += send_pin(path, "pin=0000").status == 403 ? 1 : 0;
        }
        clock.advance(1min);
    }
    EXPECT_EQ(wrong, kWrongAnHour / PinGate::kClientsPart);
    for (int i = 0; i <= PinGate::kTriesPerMinute; ++i) {  // what is refused counts no more
        const io::HttpResponse limited = send_pin(path, "pin=2468");
        EXPECT_EQ(limited.status, 429);
        EXPECT_TRUE(has_header(limited, "Retry-After: 2400")) << i;
    }
    EXPECT_EQ(send_pin(path, "pin=2468", "192.0.2.1").status, 200);
    EXPECT_EQ(pin_tries("page_limited"), 0);
    clock.advance(40min);
    EXPECT_EQ(send_pin(path, "pin=2468").status, 200);
}

// While nobody can tell whether a PIN is right, it is neither wrong nor a try.
TEST_F(PagesDoorTest, APinThatCanNotBeVerifiedIsNoWrongOne) {
    const titles::PageRecord page = add("Secret plans", "Plan *one*.");
    claim(page.id, kHash2468);
    can_verify = false;
    for (int i = 0; i < 2 * kWrongAnHour; ++i) {
        const io::HttpResponse unknown = send_pin("/p/" + page.slug, "pin=2468");
        EXPECT_EQ(unknown.status, 503);
        EXPECT_TRUE(has_header(unknown, "Retry-After: 1"));
    }
    EXPECT_EQ(pin_tries("wrong"), 0);
    EXPECT_EQ(pin_tries("busy"), 2 * kWrongAnHour);
    can_verify = true;
    EXPECT_EQ(send_pin("/p/" + page.slug, "pin=2468").status, 200);
}

// Who is locked out is let in by a new PIN: what was guessed of the old one says nothing of it.
TEST_F(PagesDoorTest, ANewPinEndsTheHourOfTheOldOne) {
    const titles::PageRecord page = add("Secret plans", "Plan *one*.");
    claim(page.id, kHash2468);
    const std::string path = "/p/" + page.slug;
    for (int i = 0; i < kWrongAnHour; ++i) {
        EXPECT_EQ(send_pin(path, "pin=0000", "203.0.113." + std::to_string(i)).status, 403);
    }
    EXPECT_EQ(send_pin(path, "pin=2468", "192.0.2.1").status, 429);
    claim(page.id, kHash1357);
    EXPECT_EQ(send_pin(path, "pin=1357", "192.0.2.1").status, 200);
    EXPECT_EQ(send_pin(path, "pin=2468", "192.0.2.1").status, 403);
}

// One at a time: a right one that is still looked at is not taken for the last wrong one.
TEST_F(PagesDoorTest, APinIsLookedAtAlone) {
    const titles::PageRecord page = add("Secret plans", "Plan *one*.");
    claim(page.id, kHash2468);
    const std::string path = "/p/" + page.slug;
    for (int i = 1; i < kWrongAnHour; ++i) {
        EXPECT_EQ(send_pin(path, "pin=0000", "203.0.113." + std::to_string(i)).status, 403);
    }
    std::latch go(1);
    before_verifying = [&go] { go.wait(); };
    std::optional<PinVerdict> first;
    std::optional<PinVerdict> second;
    const auto open = [&](std::string client, std::optional<PinVerdict>& verdict) {
        auto task = pins.open(std::move(client), page.id, kHash2468, Secret("2468"));
        boost::asio::co_spawn(loop, store_result(std::move(task), verdict), boost::asio::detached);
    };
    open("192.0.2.1", first);
    open("192.0.2.2", second);
    loop.restart();
    while (!second) {
        loop.run_one();
    }
    go.count_down();
    loop.run();
    EXPECT_EQ(first->outcome, PinOutcome::kRight);
    EXPECT_EQ(second->outcome, PinOutcome::kBusy);
    EXPECT_EQ(second->retry_after, 1s);
    EXPECT_EQ(send_pin(path, "pin=2468", "192.0.2.2").status, 200);
}

// Threads are shared with those who set PINs: while they have them all, visitors come back later.
TEST_F(PagesDoorTest, PinsAreVerifiedWhereTheyAreHashed) {
    const titles::PageRecord page = add("Secret plans", "Plan *one*.");
    claim(page.id, kHash2468);
    {
        const auto one = pin_threads.try_acquire();
        EXPECT_EQ(send_pin("/p/" + page.slug, "pin=2468").status, 200);
        const auto two = pin_threads.try_acquire();
        EXPECT_EQ(send_pin("/p/" + page.slug, "pin=2468").status, 503);
    }
    EXPECT_EQ(send_pin("/p/" + page.slug, "pin=2468").status, 200);
}

TEST_F(PagesDoorTest, WhatIsNoPinFormIsRefused) {
    const titles::PageRecord page = add("Secret plans");
    claim(page.id, kHash2468);
    const std::string path = "/p/" + page.slug;
    TestRequest json(Method::kPost, path, clock.now());
    json.header("Content-Type", "application/json").body("{}");
    EXPECT_EQ(ask(json).status, 415);
    EXPECT_EQ(send_pin(path, "pin=" + std::string(PagesDoor::kMaxFormBytes, '1')).status, 413);
    EXPECT_EQ(send_pin("/p/never", "pin=2468").status, 404);
    const titles::PageRecord open = add("Open", "Read *me*.");
    EXPECT_THAT(send_pin("/p/" + open.slug, "pin=2468").lead, HasSubstr("Read <em>me</em>."));
    // A form may be announced before it is sent; nobody needs a token for that.
    TestRequest held(Method::kPost, path, clock.now());
    held.header("Content-Type", "application/x-www-form-urlencoded");
    EXPECT_FALSE(router.refuse_head(held.get()));
}

TEST_F(PagesDoorTest, APageThatIsClaimedWithoutAPinIsShownToNobody) {
    const titles::PageRecord page = add("Secret plans", "Plan *one*.");
    claim(page.id, "");
    for (const io::HttpResponse& answer :
         {get("/p/" + page.slug), send_pin("/p/" + page.slug, "pin=")}) {
        EXPECT_EQ(answer.status, 404);
        EXPECT_THAT(answer.lead, HasSubstr("This page is claimed"));
        EXPECT_EQ(answer.lead.find("Plan"), std::string::npos) << answer.lead;
    }
}

}  // namespace
}  // namespace sluice::surface
