#include "access/budget.h"

#include "access/metrics.h"
#include "access/spend_writer.h"
#include "base/rfc3339.h"

#include <algorithm>
#include <utility>

namespace sluice::access {

namespace {

constexpr Millis kUsedUpLogInterval{60'000};
constexpr Millis kOverrunLogInterval{60'000};

// The setting of the limit that has no room.
std::string setting_of(const Refused& refused, const Purchase& purchase,
                       const std::vector<std::string>& providers) {
    std::string name;
    switch (refused.purse) {
        case Purse::kGateway:
            name = "budgets.gateway.";
            break;
        case Purse::kProvider:
            name = "budgets.providers." + providers[purchase.provider] + ".";
            break;
        case Purse::kToken:
            name = purchase.payer.token_id.empty() ? "budgets.anonymous." : "the token's ";
            break;
        case Purse::kKey:
            name = "budgets.key_default.";
            break;
    }
    name += refused.shortage.measure == Measure::kCalls ? "calls_" : "usd_";
    name += to_string(refused.shortage.period);
    return name;
}

BudgetRefusal explain(const Refused& refused, const Purchase& purchase,
                      const std::vector<std::string>& providers, UtcDay today) {
    BudgetRefusal refusal;
    refusal.budget = refused;
    refusal.resets_at = resets_at(refused.shortage.period, today);
    refusal.detail = setting_of(refused, purchase, providers) + " has no room for this call";
    if (refusal.resets_at) {
        refusal.detail += " until " + rfc3339(*refusal.resets_at);
    }
    return refusal;
}

}  // namespace

// Everything, shared with the reservations, which may outlive the Budgets that they came from.
struct Reservation::Ledger {
    Ledger(Executor control_loop, BudgetConfig config, std::vector<std::string> providers,
           SpendStore& spend_store, Clock& time, const obs::Log& logger, obs::Metrics& metrics)
        : control(control_loop),
          store(spend_store),
          clock(time),
          log(logger),
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

    BudgetRefusal used_up(const Refused& no, const Purchase& purchase, UtcDay today);
    BudgetRefusal without_store();
    static BudgetRefusal without_time();
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

BudgetRefusal Reservation::Ledger::used_up(const Refused& no, const Purchase& purchase,
                                           UtcDay today) {
    refused[static_cast<std::size_t>(no.purse)].add();
    BudgetRefusal refusal = explain(no, purchase, books.providers(), today);
    std::uint64_t suppressed = 0;
    if (used_up_lines.allow(clock.now(), suppressed)) {
        log.warn("budget_used_up", {{"budget", to_string(no.purse)},
                                    {"provider", books.providers()[purchase.provider]},
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
            writer.changed(*account);
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
        } else {
            writer.changed(*account);
        }
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
                 SpendStore& store, Clock& clock, const obs::Log& log, obs::Metrics& metrics)
    : ledger_(std::make_shared<Reservation::Ledger>(std::move(control), std::move(config),
                                                    std::move(providers), store, clock, log,
                                                    metrics)) {}

Budgets::~Budgets() = default;

Task<Status> Budgets::load() {
    const UtcDay today = utc_day(ledger_->clock.wall_now());
    CO_TRY(auto balances, co_await ledger_->store.load(today));
    ledger_->books.open(std::move(balances), today);
    co_await ledger_->writer.forget_old_days();
    co_return Status();
}

std::variant<Reservation, BudgetRefusal> Budgets::reserve(const Purchase& purchase) {
    Reservation::Ledger& ledger = *ledger_;
    const UtcDay today = utc_day(ledger.clock.wall_now());
    if (const auto no = ledger.books.refusal(purchase, today)) {
        return ledger.used_up(*no, purchase, today);
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
    return reservation;
}

Task<std::optional<BudgetRefusal>> Budgets::cover(Reservation& reservation, Instant deadline) {
    const std::shared_ptr<Reservation::Ledger> ledger = ledger_;
    const guard::WriteEnd end = co_await ledger->writer.wait_for(reservation.write_, deadline);
    if (end == guard::WriteEnd::kLost && ledger->needs_store(reservation)) {
        co_return ledger->without_store();
    }
    if (end == guard::WriteEnd::kDeadline) {
        co_return Reservation::Ledger::without_time();
    }
    reservation.covered_ = true;
    co_return std::nullopt;
}

std::optional<BudgetRefusal> Budgets::would_refuse(const Purchase& purchase) const {
    const UtcDay today = utc_day(ledger_->clock.wall_now());
    const auto no = ledger_->books.refusal(purchase, today);
    if (!no) {
        return std::nullopt;
    }
    return explain(*no, purchase, ledger_->books.providers(), today);
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

void Budgets::reconfigure(BudgetConfig config) {
    ledger_->books.reconfigure(std::move(config));
}

Task<void> Budgets::stop() {
    const std::shared_ptr<Reservation::Ledger> ledger = ledger_;
    co_await ledger->writer.stop();
}

}  // namespace sluice::access
