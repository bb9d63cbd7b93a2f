#include "access/budget.h"

#include "access/metrics.h"
#include "access/shared_budgets.h"
#include "access/spend_writer.h"
#include "base/rfc3339.h"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace sluice::access {

namespace {

constexpr Millis kUsedUpLogInterval{60'000};
constexpr Millis kOverrunLogInterval{60'000};

// The setting of the limit that has no room.
std::string setting_of(const Refused& refused, std::string_view provider,
                       std::string_view token_id) {
    std::string name;
    switch (refused.purse) {
        case Purse::kGateway:
            name = "budgets.gateway.";
            break;
        case Purse::kProvider:
            name = "budgets.providers." + std::string(provider) + ".";
            break;
        case Purse::kToken:
            name = token_id.empty() ? "budgets.anonymous." : "the token's ";
            break;
        case Purse::kKey:
            name = "budgets.key_default.";
            break;
    }
    name += refused.shortage.measure == Measure::kCalls ? "calls_" : "usd_";
    name += to_string(refused.shortage.period);
    return name;
}

BudgetRefusal explain(const Refused& refused, std::string_view provider, std::string_view token_id,
                      UtcDay today) {
    BudgetRefusal refusal;
    refusal.budget = refused;
    refusal.resets_at = resets_at(refused.shortage.period, today);
    refusal.detail = setting_of(refused, provider, token_id) + " has no room for this call";
    if (refusal.resets_at) {
        refusal.detail += " until " + rfc3339(*refusal.resets_at);
    }
    return refusal;
}

}  // namespace

// Everything, shared with the reservations, which may outlive the Budgets that they came from.
struct Reservation::Ledger {
    Ledger(Executor control_loop, BudgetConfig config, std::vector<std::string> providers,
           SpendStore& spend_store, Clock& time, const obs::Log& logger, obs::Metrics& metrics,
           SharedBudgets* shared_budgets)
        : control(control_loop),
          store(spend_store),
          clock(time),
          log(logger),
          shared(shared_budgets),
          books(std::move(config), std::move(providers), utc_day(time.wall_now())),
          writer(std::move(control_loop), spend_store, time, logger, metrics),
          open(metrics.gauge(kBudgetReservations)),
          refused_by_store(metrics.counter(kBudgetRefused, {"store"})),
          used_up_lines(1, kUsedUpLogInterval),
          overrun_lines(1, kOverrunLogInterval) {
        for (const Purse purse : {Purse::kGateway, Purse::kProvider, Purse::kToken, Purse::kKey}) {
            const std::string name(to_string(purse));
            refused[static_cast<std::size_t>(purse)] = metrics.counter(kBudgetRefused, {name});
            overrun[static_cast<std::size_t>(purse)] = metrics.counter(kBudgetOverrun, {name});
        }
        for (const std::string& name : books.providers()) {
            spent_usd.push_back(metrics.counter(kSpendUsd, {name}));
            spent_units.push_back(metrics.counter(kSpendUnits, {name}));
        }
    }

    BudgetRefusal used_up(const Refused& no, std::size_t provider, std::string_view token_id,
                          UtcDay today);
    Task<std::optional<BudgetRefusal>> claim(Reservation& reservation, Instant deadline);
    void changed(BudgetAccount& account);
    BudgetRefusal without_store();
    static BudgetRefusal without_time();
    BudgetRefusal without_replicas();
    static bool is_limited(const Reservation& reservation);
    void share_figures();
    bool needs_store(const Reservation& reservation) const;
    void ask_for_cover(Reservation& reservation);
    void give_back(Reservation& reservation);
    void book(Reservation& reservation, const Spent& charged);
    void note_overrun(const Reservation& reservation, const BudgetAccount& account,
                      std::int64_t micro_usd, const Spent& charged);

    const Executor control;
    SpendStore& store;
    Clock& clock;
    const obs::Log& log;
    SharedBudgets* const shared;  // null: nothing is shared
    BudgetBooks books;
    SpendWriter writer;
    obs::Gauge open;
    std::array<obs::Counter, kPurseKinds> refused;
    obs::Counter refused_by_store;
    std::array<obs::Counter, kPurseKinds> overrun;
    std::vector<obs::Counter> spent_usd;    // by provider
    std::vector<obs::Counter> spent_units;  // by provider
    obs::LogLimiter used_up_lines;
    obs::LogLimiter overrun_lines;
};

BudgetRefusal Reservation::Ledger::used_up(const Refused& no, std::size_t provider,
                                           std::string_view token_id, UtcDay today) {
    refused[static_cast<std::size_t>(no.purse)].add();
    BudgetRefusal refusal = explain(no, books.providers()[provider], token_id, today);
    std::uint64_t suppressed = 0;
    if (used_up_lines.allow(clock.now(), suppressed)) {
        log.warn("budget_used_up", {{"budget", to_string(no.purse)},
                                    {"provider", books.providers()[provider]},
                                    {"detail", refusal.detail},
                                    {"suppressed", suppressed}});
    }
    return refusal;
}

BudgetRefusal Reservation::Ledger::without_store() {
    refused_by_store.add();
    BudgetRefusal refusal;
    refusal.detail = "spending can't be written down, and budgets.on_store_loss is refuse";
    return refusal;
}

BudgetRefusal Reservation::Ledger::without_time() {
    BudgetRefusal refusal;
    refusal.detail = "no time was left to write down what the call may cost";
    return refusal;
}

// Whether the call may not be made unless the store vouches for it.
bool Reservation::Ledger::needs_store(const Reservation& reservation) const {
    return books.config().on_store_loss == OnStoreLoss::kRefuse &&
           std::any_of(reservation.accounts_.begin(), reservation.accounts_.end(),
                       [](const BudgetAccount* account) {
                           return account != nullptr && account->limits().any() &&
                                  !account->is_vouched_for();
                       });
}

BudgetRefusal Reservation::Ledger::without_replicas() {
    refused_by_store.add();
    BudgetRefusal refusal;
    refusal.detail = "what other replicas spend is not known, and redis.required is true";
    return refusal;
}

Task<std::optional<BudgetRefusal>> Reservation::Ledger::claim(Reservation& reservation,
                                                              Instant deadline) {
    std::vector<const BudgetAccount*> accounts;
    for (const BudgetAccount* account : reservation.accounts_) {
        if (account != nullptr && account->limits().any()) {
            accounts.push_back(account);
        }
    }
    const SharedBudgets::Answer answer =
        co_await shared->claim(std::move(accounts), reservation.cost_, deadline);
    switch (answer.end) {
        case SharedBudgets::Answer::End::kRoom:
        case SharedBudgets::Answer::End::kCancelled:  // cover() looks
            co_return std::nullopt;
        case SharedBudgets::Answer::End::kNoRoom: {
            constexpr auto kToken = static_cast<std::size_t>(Purse::kToken);
            co_return used_up(*answer.refused, reservation.provider_,
                              reservation.accounts_[kToken]->name().id, utc_day(clock.wall_now()));
        }
        case SharedBudgets::Answer::End::kTooLate:
            co_return without_time();
        case SharedBudgets::Answer::End::kUnknown:
            if (shared->is_required()) {
                co_return without_replicas();
            }
            co_return std::nullopt;
    }
    SLUICE_ASSERT(false && "an End outside its enumeration");
}

bool Reservation::Ledger::is_limited(const Reservation& reservation) {
    return std::ranges::any_of(reservation.accounts_, [](const BudgetAccount* account) {
        return account != nullptr && account->limits().any();
    });
}

void Reservation::Ledger::changed(BudgetAccount& account) {
    writer.changed(account);
    if (shared != nullptr) {
        shared->changed(account);
    }
}

// Those that others have to reckon with before this process spends again.
void Reservation::Ledger::share_figures() {
    if (shared == nullptr) {
        return;
    }
    shared->changed(books.gateway());
    for (std::size_t i = 0; i < books.providers().size(); ++i) {
        shared->changed(books.provider(i));
    }
}

void Reservation::Ledger::ask_for_cover(Reservation& reservation) {
    for (BudgetAccount* account : reservation.accounts_) {
        if (account != nullptr && account->needs_vouching() && !account->is_vouched_for()) {
            reservation.covered_ = false;
            reservation.write_ = std::max(reservation.write_, writer.urgent(*account));
        }
    }
}

void Reservation::Ledger::give_back(Reservation& reservation) {
    for (BudgetAccount* account : reservation.accounts_) {
        if (account != nullptr) {
            account->release(reservation.cost_);
            changed(*account);
        }
    }
    open.add(-1);
}

void Reservation::Ledger::book(Reservation& reservation, const Spent& charged) {
    const UtcDay today = utc_day(clock.wall_now());
    for (BudgetAccount* account : reservation.accounts_) {
        if (account == nullptr) {
            continue;
        }
        const std::int64_t passed_before = account->excess(today);
        account->book(reservation.cost_, charged, today);
        const std::int64_t passed = account->excess(today) - passed_before;
        // At its price a call passes only a limit that was lowered meanwhile.
        if (passed > 0 && charged.micro_usd > reservation.cost_.micro_usd) {
            note_overrun(reservation, *account, passed, charged);
        }
        // It may have cost more than was expected, or a day may have begun.
        if (account->needs_vouching() && !account->is_vouched_for()) {
            writer.urgent(*account);
        }
        changed(*account);
    }
    spent_usd[reservation.provider_].add(static_cast<double>(charged.micro_usd) /
                                         static_cast<double>(kMicroUsd));
    spent_units[reservation.provider_].add(static_cast<double>(charged.units));
    open.add(-1);
}

void Reservation::Ledger::note_overrun(const Reservation& reservation, const BudgetAccount& account,
                                       std::int64_t micro_usd, const Spent& charged) {
    const Purse purse = account.name().purse;
    overrun[static_cast<std::size_t>(purse)].add(static_cast<double>(micro_usd) /
                                                 static_cast<double>(kMicroUsd));
    std::uint64_t suppressed = 0;
    if (overrun_lines.allow(clock.now(), suppressed)) {
        log.warn("budget_overrun", {{"budget", to_string(purse)},
                                    {"provider", books.providers()[reservation.provider_]},
                                    {"expected_usd", format_usd(reservation.cost_.micro_usd)},
                                    {"charged_usd", format_usd(charged.micro_usd)},
                                    {"suppressed", suppressed}});
    }
}

Reservation::Reservation(std::shared_ptr<Ledger> ledger) : ledger_(std::move(ledger)) {}

Reservation::Reservation(Reservation&& other) noexcept = default;

Reservation::~Reservation() {
    if (!ledger_) {
        return;
    }
    if (sent_) {
        ledger_->book(*this, cost_);
    } else {
        ledger_->give_back(*this);
    }
}

void Reservation::settle(const std::optional<Spent>& charged) && {
    SLUICE_ASSERT(ledger_ != nullptr);
    const std::shared_ptr<Ledger> ledger = std::exchange(ledger_, nullptr);
    if (charged) {
        ledger->book(*this, bounded(*charged));
    } else {
        ledger->give_back(*this);
    }
}

Budgets::Budgets(Executor control, BudgetConfig config, std::vector<std::string> providers,
                 SpendStore& store, Clock& clock, const obs::Log& log, obs::Metrics& metrics,
                 SharedBudgets* shared)
    : ledger_(std::make_shared<Reservation::Ledger>(std::move(control), std::move(config),
                                                    std::move(providers), store, clock, log,
                                                    metrics, shared)) {}

Budgets::~Budgets() = default;

Task<Status> Budgets::load() {
    const UtcDay today = utc_day(ledger_->clock.wall_now());
    CO_TRY(auto balances, co_await ledger_->store.load(today));
    ledger_->books.open(std::move(balances), today);
    if (ledger_->shared != nullptr) {
        CO_TRY(std::string name, co_await ledger_->store.name());
        ledger_->shared->open(std::move(name));
        ledger_->share_figures();
    }
    co_await ledger_->writer.forget_old_days();
    co_return Status();
}

std::variant<Reservation, BudgetRefusal> Budgets::reserve(const Purchase& purchase) {
    Reservation::Ledger& ledger = *ledger_;
    const UtcDay today = utc_day(ledger.clock.wall_now());
    if (const auto no = ledger.books.refusal(purchase, today)) {
        return ledger.used_up(*no, purchase.provider, purchase.payer.token_id, today);
    }
    Reservation reservation(ledger_);
    reservation.provider_ = purchase.provider;
    reservation.cost_ = bounded(purchase.cost);
    reservation.accounts_ = ledger.books.accounts(purchase, today);
    const Instant now = ledger.clock.now();
    for (BudgetAccount* account : reservation.accounts_) {
        if (account != nullptr) {
            account->hold(reservation.cost_, today, now);
        }
    }
    ledger.open.add(1);
    ledger.ask_for_cover(reservation);
    if (!reservation.covered_ && ledger.writer.is_lost()) {
        if (ledger.needs_store(reservation)) {
            return ledger.without_store();
        }
        reservation.covered_ = true;
    }
    if (ledger.shared != nullptr && Reservation::Ledger::is_limited(reservation)) {
        reservation.is_shared_ = true;
        reservation.covered_ = false;
    }
    return reservation;
}

Task<std::optional<BudgetRefusal>> Budgets::cover(Reservation& reservation, Instant deadline) {
    const std::shared_ptr<Reservation::Ledger> ledger = ledger_;
    if (reservation.is_shared_) {
        if (auto refusal = co_await ledger->claim(reservation, deadline)) {
            co_return refusal;
        }
        const boost::asio::cancellation_state state =
            co_await boost::asio::this_coro::cancellation_state;
        if (state.cancelled() != boost::asio::cancellation_type::none) {
            co_return std::nullopt;
        }
    }
    switch (co_await ledger->writer.wait_for(reservation.write_, deadline)) {
        case guard::WriteEnd::kWritten:
            reservation.covered_ = true;
            co_return std::nullopt;
        case guard::WriteEnd::kLost:
            if (ledger->needs_store(reservation)) {
                co_return ledger->without_store();
            }
            reservation.covered_ = true;
            co_return std::nullopt;
        case guard::WriteEnd::kDeadline:
            co_return Reservation::Ledger::without_time();
        case guard::WriteEnd::kCancelled:
            co_return std::nullopt;
    }
    SLUICE_ASSERT(false && "a WriteEnd outside its enumeration");
}

std::optional<BudgetRefusal> Budgets::would_refuse(const Purchase& purchase) const {
    const UtcDay today = utc_day(ledger_->clock.wall_now());
    const auto no = ledger_->books.refusal(purchase, today);
    if (!no) {
        return std::nullopt;
    }
    return explain(*no, ledger_->books.providers()[purchase.provider], purchase.payer.token_id,
                   today);
}

namespace {

Budgets::Standing standing_of(const BudgetAccount& account, UtcDay today) {
    Budgets::Standing standing;
    for (const Period period : kEachPeriod) {
        standing.spent[index_of(period)] = account.spent(period, today);
    }
    standing.limits = account.limits();
    return standing;
}

Task<Result<Usage>> report(SpendWriter& writer, SpendStore& store, UsageQuery query) {
    CO_TRY_STATUS(co_await writer.wait_for_exact());
    co_return co_await store.usage(std::move(query));
}

}  // namespace

Budgets::Standing Budgets::gateway() const {
    return standing_of(ledger_->books.gateway(), utc_day(ledger_->clock.wall_now()));
}

Budgets::Standing Budgets::provider(std::size_t provider) const {
    return standing_of(ledger_->books.provider(provider), utc_day(ledger_->clock.wall_now()));
}

Task<Result<Usage>> Budgets::usage(UsageQuery query) {
    return run_on(ledger_->control, report(ledger_->writer, ledger_->store, std::move(query)));
}

bool Budgets::is_shut() const {
    return ledger_->writer.is_lost() && on_store_loss() == OnStoreLoss::kRefuse &&
           ledger_->books.gateway().limits().any();
}

OnStoreLoss Budgets::on_store_loss() const {
    return ledger_->books.config().on_store_loss;
}

void Budgets::reconfigure(BudgetConfig config) {
    ledger_->books.reconfigure(std::move(config));
    ledger_->share_figures();
}

Task<void> Budgets::stop() {
    const std::shared_ptr<Reservation::Ledger> ledger = ledger_;
    co_await ledger->writer.stop();
}

}  // namespace sluice::access
