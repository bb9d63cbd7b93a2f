#include "sim/searches.h"

#include "web/strategy.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::sim {

using web::CacheMode;
using web::Freshness;
using web::Strategy;

namespace {

constexpr std::string_view kMarkBegin = "zq";

bool one_in(Random& random, std::uint64_t n) {
    return random.below(n) == 0;
}

CacheMode random_mode(Random& random) {
    switch (random.below(10)) {
        case 0:
            return CacheMode::kRefresh;
        case 1:
            return CacheMode::kBypass;
        case 2:
            return CacheMode::kOnly;
        default:
            return CacheMode::kUse;
    }
}

Strategy random_strategy(Random& random) {
    switch (random.below(4)) {
        case 0:
            return Strategy::kMerge;
        case 1:
            return Strategy::kHedge;
        default:
            return Strategy::kFailover;
    }
}

std::vector<std::string> random_domains(Random& random) {
    std::vector<std::string> domains;
    for (const std::string_view domain : kDomains) {
        if (one_in(random, 3)) {
            domains.emplace_back(domain);
        }
    }
    std::ranges::sort(domains);
    return domains;
}

// Some, in any order, or one alone, which is asked again when it is busy.
std::vector<std::string> random_route(Random& random) {
    std::vector<std::string> route;
    if (one_in(random, 2)) {
        const auto& providers = web::all_providers();
        route.emplace_back(providers[random.below(providers.size())]->spec().name);
        return route;
    }
    for (const web::Provider* provider : web::all_providers()) {
        if (!one_in(random, 3)) {
            route.insert(
                route.begin() + static_cast<std::ptrdiff_t>(random.below(route.size() + 1)),
                std::string(provider->spec().name));
        }
    }
    return route;
}

bool lies_in(std::string_view site, const std::vector<std::string>& domains) {
    return std::ranges::any_of(domains, [site](std::string_view domain) {
        return site == domain ||
               (site.ends_with(domain) && site[site.size() - domain.size() - 1] == '.');
    });
}

}  // namespace

Searches::Searches(test::WebHarness& harness, const Payers& payers, Random& random,
                   Violations& violations, Totals& totals)
    : harness_(harness),
      payers_(payers),
      random_(random),
      violations_(violations),
      totals_(totals) {
    for (std::size_t i = 0; i < kCommon; ++i) {
        Question& question = new_question();
        question.is_common = true;
        if (one_in(random_, 2)) {
            question.payer = nullptr;
        }
        if (one_in(random_, 2)) {
            question.request.providers = random_route(random_);
        }
        common_.push_back(&question);
    }
}

std::string Searches::numbered_mark() {
    last_number_ += 1;
    return std::string(kMarkBegin) + std::to_string(last_number_) + "z";
}

Question& Searches::new_question() {
    auto question = std::make_unique<Question>();
    question->mark = numbered_mark();
    question->request.query = QueryText("What is " + question->mark + " about?");
    question->request.trace = true;
    question->payer = &payers_.any(random_);
    Question& placed = *question;
    questions_.emplace(placed.mark, std::move(question));
    return placed;
}

// What narrows a search: providers differ in what they can honour.
void Searches::vary(web::SearchRequest& request) {
    request.max_results = static_cast<std::uint32_t>(1 + random_.below(50));
    if (one_in(random_, 3)) {
        request.include_domains = random_domains(random_);
    }
    if (one_in(random_, 3)) {
        request.exclude_domains = random_domains(random_);
        std::erase_if(request.exclude_domains, [&](const std::string& domain) {
            return std::ranges::find(request.include_domains, domain) !=
                   request.include_domains.end();
        });
    }
    if (one_in(random_, 6)) {
        request.topic = web::Topic::kNews;
    }
    if (one_in(random_, 6)) {
        request.country = one_in(random_, 2) ? "de" : "us";
    }
    if (one_in(random_, 8)) {
        request.locale = "de-DE";
    }
    if (one_in(random_, 6)) {
        request.freshness.period = Freshness::Period::kWeek;
    }
    if (one_in(random_, 8)) {
        request.page = static_cast<std::uint32_t>(1 + random_.below(12));
    }
    request.want_answer = one_in(random_, 5);
    request.want_content = one_in(random_, 6);
    if (one_in(random_, 6)) {
        request.safe_search = web::SafeSearch::kStrict;
    }
    if (one_in(random_, 3)) {
        request.providers = random_route(random_);
    }
}

