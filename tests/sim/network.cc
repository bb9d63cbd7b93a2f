#include "sim/network.h"

#include "sim/bodies.h"
#include "web/call.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::sim {

using namespace std::chrono_literals;
using test::CallEnd;
using test::FakeAnswer;
using web::Effect;
using web::Outcome;

namespace {

// The most that Retry-After may make of a pause, whatever stands there.
constexpr Millis kLongestPause = std::chrono::hours(24);

std::string secrets_of(const io::ClientRequest& request) {
    std::string text;
    for (const auto* secrets : {&request.secret_headers, &request.secret_query}) {
        for (const auto& [name, value] : *secrets) {
            text += value.reveal();
        }
    }
    for (const auto& [name, value] : request.secret_query) {
        text += value.reveal();
    }
    return text;
}

bool names(const io::ClientRequest& request, std::string_view domain) {
    return request.body.find(domain) != std::string::npos ||
           request.url.find(domain) != std::string::npos;
}

// The domains that a provider searches, which knows of a filter only what it was told.
std::vector<std::string_view> domains_for(const io::ClientRequest& request,
                                          const web::SearchRequest& asked) {
    const auto is_told = [&](const std::string& domain) { return names(request, domain); };
    const bool includes = std::ranges::any_of(asked.include_domains, is_told);
    std::vector<std::string_view> domains;
    for (const std::string_view domain : kDomains) {
        const bool is_included = !includes || std::ranges::find(asked.include_domains, domain) !=
                                                  asked.include_domains.end();
        const bool is_excluded =
            std::ranges::find(asked.exclude_domains, domain) != asked.exclude_domains.end() &&
            names(request, domain);
        if (is_included && !is_excluded) {
            domains.push_back(domain);
        }
    }
    return domains;
}

}  // namespace

Network::Network(const Repertoire& repertoire, const web::WebConfig& config, Observers observers,
                 Random& random, const Clock& clock)
    : repertoire_(repertoire),
      keys_config_(config.keys),
      observers_(observers),
      random_(random),
      clock_(clock) {
    for (const web::Provider* provider : web::all_providers()) {
        const std::string name(provider->spec().name);
        hosts_.push_back({web::index_of(*provider), provider->spec().name,
                          config.provider(name).base_url,
                          CircuitBooks(config.circuit, name, clock, observers_.violations),
                          RateBooks(name, clock, observers_.violations), Mood{}});
    }
    set_rates(config, Millis(0));
}

void Network::set_rates(const web::WebConfig& config, Millis settling) {
    for (Host& host : hosts_) {
        host.rate.set(config.provider(host.name).rate, settling);
    }
}

void Network::allow_wait(Millis wait) {
    for (Host& host : hosts_) {
        host.circuit.allow_wait(wait);
    }
}

std::size_t Network::trips() const {
    std::size_t trips = 0;
    for (const Host& host : hosts_) {
        trips += host.circuit.trips();
    }
    return trips;
}

Network::Host* Network::host_of(std::string_view url) {
    const auto found = std::ranges::find_if(
        hosts_, [url](const Host& host) { return url.starts_with(host.base_url); });
    return found == hosts_.end() ? nullptr : &*found;
}

const Network::Mood& Network::mood_of(Host& host) {
    static constexpr std::array<Mood, 7> kMoods = {{
        {97, 2, 1},
        {97, 2, 1},
        {97, 2, 1},
        {90, 5, 3},
        {60, 25, 10},
        {10, 75, 10},
        {0, 10, 60},
    }};
    if (clock_.now() >= host.mood_until) {
        host.mood = kMoods[static_cast<std::size_t>(random_.below(kMoods.size()))];
        host.mood_until = clock_.now() + Millis(1'000 + random_.below(15'000));
    }
    return host.mood;
}

FakeAnswer Network::answer(const io::ClientRequest& request) {
    observers_.totals.calls += 1;
    auto call = std::make_shared<Call>();
    call->host = host_of(request.url);
    if (call->host == nullptr) {
        observers_.violations.check(false, "a call to nobody that is known", request.url);
        return test::status_answer(404);
    }
    call->circuit = call->host->circuit.start_call();
    call->host->rate.start_call();
    call->key = observers_.keys.start_call(secrets_of(request));
    call->limits = observers_.purses.start_call();
    call->question = observers_.searches.find(request.body + request.url);
    call->is_short = request.deadline - clock_.now() < web::kMinAttempt;
    check_start(*call, request);
    FakeAnswer answer = choose(*call, request);
    answer.on_end = [this, call](CallEnd end) { ended(*call, end); };
    return answer;
}

