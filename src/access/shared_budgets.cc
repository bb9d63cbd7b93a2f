#include "access/shared_budgets.h"

#include "base/calendar.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace sluice::access {

namespace {

// Everything is in one slot of a cluster, since a call is written in four purses at once.
constexpr std::string_view kRoot = "sluice:budgets:{all}";
// By then every replica that is alive has told an emptied Redis what it spent.
constexpr Millis kYoungFor{2'500};
// Whose figures are told at once.
constexpr std::size_t kAccountsAtOnce = 200;
// Of figures that nobody tells again any more.
constexpr std::array<std::chrono::hours, kPeriods> kKeptFor = {
    std::chrono::hours(24 * 2), std::chrono::hours(24 * 33), std::chrono::hours(24 * 400)};

// KEYS: the root. ARGV: a new epoch. Gives the one that there is.
const io::RedisScript& join_script() {
    static const io::RedisScript script(R"(
if redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1]) == 1 then
  local time = redis.call('TIME')
  redis.call('HSET', KEYS[1], 'since', time[1] * 1000 + math.floor(time[2] / 1000))
end
return {redis.call('HGET', KEYS[1], 'epoch')})");
    return script;
}

// KEYS: the root, and a hash for each figure, by books: "calls:usd:process:number". ARGV: epoch,
// for how many ms an epoch is young, books, process, number of this telling, whether it is asked
// for room ("1"); then for each figure most calls and most millionths of a dollar (0: no limit),
// those of these books, for how many ms it is kept. Gives 'stale' when the epoch is another one,
// 'young' with the ms that are left, 'full' with the place of the figure and what is too much, or
// 'done'.
const io::RedisScript& tell_script() {
    static const io::RedisScript script(R"(
local call = redis.call
local epoch, since = unpack(call('HMGET', KEYS[1], 'epoch', 'since'))
if epoch ~= ARGV[1] then
  return {'stale'}
end
local young, books, process, number, asks = tonumber(ARGV[2]), unpack(ARGV, 3, 6)
if asks == '1' then
  local time = call('TIME')
  local left = since + young - (time[1] * 1000 + math.floor(time[2] / 1000))
  if left > 0 then
    return {'young', left}
  end
  for i = 2, #KEYS do
    local most_calls, most_usd, calls, usd = unpack(ARGV, 5 * i - 3, 5 * i)
    local all = call('HGETALL', KEYS[i])
    for j = 1, #all, 2 do
      if all[j] ~= books then
        local their_calls, their_usd = string.match(all[j + 1], '^(%d+):(%d+):')
        calls, usd = calls + their_calls, usd + their_usd
      end
    end
    if most_calls ~= '0' and tonumber(calls) > tonumber(most_calls) then
      return {'full', i - 2, 'calls'}
    elseif most_usd ~= '0' and tonumber(usd) > tonumber(most_usd) then
      return {'full', i - 2, 'usd'}
    end
  end
end
for i = 2, #KEYS do
  local _, _, calls, usd, kept = unpack(ARGV, 5 * i - 3, 5 * i + 1)
  local told_by, told = string.match(call('HGET', KEYS[i], books) or '', '^%d+:%d+:(%x+):(%d+)$')
  -- What was sent again may come after what was sent later.
  if told_by ~= process or tonumber(told) < tonumber(number) then
    call('HSET', KEYS[i], books, calls .. ':' .. usd .. ':' .. process .. ':' .. number)
    call('PEXPIRE', KEYS[i], kept)
  end
end
return {'done'})");
    return script;
}

std::string period_name(Period period, UtcDay day) {
    const std::string text = format_day(day);
    switch (period) {
        case Period::kDay:
            return text;
        case Period::kMonth:
            return text.substr(0, 7);
        case Period::kTotal:
            return "total";
    }
    SLUICE_ASSERT(false && "a Period outside its enumeration");
}

// "sluice:budgets:{all}:token:slc4f00a:2026-12": the id last but one, since it may have colons.
std::string name_of(const AccountName& account, Period period, UtcDay day) {
    std::string name(kRoot);
    name.append(":").append(to_string(account.purse));
    if (!account.id.empty()) {
        name.append(":").append(account.id);
    }
    return name.append(":").append(period_name(period, day));
}