web::SearchRequest Searches::some_request(Question& question) {
    web::SearchRequest request = question.request;
    request.lane = one_in(random_, 4) ? web::Lane::kDeep : web::Lane::kFast;
    request.cache = random_mode(random_);
    request.strategy = random_strategy(random_);
    question.request.lane = request.lane;
    return request;
}

void Searches::ask_something() {
    const bool is_common = random_.below(100) < 60;
    Question& question =
        is_common ? *common_[static_cast<std::size_t>(random_.below(kCommon))] : new_question();
    if (!is_common) {
        vary(question.request);
    }
    send(question, some_request(question));
}

web::SearchRequest Searches::something_to_explain() {
    if (one_in(random_, 2)) {
        return some_request(*common_[static_cast<std::size_t>(random_.below(kCommon))]);
    }
    Question& question = new_question();
    vary(question.request);
    return some_request(question);
}

Instant Searches::deadline_of(const web::SearchRequest& request) const {
    return harness_.clock.now() +
           harness_.web.config()->lanes.lane(web::kind_of(request.lane)).deadline;
}

void Searches::send(Question& question, web::SearchRequest request) {
    totals_.requests += 1;
    const Instant deadline = deadline_of(request);
    question.deadline = std::max(question.deadline, deadline);
    web::SearchRequest copy = request;
    const Payer& payer = question.payer != nullptr ? *question.payer : payers_.any(random_);
    auto client = harness_.start(std::move(request), payer.token.reveal());
    waiting_.push_back({std::move(client), &question, deadline, std::move(copy)});
}

void Searches::somebody_leaves() {
    if (waiting_.empty()) {
        return;
    }
    const auto leaver =
        waiting_.begin() + static_cast<std::ptrdiff_t>(random_.below(waiting_.size()));
    if (leaver->client->reply) {
        return;
    }
    totals_.left += 1;
    harness_.hang_up(*leaver->client);
    if (!leaver->question->is_common) {
        leaver->question->over_at = harness_.clock.now();
    }
    left_.push_back(std::move(leaver->client));
    waiting_.erase(leaver);
}

void Searches::check_replies() {
    const Instant now = harness_.clock.now();
    std::erase_if(waiting_, [&](const Waiting& waiting) {
        if (waiting.client->reply) {
            check_reply(waiting);
            return true;
        }
        violations_.check(now <= waiting.deadline, "a client waits past its deadline",
                          waiting.question->mark);
        return false;
    });
}

void Searches::check_all_served() {
    check_replies();
    violations_.check(waiting_.empty(), "a client got no reply");
}

void Searches::check_reply(const Waiting& waiting) {
    Question& question = *waiting.question;
    const test::WebHarness::Client& client = *waiting.client;
    violations_.check(client.replied_at <= waiting.deadline, "a reply came after the deadline",
                      question.mark);
    if (!question.is_common) {
        question.over_at = client.replied_at;
    }
    if (const auto* served = std::get_if<web::Served>(&*client.reply)) {
        check_answer(waiting, *served);
        check_trail(waiting, served->attempts);
        return;
    }
    const auto& failure = std::get<web::Failure>(*client.reply);
    totals_.replies[std::string(to_string(failure.error.code))] += 1;
    violations_.check(failure.error.code != Code::kInternal, "an internal error", question.mark);
    check_trail(waiting, failure.attempts);
    const bool says_caller = failure.error.code == Code::kQueryRejected;
    violations_.check(question.is_common || says_caller == question.is_refused,
                      "what a provider refused is not what the client is told", question.mark);
}

