#include "sim/purse_books.h"

namespace sluice::sim {

using access::Limits;
using access::OnStoreLoss;
using access::Period;
using access::Spent;

void PurseBooks::set(access::BudgetConfig config) {
    config_ = std::move(config);
    spending_.clear();
    limits_ += 1;
    set_at_ = clock_.now();
}

std::vector<PurseBooks::Purse> PurseBooks::purses_of(const Payment& payment) const {
    const std::string provider(web::all_providers()[payment.provider]->spec().name);
    const bool has_limits = payment.provider < config_.providers.size();
    std::vector<Purse> purses = {
        {Name(access::Purse::kGateway, ""), config_.gateway},
        {Name(access::Purse::kProvider, provider),
         has_limits ? config_.providers[payment.provider] : Limits()},
        {Name(access::Purse::kKey, payment.key_id), config_.key_default},
    };
    if (payment.payer != nullptr) {
        const Payer& payer = *payment.payer;
        purses.push_back(
            {Name(access::Purse::kToken, payer.id),
             payer.id.empty() ? config_.anonymous : payer.limits.over(config_.token_default)});
    }
    return purses;
}

void PurseBooks::start_call(Payment& payment) {
    const bool is_settled = wait_ == Millis(0) || clock_.now() - set_at_ > wait_;
    if (is_settled) {
        payment.limits = limits_;
    }
    for (const Purse& purse : purses_of(payment)) {
        wholes_[purse.name].under_way += Spent{1, 0, payment.micro_usd};
        if (is_settled && purse.limits.any() && config_.on_store_loss == OnStoreLoss::kRefuse) {
            check_store(purse);
        }
    }
}

// If the process died now, nothing that is limited would be forgotten.
void PurseBooks::check_store(const Purse& purse) {
    const Whole& whole = wholes_[purse.name];
    const Spent written = store_.total(purse.name.first, purse.name.second);
    violations_.check(written.calls >= whole.paid.calls + whole.under_way.calls &&
                          written.micro_usd >= whole.paid.micro_usd + whole.under_way.micro_usd,
                      "the store says less than what was spent", to_string(purse.name.first));
}

void PurseBooks::end_call(const Payment& payment, bool is_paid) {
    const Spent amount{1, 0, payment.micro_usd};
    for (const Purse& purse : purses_of(payment)) {
        Whole& whole = wholes_[purse.name];
        whole.under_way.calls -= 1;
        whole.under_way.micro_usd -= amount.micro_usd;
        if (is_paid) {
            whole.paid += amount;
        }
        if (is_paid && payment.limits == limits_ && purse.limits.any()) {
            spend(purse, amount);
        }
    }
    if (is_paid) {
        paid_ += amount;
    }
}

void PurseBooks::spend(const Purse& purse, const Spent& amount) {
    Spending& spending = spending_[purse.name];
    const UtcDay today = utc_day(clock_.wall_now());
    if (first_of_month(today) != first_of_month(spending.day)) {
        spending.in[index_of(Period::kMonth)] = Spent();
    }
    if (today != spending.day) {
        spending.in[index_of(Period::kDay)] = Spent();
        spending.day = today;
    }
    for (const Period period : access::kEachPeriod) {
        Spent& spent = spending.in[index_of(period)];
        spent += amount;
        const std::int64_t calls = purse.limits.calls[index_of(period)];
        const std::int64_t micro_usd = purse.limits.micro_usd[index_of(period)];
        const bool has_room = (calls == 0 || spent.calls <= calls) &&
                              (micro_usd == 0 || spent.micro_usd <= micro_usd);
        violations_.check(
            has_room, "a budget was overrun",
            std::string(to_string(purse.name.first)) + " " + std::string(to_string(period)));
    }
}

}  // namespace sluice::sim