std::string random_hex(Random& random) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string hex;
    for (std::uint64_t bits = random.u64(); hex.size() < 16; bits >>= 4U) {
        hex.push_back(kDigits[bits & 0xFU]);
    }
    return hex;
}

}  // namespace

SharedBudgets::SharedBudgets(io::RedisClient& redis, Clock& clock, Random& random,
                             const obs::Log& log)
    : redis_(redis), clock_(clock), random_(random), log_(log), process_(random_hex(random)) {}

// Of each account those that have a limit.
std::vector<SharedBudgets::Figure> SharedBudgets::figures_of(
    std::span<const BudgetAccount* const> accounts) const {
    const UtcDay today = utc_day(clock_.wall_now());
    std::vector<Figure> figures;
    for (const BudgetAccount* account : accounts) {
        for (const Period period : kEachPeriod) {
            const std::size_t i = index_of(period);
            if (account->limits().calls[i] > 0 || account->limits().micro_usd[i] > 0) {
                figures.push_back({account, period, today});
            }
        }
    }
    return figures;
}

Refused SharedBudgets::refused_by(const Figure& full, Measure measure) {
    const Limits& limits = full.account->limits();
    const std::size_t i = index_of(full.period);
    const std::int64_t limit = measure == Measure::kCalls ? limits.calls[i] : limits.micro_usd[i];
    return Refused{full.account->name().purse, {full.period, measure, limit}};
}

// While one is there, what is held for a call that has not asked yet is no part of any figure:
// others may have the room.
class SharedBudgets::Aside {
 public:
    Aside(SharedBudgets& budgets, const std::vector<const BudgetAccount*>& accounts, Spent cost)
        : budgets_(budgets), accounts_(accounts), cost_(cost) {
        for (const BudgetAccount* account : accounts_) {
            budgets_.aside_[account] += cost_;
        }
    }
    ~Aside() {
        for (const BudgetAccount* account : accounts_) {
            const auto found = budgets_.aside_.find(account);
            found->second.calls -= cost_.calls;
            found->second.micro_usd -= cost_.micro_usd;
            if (found->second.calls == 0) {
                budgets_.aside_.erase(found);
            }
        }
    }
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;

 private:
    SharedBudgets& budgets_;
    const std::vector<const BudgetAccount*>& accounts_;
    const Spent cost_;
};

Spent SharedBudgets::own_figure(const Figure& figure) const {
    Spent own = figure.account->committed(figure.period, figure.day);
    if (const auto aside = aside_.find(figure.account); aside != aside_.end()) {
        own.calls -= aside->second.calls;
        own.micro_usd -= aside->second.micro_usd;
    }
    return own;
}

Task<SharedBudgets::Answer> SharedBudgets::claim(std::vector<const BudgetAccount*> accounts,
                                                 Spent cost, Instant deadline) {
    Answer answer;
    Millis wait{};
    while (redis_.is_up() && clock_.now() < deadline) {
        if (epoch_.empty() || wait > Millis::zero()) {
            const Aside aside(*this, accounts, cost);
            co_await clock_.sleep_until(
                std::min<Instant>(clock_.now() + std::exchange(wait, {}), deadline));
            if (epoch_.empty() && !co_await join()) {
                break;
            }
        }
        std::vector<Figure> figures = figures_of(accounts);
        std::vector<Figure> sent = figures;
        const Reply reply = co_await tell(std::move(sent), true, deadline);
        switch (reply.told) {
            case Told::kDone:
                answer.end = Answer::End::kRoom;
                known_.insert(accounts.begin(), accounts.end());
                co_return answer;
            case Told::kFull:
                answer.end = Answer::End::kNoRoom;
                answer.refused =
                    refused_by(figures[std::min(reply.place, figures.size() - 1)], reply.measure);
                co_return answer;
            case Told::kYoung:
                wait = reply.wait;
                break;
            case Told::kStale:
                break;
            case Told::kFailed:
                answer.end =
                    clock_.now() < deadline ? Answer::End::kUnknown : Answer::End::kTooLate;
                co_return answer;
        }
    }
    if (clock_.now() >= deadline) {
        answer.end = Answer::End::kTooLate;
    }
    co_return answer;
}

