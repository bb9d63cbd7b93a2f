// What RedisKeyRuntime is made of; for its own files only.
#pragma once

#include "guard/event.h"
#include "io/redis_reply.h"
#include "web/key_runtime_redis.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::web {

// What is known of a key beside local_.
struct RedisKeyRuntime::Key {
    struct Token {
        std::string text;
        bool is_shared = false;  // Redis knows of it, or will by what is under way
    };
    enum class From : std::uint8_t { kNowhere, kStore, kRedis };

    KeyRules rules = {};
    std::deque<Token> tokens = {};  // of reservations that are open, the oldest first

    // The count of calls that was last heard of, and where.
    From known_from = From::kNowhere;
    std::uint32_t known_in = 0;  // Pool::era
    SharedEntry::Known known = {};

    // What Redis has to be told with the next entry.
    bool is_marked = false;
    std::int64_t unshared_calls = 0;
    bool tells_rest = false;
    bool ends_rest = false;

    std::uint32_t under_way = 0;  // commands about it
};

// The keys of one provider.
struct RedisKeyRuntime::Pool {
    explicit Pool(std::string name) : root(std::move(name)) {}

    const std::string root;
    std::string epoch = {};  // of the state in Redis that this process takes part in; empty: none
    std::string last_epoch = {};
    std::string why_lost = {};     // that was said last
    std::uint64_t connection = 0;  // over which Redis was told everything
    std::uint32_t era = 0;         // counts epochs
    std::int64_t since = 0;        // the turn up to which changes of others are known
    std::map<std::string, KeyIndex, std::less<>> by_id = {};
    std::deque<KeyIndex> marked = {};   // in this order they come into the order of turns
    std::set<std::string> let_go = {};  // ids that Redis has to be told of
    bool has_strangers = false;         // Redis gave one out that this process does not have
    std::size_t names_from = 0;         // of its keys, where there are many
    bool is_sharing = false;
    std::vector<std::shared_ptr<guard::Event>> waiting = {};  // for the end of that
};

// A pick under way. It ends although whoever wanted it has left.
struct RedisKeyRuntime::Ask {
    // kStranger: another one than this process has. kUntold: Redis has none that this process has.
    enum class End : std::uint8_t { kFailed, kStale, kStranger, kUntold, kDecided };

    std::string token = {};
    std::string epoch = {};
    bool names_own = false;  // it was told which keys to give out
    End end = End::kFailed;
    Pick pick = NoKey{};
    bool is_abandoned = false;
    guard::Event done = {};
};

// What an entry says, to be taken off what is still to be said.
struct RedisKeyRuntime::Told {
    KeyIndex key = 0;
    std::string id = {};
    std::int64_t calls = 0;
    bool rest = false;
    bool ends_rest = false;
    std::vector<std::string> tokens = {};
};

// What has to be said again if it does not get through.
struct RedisKeyRuntime::Untold {
    std::int64_t calls = 0;
    bool rest = false;
    std::string account = {};  // that the rest reaches
    bool ends_rest = false;
};

inline std::string_view kind_of_reply(const io::RedisReply& reply) {
    return reply.elements.empty() ? std::string_view() : std::string_view(reply.elements[0].text);
}

}  // namespace sluice::web
