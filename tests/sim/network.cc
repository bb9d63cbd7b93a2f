#include "sim/network.h"

#include "sim/bodies.h"
#include "sim/bounds.h"
#include "web/call.h"

#include <algorithm>
#include <array>
#include <charconv>
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

std::int64_t divided_up(std::int64_t amount, std::int64_t by) {
    return (amount + by - 1) / by;
}

// The number after that name in a body; `otherwise` when it is not there.
std::int64_t number_in(std::string_view body, std::string_view name, std::int64_t otherwise) {
    const std::size_t at = body.find(name);
    std::int64_t number = otherwise;
    if (at != std::string_view::npos) {
        const std::string_view text = body.substr(at + name.size());
        std::from_chars(text.data(), text.data() + text.size(), number);
    }
    return number;
}

// What the provider charges for an answer, by its price list: Serper a second credit for more than
// ten results, Exa each result beyond ten.
web::Cost charge_of(web::ProviderIndex provider, const io::ClientRequest& request) {
    const web::ProviderSpec& spec = web::all_providers()[provider]->spec();
    web::Cost charge{1, spec.micro_usd_per_unit};
    if (spec.name == "serper" && number_in(request.body, "\"num\":", 10) > 10) {
        charge = {2, 2 * spec.micro_usd_per_unit};
    } else if (spec.name == "exa") {
        charge.micro_usd +=
            1'000 * std::max<std::int64_t>(number_in(request.body, "\"numResults\":", 10) - 10, 0);
    }
    return charge;
}

// What may pass by itself within seconds, so that the same call may be made again.
bool is_passing(int status) {
    return status == 429 || status == 502 || status == 503 || status == 504;
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
      config_(config),
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
        {60, 20, 5},
        {10, 70, 10},
        {0, 10, 50},
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
    if (!retries()) {
        call->circuit = call->host->circuit.start_call();
    }
    call->host->rate.start_call();
    call->key = observers_.keys.start_call(secrets_of(request));
    call->question = observers_.searches.find(request.body + request.url);
    if (call->question != nullptr) {
        call->question->calls += 1;
    }
    call->charge = charge_of(call->host->index, request);
    call->payment = payment_for(*call);
    observers_.purses.start_call(call->payment);
    call->is_short = request.deadline - clock_.now() < web::kMinAttempt;
    check_start(*call, request);
    FakeAnswer answer = choose(*call, request);
    call->status = answer.status;
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
    if (dice - mood.spoken < mood.broken) {
        return break_off(call);
    }
    return random_.below(2) == 0 ? lie(call) : busy(call);
}

FakeAnswer Network::results(Call& call, const io::ClientRequest& request) {
    FakeAnswer answer;
    answer.delay = delay();
    if (random_.below(40) == 0) {
        answer.headers.emplace_back("x-ratelimit-limit", "99999999999999999999, -1");
        answer.headers.emplace_back("x-ratelimit-remaining", "many");
    }
    Body body;
    body.charge = call.charge;
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

FakeAnswer Network::break_off(Call& call) {
    FakeAnswer answer;
    answer.delay = delay();
    switch (random_.below(4)) {
        case 0:
            answer.stall = true;
            break;
        case 1:
            answer.error = Error{Code::kPayloadTooLarge, Blame::kProvider, "too much", {}};
            break;
        case 2:
            answer.error = Error{Code::kUpstreamFailed, Blame::kProvider, "connection reset", {}};
            break;
        default:
            call.is_unreachable = true;
            answer.error = Error{Code::kUnavailable, Blame::kProvider, "nobody listens", {}};
    }
    return answer;
}

// Overloaded: it may be well again within seconds.
FakeAnswer Network::busy(Call& call) {
    call.effect = Effect::kProvider;
    call.outcome = Outcome::kServerError;
    observers_.totals.effects[static_cast<std::size_t>(*call.effect)] += 1;
    FakeAnswer answer = test::status_answer(502 + static_cast<int>(random_.below(3)), "");
    answer.delay = delay();
    if (random_.below(3) == 0) {
        answer.headers.emplace_back("retry-after", std::to_string(random_.below(5)));
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

// Who did not wait for the answer, or lost it on the way, may have to pay for it all the same.
bool Network::is_paid(const Call& call, CallEnd end) {
    if (end == CallEnd::kFailed) {
        return !call.is_unreachable;
    }
    const bool is_spoilt = call.effect == Effect::kProvider && call.status < 300;
    return end != CallEnd::kAnswered || !call.effect || is_spoilt;
}

void Network::ended(const Call& call, CallEnd end) {
    observers_.purses.end_call(call.payment, is_paid(call, end));
    const bool kept = (end == CallEnd::kAnswered && call.effect == Effect::kGateway) ||
                      (end == CallEnd::kFailed && call.is_unreachable);
    if (kept) {
        call.host->rate.take_back();
    }
    if (call.key.key != nullptr) {
        observers_.keys.end_call(call.key,
                                 kept ? KeyBooks::Met::kNobody : KeyBooks::Met::kProvider);
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
    if (!retries()) {
        call.host->circuit.end_call(call.circuit, said);
    }
}

// What an answer has to lead to.
void Network::follow(const Call& call) {
    if (call.effect == Effect::kCaller && call.question != nullptr) {
        call.question->is_refused = true;
    }
    const bool is_about_key = call.effect == Effect::kCool || call.effect == Effect::kExhaust ||
                              call.effect == Effect::kQuarantine;
    if (is_about_key && call.reach != web::Reach::kProvider && call.key.key != nullptr) {
        tell_key(call);
    }
}

void Network::tell_key(const Call& call) {
    RestTime rest = call.rest.value_or(configured_rest(*call.effect));
    Millis delay{};
    const web::ProviderSpec& spec = web::all_providers()[call.host->index]->spec();
    if (spec.may_limit_address && call.outcome == Outcome::kRateLimited) {
        rest.least = Millis(0);  // it may be about our address, and then no key rests
    }
    if (retries() && is_passing(call.status)) {
        // The same call may be made again first. Then the last one decides.
        rest.least = Millis(0);
        delay = kLongestSearch;
    }
    observers_.keys.tell_to_rest(*call.key.key, call.reach, rest.least, rest.most, delay);
}

Payment Network::payment_for(const Call& call) const {
    Payment payment;
    payment.provider = call.host->index;
    payment.key_id = call.key.key != nullptr ? call.key.key->record.id : "";
    payment.payer = call.question != nullptr ? call.question->payer : nullptr;
    const web::ProviderSpec& spec = web::all_providers()[call.host->index]->spec();
    const std::int64_t per_1000 = config_.provider(call.host->name).price.micro_usd_per_1000;
    payment.micro_usd =
        divided_up(call.charge.micro_usd * per_1000, spec.micro_usd_per_unit * 1'000);
    return payment;
}

RestTime Network::configured_rest(Effect effect) const {
    switch (effect) {
        case Effect::kCool:
            return {config_.keys.default_cooldown, config_.keys.default_cooldown};
        case Effect::kExhaust:
            return {config_.keys.exhausted_retry, config_.keys.exhausted_retry};
        default:
            return {config_.keys.auth_failure_disable, config_.keys.auth_failure_disable};
    }
}

}  // namespace sluice::sim