void Searches::check_answer(const Waiting& waiting, const web::Served& served) {
    const std::string_view kind = served.stale      ? "stale"
                                  : served.cached   ? "fresh"
                                  : served.degraded ? "degraded"
                                                    : "live";
    totals_.replies[std::string(kind)] += 1;
    const web::SearchRequest& request = waiting.request;
    const std::string& mark = waiting.question->mark;
    if (served.cached && served.note.fate == web::CacheFate::kHit) {
        violations_.check(served.attempts.empty() && served.queued == Millis(0) && !served.stale,
                          "a cached answer carries what belongs to somebody else's request", mark);
        violations_.check(request.cache == CacheMode::kUse || request.cache == CacheMode::kOnly,
                          "a cached answer to who did not want one", mark);
    } else if (served.cached) {
        violations_.check(request.cache == CacheMode::kUse || request.cache == CacheMode::kRefresh,
                          "a kept answer in place of a failure to who did not want one", mark);
    }
    violations_.check(!served.stale || served.cached, "a stale answer that was not kept", mark);
    // A merge serves what it had found before one of its providers refused.
    const bool may_be_refused = request.strategy == Strategy::kMerge && served.degraded;
    violations_.check(
        waiting.question->is_common || !waiting.question->is_refused || may_be_refused,
        "an answer although a provider refused the request", mark);
    violations_.check(served.answer->query() == request.query.reveal(),
                      "the answer to another query", mark);
    violations_.check(served.answer->lane() == request.lane, "the answer of another lane", mark);
    check_hits(*waiting.question, request, served.answer->hits());
}

void Searches::check_hits(const Question& question, const web::SearchRequest& request,
                          const std::vector<Hit>& hits) {
    violations_.check(hits.size() <= request.max_results, "more hits than asked for",
                      question.mark);
    std::uint32_t rank = 0;
    for (const Hit& hit : hits) {
        violations_.check(hit.rank == ++rank, "ranks are not 1, 2, 3", question.mark);
        violations_.check(hit.url.find(question.mark) != std::string::npos,
                          "a hit that belongs to another question", hit.url);
        violations_.check(
            request.include_domains.empty() || lies_in(hit.site, request.include_domains),
            "a hit outside of the domains that were asked for", hit.url);
        violations_.check(!lies_in(hit.site, request.exclude_domains),
                          "a hit of a domain that was excluded", hit.url);
    }
}

void Searches::check_trail(const Waiting& waiting, const std::vector<web::Attempt>& trail) {
    violations_.check(trail.size() <= web::kMaxAttempts, "more attempts than allowed");
    bool is_refused = false;
    std::size_t calls = 0;
    for (const web::Attempt& attempt : trail) {
        calls += attempt.egress.empty() ? 0 : 1;
        totals_.outcomes[static_cast<std::size_t>(attempt.outcome)] += 1;
        is_refused = is_refused || attempt.blame == Blame::kCaller;
        violations_.check(attempt.detail.find("zq") == std::string::npos,
                          "a trail quotes the query", attempt.detail);
    }
    // A call of a merge or a hedge may still be under way.
    const Question& question = *waiting.question;
    violations_.check(question.is_common || waiting.request.strategy != Strategy::kFailover ||
                          calls == question.calls,
                      "a trail does not show every call", question.mark);
}

void Searches::expect_answer_of(std::string_view provider) {
    Question& question = new_question();
    question.payer = &payers_.without_token();
    web::SearchRequest request = question.request;
    request.providers = {std::string(provider)};
    request.cache = CacheMode::kBypass;
    question.deadline = deadline_of(request);
    web::SearchReply reply = harness_.search(std::move(request));
    const auto* served = std::get_if<web::Served>(&reply);
    const std::string why =
        served != nullptr ? "" : ": " + std::get<web::Failure>(reply).error.message;
    violations_.check(served != nullptr && !served->degraded,
                      "all is well again and a provider does not answer",
                      std::string(provider) + why);
}

Question* Searches::find(std::string_view text) {
    const std::size_t begin = text.find(kMarkBegin);
    const std::size_t end = begin == std::string_view::npos ? begin : text.find('z', begin + 1);
    if (end == std::string_view::npos) {
        return nullptr;
    }
    const auto found = questions_.find(std::string(text.substr(begin, end - begin + 1)));
    return found == questions_.end() ? nullptr : found->second.get();
}

}  // namespace sluice::sim