void Network::check_start(const Call& call, const io::ClientRequest& request) {
    Violations& violations = observers_.violations;
    const Instant now = clock_.now();
    violations.check(now < request.deadline, "a call starts at its deadline", call.host->name);
    const Question* question = call.question;
    if (question == nullptr) {
        violations.check(false, "a call for a question that nobody asked", call.host->name);
        return;
    }
    violations.check(request.deadline <= question->deadline,
                     "a call may take longer than its request", question->mark);
    if (question->is_common) {
        return;
    }
    violations.check(!question->is_refused, "a call after the caller was found at fault",
                     question->mark);
    violations.check(!question->over_at || now <= *question->over_at,
                     "a call that nobody waits for", question->mark);
}

Duration Network::delay() {
    if (is_well_) {
        return 20ms;
    }
    const bool is_slow = random_.below(30) == 0;
    return Duration(
        static_cast<std::int64_t>(random_.below(is_slow ? 9'000'000'000 : 400'000'000)));
}

FakeAnswer Network::choose(Call& call, const io::ClientRequest& request) {
    if (is_well_) {
        return results(call, request);
    }
    const Mood& mood = mood_of(*call.host);
    std::uint64_t dice = random_.below(100);
    if (dice < mood.fine) {
        return results(call, request);
    }
    dice -= mood.fine;
    if (dice < mood.spoken) {
        return line(call);
    }
    return dice - mood.spoken < mood.broken ? break_off() : lie(call);
}

FakeAnswer Network::results(Call& call, const io::ClientRequest& request) {
    FakeAnswer answer;
    answer.delay = delay();
    if (random_.below(40) == 0) {
        answer.headers.emplace_back("x-ratelimit-limit", "99999999999999999999, -1");
        answer.headers.emplace_back("x-ratelimit-remaining", "many");
    }
    Body body;
    if (call.question != nullptr) {
        const web::SearchRequest& asked = call.question->request;
        body.topic = asked.topic;
        const std::vector<std::string_view> domains = domains_for(request, asked);
        const std::size_t count =
            domains.empty() || (!is_well_ && random_.below(12) == 0) ? 0 : 1 + random_.below(20);
        for (std::size_t i = 0; i < count; ++i) {
            const std::string place = "https://www." +
                                      std::string(domains[random_.below(domains.size())]) + "/" +
                                      call.question->mark + "/" + std::to_string(random_.below(50));
            body.hits.push_back({place, "A title", "A snippet"});
        }
        if (asked.want_answer && random_.below(2) == 0) {
            body.answer = "In one sentence.";
        }
    }
    if (body.hits.empty()) {
        observers_.totals.effects[static_cast<std::size_t>(Effect::kEmpty)] += 1;
    }
    answer.body = body_of(call.host->name, body);
    return answer;
}

FakeAnswer Network::line(Call& call) {
    const std::span<const Line> lines = repertoire_.lines(call.host->index);
    const Line* said = &lines[static_cast<std::size_t>(random_.below(lines.size()))];
    // What takes a key away for long is said less often, so that some are left.
    if (said->effect == Effect::kQuarantine || said->effect == Effect::kExhaust) {
        said = &lines[static_cast<std::size_t>(random_.below(lines.size()))];
    }
    // Whether a success can be read depends on what it was asked for; the cases ask as usual.
    const bool is_usual =
        call.question != nullptr && call.question->request.topic == web::Topic::kGeneral;
    if (said->response.status < 300 && !is_usual) {
        return lie(call);
    }
    observers_.totals.effects[static_cast<std::size_t>(said->effect)] += 1;
    call.effect = said->effect;
    call.outcome = said->outcome;
    call.reach = said->reach;
    call.rest = said->rest;
    FakeAnswer answer;
    answer.delay = delay();
    answer.status = said->response.status;
    answer.headers = said->response.headers;
    answer.body = said->response.body;
    return answer;
}

FakeAnswer Network::break_off() {
    FakeAnswer answer;
    answer.delay = delay();
    switch (random_.below(4)) {
        case 0:
            answer.stall = true;
            break;
        case 1:
            answer.error = Error{Code::kPayloadTooLarge, Blame::kProvider, "too much", {}};
            break;
        default:
            answer.error = Error{Code::kUnavailable, Blame::kProvider, "connection reset", {}};
    }
    return answer;
}

// What no provider says: somebody in front of it does, or it is broken.
FakeAnswer Network::lie(Call& call) {
    call.effect = Effect::kProvider;
    call.outcome = Outcome::kUnparseable;
    FakeAnswer answer;
    switch (random_.below(11)) {
        case 0:
            answer = test::status_answer(200, "{\"organic\": [{\"title\": \"cut o");
            break;
        case 1:
            answer = test::status_answer(200, "<html><body>Are you a robot?</body></html>");
            break;
        case 2:
            answer = test::status_answer(200, std::string(3'000, '['));
            break;
        case 3:
            answer = test::status_answer(200, "\x01\xff\xfe nothing to read");
            break;
        case 4:
            answer = test::status_answer(200, "");
            break;
        case 5:
            answer = test::status_answer(403, "<html><body>Access denied</body></html>");
            break;
        case 6:
            answer = test::status_answer(302, "");
            break;
        case 7:
            answer = test::status_answer(599, "{\"organic\": 18446744073709551616}");
            break;
        case 8:
            answer = test::status_answer(407, "");
            call.effect = Effect::kGateway;
            call.outcome = Outcome::kConnectError;
            break;
        default: {
            static constexpr std::array<std::string_view, 6> kNonsense = {
                "-5", "99999999999999999999999",       "soon",
                "0",  "Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"};
            answer = test::status_answer(429, "{\"message\": \"slow down\"}");
            answer.headers.emplace_back(
                "retry-after",
                kNonsense[static_cast<std::size_t>(random_.below(kNonsense.size()))]);
            call.effect = Effect::kCool;
            call.outcome = Outcome::kRateLimited;
            call.reach = web::Reach::kAccount;
            call.rest = RestTime{Millis(0), kLongestPause};
        }
    }
    observers_.totals.effects[static_cast<std::size_t>(*call.effect)] += 1;
    answer.delay = delay();
    return answer;
}

void Network::ended(const Call& call, CallEnd end) {
    if (call.key != nullptr) {
        observers_.keys.end_call(*call.key);
        // Who did not wait for the answer may have to pay for it all the same.
        const bool is_paid = end == CallEnd::kAnswered ? !call.effect : end != CallEnd::kFailed;
        if (is_paid) {
            observers_.purses.paid(call.host->index, call.key->record.id, call.limits);
        }
    }
    Said said = Said::kNothing;
    if (end == CallEnd::kFailed || (end == CallEnd::kTimedOut && !call.is_short)) {
        said = Said::kIll;
    } else if (end == CallEnd::kAnswered) {
        const bool is_well = !call.effect || call.effect == Effect::kEmpty;
        said = is_well                            ? Said::kWell
               : call.effect == Effect::kProvider ? Said::kIll
                                                  : Said::kNothing;
        follow(call);
    }
    call.host->circuit.end_call(call.circuit, said);
}

// What an answer has to lead to.
void Network::follow(const Call& call) {
    if (call.effect == Effect::kCaller && call.question != nullptr) {
        call.question->is_refused = true;
    }
    if (call.effect == Effect::kKeyCannot && call.key != nullptr) {
        observers_.keys.allow_repeat(*call.key);
    }
    const bool is_about_key = call.effect == Effect::kCool || call.effect == Effect::kExhaust ||
                              call.effect == Effect::kQuarantine;
    if (!is_about_key || call.reach == web::Reach::kProvider || call.key == nullptr) {
        return;
    }
    RestTime rest = call.rest.value_or(configured_rest(*call.effect));
    const web::ProviderSpec& spec = web::all_providers()[call.host->index]->spec();
    if (spec.may_limit_address && call.outcome == Outcome::kRateLimited) {
        rest.least = Millis(0);  // it may be about our address, and then no key rests
    }
    observers_.keys.tell_to_rest(*call.key, call.reach, rest.least, rest.most);
}

RestTime Network::configured_rest(Effect effect) const {
    switch (effect) {
        case Effect::kCool:
            return {keys_config_.default_cooldown, keys_config_.default_cooldown};
        case Effect::kExhaust:
            return {keys_config_.exhausted_retry, keys_config_.exhausted_retry};
        default:
            return {keys_config_.auth_failure_disable, keys_config_.auth_failure_disable};
    }
}

}  // namespace sluice::sim
