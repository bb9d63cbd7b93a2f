#include "access/shared_windows.h"

#include "guard/window_counter.h"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace sluice::access {

namespace {

using Count = RequestWindows::Count;

constexpr std::size_t kCountsAtOnce = 1'000;
// Of a window's counts: clocks of replicas may differ.
constexpr Millis kKeptFor{3 * 60'000};

// KEYS: the counts of tokens and of clients in one window. ARGV: for how many ms they are kept,
// then for each count which of the two it is of ("1", "2"), its key and how many more. Gives how
// many there are now.
const io::RedisScript& count_script() {
    static const io::RedisScript script(R"(
local totals = {}
for i = 2, #ARGV, 3 do
  totals[#totals + 1] = redis.call('HINCRBY', KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2])
end
for _, key in ipairs(KEYS) do
  redis.call('PEXPIRE', key, ARGV[1])
end
return totals)");
    return script;
}

}  // namespace

// Shared with handlers that are on their way when a request has rung.
struct SharedWindows::News {
    explicit News(const Executor& executor) : alarm(std::make_shared<Alarm>(executor)) {}
    const std::shared_ptr<Alarm> alarm;
    bool is_there = false;
};

SharedWindows::SharedWindows(io::RedisClient& redis, RequestWindows& windows, Clock& clock)
    : redis_(redis),
      windows_(windows),
      clock_(clock),
      news_(std::make_shared<News>(redis.executor())) {
    windows_.keep_counts([executor = redis.executor(), news = news_] {
        boost::asio::post(executor, [news] {
            news->is_there = true;
            news->alarm->ring();
        });
    });
}

Task<void> SharedWindows::run() {
    for (;;) {
        while (!news_->is_there) {
            co_await clock_.wait(news_->alarm, Instant::max());
        }
        news_->is_there = false;
        co_await tell();
        co_await clock_.sleep_until(clock_.now() + kPause);
    }
}

Task<void> SharedWindows::tell() {
    const std::vector<Count> counts = windows_.take_counts();
    const std::span<const Count> all(counts);
    for (std::size_t told = 0; told < all.size() && redis_.is_up(); told += kCountsAtOnce) {
        co_await tell(all.subspan(told, std::min(kCountsAtOnce, all.size() - told)));
    }
}

Task<void> SharedWindows::tell(std::span<const Count> counts) {
    const std::int64_t window = guard::window_index(clock_.wall_now(), RequestWindows::kWindow);
    const std::string root = "sluice:windows:{all}:" + std::to_string(window);
    std::vector<std::string> keys{root + ":token", root + ":client"};
    std::vector<std::string> words{std::to_string(kKeptFor.count())};
    for (const Count& count : counts) {
        words.emplace_back(count.of == Count::Of::kToken ? "1" : "2");
        words.push_back(count.key);
        words.push_back(std::to_string(count.requests));
    }
    const Result<io::RedisReply> reply =
        co_await redis_.run(count_script(), std::move(keys), std::move(words), Instant::max());
    if (!reply.ok() || reply->elements.size() != counts.size()) {
        co_return;
    }
    const WallTime now = clock_.wall_now();
    if (guard::window_index(now, RequestWindows::kWindow) != window) {
        co_return;
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
        windows_.raise({counts[i].of, counts[i].key, reply->elements[i].integer}, now);
    }
}

}  // namespace sluice::access
