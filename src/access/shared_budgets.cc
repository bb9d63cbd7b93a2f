#include "access/shared_budgets.h"

#include "access/metrics.h"
#include "base/calendar.h"
#include "base/random_hex.h"
#include "io/redis_state.h"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>

namespace sluice::access {

namespace {

// Everything is in one slot of a cluster, since a call is written in four purses at once.
constexpr std::string_view kRoot = "sluice:budgets:{all}";
// Whose figures are told at once.
constexpr std::size_t kAccountsAtOnce = 200;
// An epoch that ends while it is told is begun again so often.
constexpr int kMaxTries = 4;
constexpr Millis kTroubleLoggedEvery{10'000};
// Of figures that nobody tells again any more.
constexpr std::array<std::chrono::hours, kPeriods> kKeptFor = {
    std::chrono::hours(24 * 2), std::chrono::hours(24 * 33), std::chrono::hours(24 * 400)};

// KEYS: the root. ARGV: a new epoch, and which run of which server this is; empty: not known.
// Begins the epoch where there is none, or where Redis was started again since: it may be older.
// {'joined', the epoch that there is}
const io::RedisScript& join_script() {
    static const io::RedisScript script = io::state_script(R"(
local epoch, run = unpack(redis.call('HMGET', KEYS[1], 'epoch', 'run'))
local is_older = run and run ~= '' and ARGV[2] ~= '' and run ~= ARGV[2]
if not epoch or epoch == '' or is_older then
  epoch = ARGV[1]
  local time = redis.call('TIME')
  redis.call('HSET', KEYS[1], 'epoch', epoch, 'run', ARGV[2],
             'since', time[1] * 1000 + math.floor(time[2] / 1000))
elseif not run or run == '' then
  redis.call('HSET', KEYS[1], 'run', ARGV[2])
end
return {'joined', epoch})");
    return script;
}

// KEYS: the root, and a hash for each figure, by books: "calls:usd:process:number". ARGV: epoch,
// for how many ms an epoch is young, books, process, number of this telling, whether it is asked
// for room ("1"); then for each figure most calls and most millionths of a dollar (0: no limit),
// those of these books, for how many ms it is kept, the number under which Redis was told of it
// before (0: was not). Gives 'stale' when the epoch is another one, or the state was lost
// (io/redis_state.h), 'taken' when another process told of the same books after this one did,
// 'young' with the ms that are left, 'full' with the place of the figure and what is too much, or
// 'done' with, for each figure, the calls and millionths of a dollar of other books, and how many
// books there are.
const io::RedisScript& tell_script() {
    static const io::RedisScript script = io::state_script(R"(
local call = redis.call
local epoch, since = unpack(call('HMGET', KEYS[1], 'epoch', 'since'))
if epoch ~= ARGV[1] then
  return {'stale'}
end
local young, books, process, number, asks = tonumber(ARGV[2]), unpack(ARGV, 3, 6)
local before, reply = {}, {'done'}
for i = 2, #KEYS do
  local all = call('HGETALL', KEYS[i])
  local their_calls, their_usd, replicas, told_by, told = 0, 0, 1, nil, nil
  for j = 1, #all, 2 do
    local calls, usd, by, at = string.match(all[j + 1], '^(%d+):(%d+):(%x+):(%d+)$')
    if not calls then
      error('a figure is none')
    elseif all[j] == books then
      told_by, told = by, tonumber(at)
    else
      their_calls, their_usd, replicas = their_calls + calls, their_usd + usd, replicas + 1
    end
  end
  local kept = tonumber(ARGV[6 * i])
  if kept > 0 and (not told_by or told_by == process and told < kept) then
    error('a figure is missing, or older than what was told')
  elseif kept > 0 and told_by ~= process then
    return {'taken'}
  end
  before[i] = told_by == process and told or -1
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = their_calls, their_usd, replicas
end
if asks == '1' then
  local time = call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  if tonumber(since) > now then  -- the clock was put back
    since = now
    call('HSET', KEYS[1], 'since', since)
  end
  local left = since + young - now
  if left > 0 then
    return {'young', left}
  end
  for i = 2, #KEYS do
    local most_calls, most_usd, calls, usd = unpack(ARGV, 6 * i - 5, 6 * i - 2)
    if most_calls ~= '0' and calls + reply[3 * i - 4] > tonumber(most_calls) then
      return {'full', i - 2, 'calls'}
    elseif most_usd ~= '0' and usd + reply[3 * i - 3] > tonumber(most_usd) then
      return {'full', i - 2, 'usd'}
    end
  end
end
for i = 2, #KEYS do
  local calls, usd, kept_for = unpack(ARGV, 6 * i - 3, 6 * i - 1)
  -- What was sent again may come after what was sent later.
  if before[i] < tonumber(number) then
    call('HSET', KEYS[i], books, calls .. ':' .. usd .. ':' .. process .. ':' .. number)
    call('PEXPIRE', KEYS[i], kept_for)
  end
end
return reply)");
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

bool is_cancelled(const boost::asio::cancellation_state& state) {
    return state.cancelled() != boost::asio::cancellation_type::none;
}

// Whether both days are in one period of that kind.
bool is_one_period(Period period, UtcDay one, UtcDay other) {
    return period_name(period, one) == period_name(period, other);
}

}  // namespace

SharedBudgets::SharedBudgets(io::RedisClient& redis, Clock& clock, Random& random,
                             const obs::Log& log, obs::Metrics& metrics)
    : redis_(redis),
      clock_(clock),
      random_(random),
      log_(log),
      not_shared_(metrics.gauge(kBudgetsNotShared)),
      not_shared_lines_(1, kTroubleLoggedEvery),
      lost_lines_(1, kTroubleLoggedEvery),
      process_(random_hex<8>(random)) {}

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
    failure_ = "it was begun again too often";
    for (int stale = 0; redis_.is_up() && clock_.now() < deadline && stale < kMaxTries;) {
        if (!knows_epoch() || wait > Millis::zero()) {
            const Aside aside(*this, accounts, cost);
            co_await clock_.wait(
                std::make_shared<Alarm>(redis_.executor()),
                std::min<Instant>(clock_.now() + std::exchange(wait, {}), deadline));
            if (is_cancelled(co_await boost::asio::this_coro::cancellation_state)) {
                co_return Answer{Answer::End::kCancelled};
            }
            if (!knows_epoch() && !co_await join()) {
                break;
            }
        }
        const std::vector<Figure> figures = figures_of(accounts);
        std::vector<Figure> sent = figures;
        const Reply reply = co_await tell(std::move(sent), true, deadline);
        switch (reply.told) {
            case Told::kDone:
                known_.insert(accounts.begin(), accounts.end());
                co_return Answer{Answer::End::kRoom};
            case Told::kFull:
                answer.end = Answer::End::kNoRoom;
                answer.refused =
                    refused_by(figures[std::min(reply.place, figures.size() - 1)], reply.measure);
                co_return answer;
            case Told::kYoung:
                // Who told meanwhile counted this call, which goes back to waiting.
                changed_.insert(accounts.begin(), accounts.end());
                wait = reply.wait;
                break;
            case Told::kStale:
                stale += 1;
                break;
            case Told::kFailed:
                stale = kMaxTries;
                break;
            case Told::kCancelled:
                co_return Answer{Answer::End::kCancelled};
        }
    }
    if (clock_.now() >= deadline) {
        co_return Answer{Answer::End::kTooLate};
    }
    if (is_cancelled(co_await boost::asio::this_coro::cancellation_state)) {
        co_return Answer{Answer::End::kCancelled};
    }
    note_not_shared(redis_.is_up() ? failure_ : redis_.view().reason);
    if (redis_.is_up() && !is_required()) {
        co_return answer_by_shares(figures_of(accounts));
    }
    co_return answer;
}

// As long as nobody says more, what was left is divided among those who may spend it.
SharedBudgets::Answer SharedBudgets::answer_by_shares(const std::vector<Figure>& figures) const {
    Answer answer;
    answer.end = Answer::End::kRoom;
    for (const Figure& figure : figures) {
        if (const auto measure = excess_of_share(figure)) {
            answer.end = Answer::End::kNoRoom;
            answer.refused = refused_by(figure, *measure);
            break;
        }
    }
    return answer;
}

std::optional<Measure> SharedBudgets::excess_of_share(const Figure& figure) const {
    const auto found = shares_.find(figure.account);
    const std::size_t i = index_of(figure.period);
    if (found == shares_.end() || !found->second[i]) {
        return std::nullopt;
    }
    Share share = *found->second[i];
    if (!is_one_period(figure.period, share.day, figure.day)) {
        share.own = share.others = {};
    }
    const Limits& limits = figure.account->limits();
    const Spent own = own_figure(figure);
    const auto is_beyond = [&](std::int64_t limit, std::int64_t now, std::int64_t before,
                               std::int64_t others) {
        const std::int64_t left = std::max<std::int64_t>(limit - before - others, 0);
        return limit > 0 && now - before > left / share.replicas;
    };
    if (is_beyond(limits.calls[i], own.calls, share.own.calls, share.others.calls)) {
        return Measure::kCalls;
    }
    if (is_beyond(limits.micro_usd[i], own.micro_usd, share.own.micro_usd,
                  share.others.micro_usd)) {
        return Measure::kMicroUsd;
    }
    return std::nullopt;
}

void SharedBudgets::note_not_shared(std::string_view reason) {
    if (!std::exchange(is_shared_, false)) {
        return;
    }
    not_shared_.set(1);
    std::uint64_t suppressed = 0;
    is_said_ = not_shared_lines_.allow(clock_.now(), suppressed);
    if (is_said_) {
        log_.warn("budgets_not_shared", {{"reason", reason}, {"suppressed", suppressed}});
    }
}

void SharedBudgets::note_shared() {
    if (std::exchange(is_shared_, true)) {
        return;
    }
    not_shared_.set(0);
    if (is_said_) {
        log_.info("budgets_shared_again");
    }
}

// Empty where it does not say.
Task<std::string> SharedBudgets::run_of_redis() {
    std::vector<std::string> words{"INFO", "server"};
    const Result<io::RedisReply> info = co_await redis_.command(std::move(words), Instant::max());
    co_return info.ok() ? io::info_value(info->text, "run_id") : std::string();
}

Task<bool> SharedBudgets::join() {
    const std::uint64_t connection = redis_.connections();
    std::string run = co_await run_of_redis();
    if (is_cancelled(co_await boost::asio::this_coro::cancellation_state)) {
        co_return false;
    }
    std::vector<std::string> keys{std::string(kRoot)};
    std::vector<std::string> words{random_hex<8>(random_), std::move(run)};
    const Result<io::RedisReply> reply =
        co_await redis_.run(join_script(), std::move(keys), std::move(words), Instant::max());
    if (!reply.ok()) {
        failure_ = reply.error().message;
        co_return false;
    }
    if (reply->elements.size() != 2 || reply->elements[0].text != "joined") {
        co_return true;  // what can't be read is gone now
    }
    epoch_ = reply->elements[1].text;
    if (std::exchange(connection_, connection) != connection) {
        changed_ = known_;
    }
    if (epoch_ != last_epoch_) {
        std::uint64_t suppressed = 0;
        if (!last_epoch_.empty() && lost_lines_.allow(clock_.now(), suppressed)) {
            const std::string reason =
                why_lost_.empty() ? "redis was started again" : std::exchange(why_lost_, {});
            log_.warn(
                "shared_budgets_lost",
                {{"accounts", known_.size()}, {"reason", reason}, {"suppressed", suppressed}});
        }
        last_epoch_ = epoch_;
        changed_ = known_;
        kept_.clear();
    }
    co_return true;
}

std::uint64_t SharedBudgets::kept_of(const Figure& figure) const {
    const auto found = kept_.find(figure.account);
    return found != kept_.end() && found->second.day == figure.day ? found->second.said : 0;
}

Task<SharedBudgets::Reply> SharedBudgets::tell(std::vector<Figure> figures, bool asks,
                                               Instant deadline) {
    const std::string epoch = epoch_;
    const std::uint64_t said = ++said_;
    const Millis young = redis_.back_within() + kTellEvery;
    std::vector<std::string> keys{std::string(kRoot)};
    std::vector<std::string> words{epoch,    std::to_string(young.count()), books_,
                                   process_, std::to_string(said),          asks ? "1" : "0"};
    std::vector<Spent> owns;
    for (const Figure& figure : figures) {
        const std::size_t i = index_of(figure.period);
        const Limits& limits = figure.account->limits();
        const Spent own = owns.emplace_back(own_figure(figure));
        keys.push_back(name_of(figure.account->name(), figure.period, figure.day));
        words.insert(
            words.end(),
            {std::to_string(limits.calls[i]), std::to_string(limits.micro_usd[i]),
             std::to_string(own.calls), std::to_string(own.micro_usd),
             std::to_string(Millis(kKeptFor[i]).count()), std::to_string(kept_of(figure))});
    }
    const Result<io::RedisReply> answer =
        co_await redis_.run(tell_script(), std::move(keys), std::move(words), deadline);
    Reply reply;
    if (answer.ok()) {
        reply = read(*answer);
    } else {
        failure_ = answer.error().message;
        reply.told = answer.error().code == Code::kCancelled ? Told::kCancelled : Told::kFailed;
    }
    if (reply.told == Told::kDone && epoch_ == epoch) {
        note_done(figures, owns, said, *answer);
    } else if (reply.told == Told::kStale && epoch_ == epoch) {
        epoch_.clear();
        why_lost_ = io::why_lost(*answer);
    }
    co_return reply;
}

void SharedBudgets::note_done(const std::vector<Figure>& figures, const std::vector<Spent>& own,
                              std::uint64_t said, const io::RedisReply& answer) {
    note_shared();
    for (std::size_t i = 0; i < figures.size() && 3 * i + 3 < answer.elements.size(); ++i) {
        const Figure& figure = figures[i];
        Kept& kept = kept_[figure.account];
        kept = {figure.day, kept.day == figure.day ? std::max(kept.said, said) : said};
        const auto number = [&](std::size_t place) {
            return std::max<std::int64_t>(answer.elements[3 * i + place].integer, 0);
        };
        shares_[figure.account][index_of(figure.period)] =
            Share{figure.day, own[i], Spent{number(1), 0, number(2)},
                  std::max<std::int64_t>(number(3), 1)};
    }
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
    } else if (word == "taken") {
        failure_ =
            "another process spends under the same name, so its data directory is a copy of this "
            "one: stop it, remove the files replica and usage.db there, and start both again";
    } else {
        failure_ = "redis answered something else";
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
    int stale = 0;
    do {
        if (!knows_epoch() && !co_await join()) {
            co_return;
        }
        std::vector<const BudgetAccount*> accounts;
        while (!changed_.empty() && accounts.size() < kAccountsAtOnce) {
            accounts.push_back(*changed_.begin());
            changed_.erase(changed_.begin());
        }
        const Reply reply = co_await tell(figures_of(accounts), false, Instant::max());
        if (reply.told == Told::kDone) {
            continue;
        }
        changed_.insert(accounts.begin(), accounts.end());
        if (reply.told == Told::kStale && ++stale < kMaxTries) {
            continue;  // the others wait for what this process spent
        }
        if (reply.told == Told::kFailed && redis_.is_up()) {
            note_not_shared(failure_);
        }
        co_return;
    } while (!changed_.empty() || !knows_epoch());
}

}  // namespace sluice::access