Task<bool> SharedBudgets::join() {
    std::vector<std::string> keys{std::string(kRoot)};
    std::vector<std::string> words{random_hex(random_)};
    const Result<io::RedisReply> reply =
        co_await redis_.run(join_script(), std::move(keys), std::move(words), Instant::max());
    if (!reply.ok() || reply->elements.size() != 1) {
        co_return false;
    }
    epoch_ = reply->elements[0].text;
    if (epoch_ != last_epoch_) {
        if (!last_epoch_.empty()) {
            log_.warn("shared_budgets_lost", {{"accounts", known_.size()}});
        }
        last_epoch_ = epoch_;
        changed_ = known_;
    }
    co_return true;
}

Task<SharedBudgets::Reply> SharedBudgets::tell(std::vector<Figure> figures, bool asks,
                                               Instant deadline) {
    const std::string epoch = epoch_;
    std::vector<std::string> keys{std::string(kRoot)};
    std::vector<std::string> words{epoch,    std::to_string(kYoungFor.count()), books_,
                                   process_, std::to_string(++said_),           asks ? "1" : "0"};
    for (const Figure& figure : figures) {
        const std::size_t i = index_of(figure.period);
        const Limits& limits = figure.account->limits();
        const Spent own = own_figure(figure);
        keys.push_back(name_of(figure.account->name(), figure.period, figure.day));
        words.insert(words.end(),
                     {std::to_string(limits.calls[i]), std::to_string(limits.micro_usd[i]),
                      std::to_string(own.calls), std::to_string(own.micro_usd),
                      std::to_string(Millis(kKeptFor[i]).count())});
    }
    const Result<io::RedisReply> answer =
        co_await redis_.run(tell_script(), std::move(keys), std::move(words), deadline);
    Reply reply;
    if (answer.ok()) {
        reply = read(*answer);
    }
    if (reply.told == Told::kStale && epoch_ == epoch) {
        epoch_.clear();
    }
    co_return reply;
}

SharedBudgets::Reply SharedBudgets::read(const io::RedisReply& answer) {
    Reply reply;
    const std::vector<io::RedisReply>& parts = answer.elements;
    const std::string_view word = parts.empty() ? std::string_view() : parts[0].text;
    if (word == "done") {
        reply.told = Told::kDone;
    } else if (word == "stale") {
        reply.told = Told::kStale;
    } else if (word == "young" && parts.size() == 2) {
        reply.told = Told::kYoung;
        reply.wait = Millis(parts[1].integer);
    } else if (word == "full" && parts.size() == 3) {
        reply.told = Told::kFull;
        reply.place = static_cast<std::size_t>(parts[1].integer);
        reply.measure = parts[2].text == "calls" ? Measure::kCalls : Measure::kMicroUsd;
    }
    return reply;
}

void SharedBudgets::changed(const BudgetAccount& account) {
    if (account.limits().any()) {
        known_.insert(&account);
        changed_.insert(&account);
    }
}

Task<void> SharedBudgets::run() {
    for (;;) {
        if (redis_.is_up()) {
            co_await tell_changed();
        }
        co_await clock_.sleep_until(clock_.now() + kTellEvery);
    }
}

// Also with nothing to tell: that is how an emptied Redis is noticed.
Task<void> SharedBudgets::tell_changed() {
    if (epoch_.empty() && !co_await join()) {
        co_return;
    }
    do {
        std::vector<const BudgetAccount*> accounts;
        while (!changed_.empty() && accounts.size() < kAccountsAtOnce) {
            accounts.push_back(*changed_.begin());
            changed_.erase(changed_.begin());
        }
        const Reply reply = co_await tell(figures_of(accounts), false, Instant::max());
        if (reply.told != Told::kDone) {
            changed_.insert(accounts.begin(), accounts.end());
            co_return;
        }
    } while (!changed_.empty());
}

}  // namespace sluice::access
