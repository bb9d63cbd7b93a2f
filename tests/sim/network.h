// The scripted network of a run: five providers with moods, which answer, fail, stall, cut off and
// lie. It knows what each call may and may not do at the moment when it starts, and what its end
// has to lead to.
#pragma once

#include "base/random.h"
#include "sim/key_books.h"
#include "sim/provider_books.h"
#include "sim/purse_books.h"
#include "sim/repertoire.h"
#include "sim/searches.h"
#include "sim/totals.h"
#include "sim/violations.h"
#include "support/fake_http_client.h"
#include "web/config.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::sim {

// Where the books are kept and what is reported there.
struct Observers {
    KeyBooks& keys;
    PurseBooks& purses;
    Searches& searches;
    Violations& violations;
    Totals& totals;
};

class Network {
 public:
    // References outlive it.
    Network(const Repertoire& repertoire, const web::WebConfig& config, Observers observers,
            Random& random, const Clock& clock);

    test::FakeAnswer answer(const io::ClientRequest& request);

    // From here on everybody answers at once, and well.
    void be_well() { is_well_ = true; }
    // The operator set other rates of calls.
    void set_rates(const web::WebConfig& config, Millis settling);
    std::size_t trips() const;

 private:
    // How a provider is doing.
    struct Mood {
        std::uint64_t fine;    // answers, of a hundred calls
        std::uint64_t spoken;  // says something of its repertoire
        std::uint64_t broken;  // breaks off, stalls
        // The rest: it is overloaded, or says what no provider does.
    };
    struct Host {
        web::ProviderIndex index;
        std::string_view name;
        std::string base_url;
        CircuitBooks circuit;
        RateBooks rate;
        Mood mood;
        Instant mood_until{};
    };
    // One call, from its start to its end.
    struct Call {
        Host* host = nullptr;
        CircuitBooks::Call circuit;
        KeyBooks::Call key;
        web::Cost charge = {};  // at the list price, if it is answered
        Payment payment = {};
        Question* question = nullptr;
        bool is_short = false;        // it was given too little time to say anything by running out
        bool is_unreachable = false;  // nothing of it arrived
        int status = 0;               // of its answer
        std::optional<web::Effect> effect = {};  // the same; nothing: results
        web::Outcome outcome = web::Outcome::kSuccess;
        web::Reach reach = web::Reach::kKey;
        std::optional<RestTime> rest = {};
    };

    Host* host_of(std::string_view url);
    const Mood& mood_of(Host& host);
    void check_start(const Call& call, const io::ClientRequest& request);
    test::FakeAnswer choose(Call& call, const io::ClientRequest& request);
    test::FakeAnswer results(Call& call, const io::ClientRequest& request);
    test::FakeAnswer line(Call& call);
    test::FakeAnswer break_off(Call& call);
    test::FakeAnswer busy(Call& call);
    test::FakeAnswer lie(Call& call);
    Duration delay();
    static bool is_paid(const Call& call, test::CallEnd end);
    void ended(const Call& call, test::CallEnd end);
    void follow(const Call& call);
    void tell_key(const Call& call);
    Payment payment_for(const Call& call) const;
    // Whether a call that failed may be made again by the same search.
    bool retries() const { return config_.retry.max_retries > 0; }
    RestTime configured_rest(web::Effect effect) const;

    const Repertoire& repertoire_;
    const web::WebConfig config_;
    Observers observers_;
    Random& random_;
    const Clock& clock_;
    std::deque<Host> hosts_;  // by ProviderIndex
    bool is_well_ = false;
};

}  // namespace sluice::sim
