// The Lua scripts that keep the state of a provider's keys in Redis. Each one runs as a whole and
// at Redis's own time. What they keep, and under which names, is in docs/replicas.md.
//
// KEYS of each: the provider's root, from which the names of everything else follow. ARGV begins
// with the time (in ms since 1970; empty but in tests: Redis's own) and the epoch; what follows is
// said at each. Each answers {'stale'} and does nothing when the state in Redis is of another
// epoch, and {'stale', why} when it can't be read: it was lost (io/redis_state.h), and whoever
// finds that out begins the next one.
#pragma once

#include "io/redis.h"

#include <string>
#include <string_view>

namespace sluice::web {

// "sluice:keys:{serper}": everything of a provider is in one slot of a cluster.
std::string key_root(std::string_view provider);

// For how long the state is kept from now on in ms. Begins the epoch of ARGV where there is none,
// or where a part of it is missing. {'joined', the epoch that there is}
const io::RedisScript& join_keys_script();

// Takes over what a replica knows of keys. Rotation, life of a reservation in ms, and one JSON
// object a key; see write_entry(). {'done'}
const io::RedisScript& share_keys_script();

// Ids that a replica has no more, or has disabled. Others that have them hear of it as of a change;
// until one of them shares it again, nobody is given such a key. Its counts stay for a day.
// {'done'}
const io::RedisScript& let_keys_go_script();

// Token of the reservation, its life in ms, and of which keys: "of" with ids, or "but" with ids
// that are left out.
// {'picked', id, record, time} or {'none', reason, ms until the first that rests is back or -1}
const io::RedisScript& pick_key_script();

// Id, token, whether the call was made ("1"), outcome, status of a rest, its time in ms, the
// account that it reaches; the last four may be empty. {'done'}
const io::RedisScript& settle_key_script();

// Id: another call under a reservation. {'done'}
const io::RedisScript& count_call_script();

// Id: it rests no more. {'done'}
const io::RedisScript& clear_rest_script();

// The turn up to which changes are known, how many are wanted at most, for how long the state is
// kept from now on in ms. {'changes', time, turn up to which they are known then, id, record, ...}
const io::RedisScript& changed_keys_script();

}  // namespace sluice::web
