#include "web/key_scripts.h"

#include "io/redis_state.h"

namespace sluice::web {

namespace {

// A record, as JSON in the hash `state`:
//   off (no replica has it, as far as was told), w (weight), m (most calls at once), q (quota), p
//   (its period), n (ms of a window), a (account): what operators decided. f: calls under way. b +
//   c: calls of the quota's period; b is what replicas knew when the epoch began, c what was
//   counted since. e: when that period ends. r, s: until when it rests, and as what. o: last
//   outcome. v: its next turn by weight. at: the one index that it is in.
// `ready` holds those that may be used, by whose turn it is; `resting` those that rest, by when
// they are back; `leases` the reservations, by when they end by themselves, and keys that were let
// go, by when their counts are forgotten; `changed` every key, by
// the turn of its last change. Each of these, and the hash, has a member "" from the beginning of
// the epoch, so that none is ever empty: one that is not there was lost.
constexpr std::string_view kPrelude = R"(
local root = KEYS[1]
local STATE, READY, RESTING = root .. ':state', root .. ':ready', root .. ':resting'
local LEASES, ACCOUNTS, CHANGED = root .. ':leases', root .. ':accounts', root .. ':changed'
local NEVER, DAY, RANK, STRIDE = 9e15, 86400000, 1099511627776, 1000000
local REAPED, WOKEN = 32, 128
local GONE = ':gone'
names = {root, STATE, READY, RESTING, LEASES, ACCOUNTS, CHANGED}
local call = redis.call
local now = tonumber(ARGV[1])
if not now then
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local epoch, rotation, pass, last_turn, clock
  = unpack(call('HMGET', root, 'epoch', 'rotation', 'pass', 'turn', 'clock'))
pass, last_turn, clock = tonumber(pass) or 0, tonumber(last_turn) or 0, tonumber(clock) or 0
-- Everything ends at a time of this clock. One that is put back would make all of it last longer, so
-- what was written by the old one is lost, and replicas tell how long things last by theirs. One
-- that is put forward ends things early, which repeats itself at most once.
local STEP = 1000
local was_put_back = now < clock - STEP

local function is_whole()
  return call('EXISTS', STATE, READY, RESTING, LEASES, ACCOUNTS, CHANGED) == 6
end

local function load(id)
  local text = call('HGET', STATE, id)
  return text and cjson.decode(text)
end

-- The first instant of the next month of UTC. Years begin in March here, so that a leap day is the
-- last of its year.
local function next_month()
  local days = math.floor(now / DAY) + 719468
  local era = math.floor(days / 146097)
  local day = days - era * 146097
  local year = math.floor((day - math.floor(day / 1460) + math.floor(day / 36524)
                           - math.floor(day / 146096)) / 365)
  local of_year = day - (365 * year + math.floor(year / 4) - math.floor(year / 100))
  local month = math.floor((5 * of_year + 2) / 153) + 1
  if month == 12 then
    month, year = 0, year + 1
  end
  local first = 365 * year + math.floor(year / 4) - math.floor(year / 100)
                + math.floor((153 * month + 2) / 5)
  return (era * 146097 + first - 719468) * DAY
end

local function used(r)
  return r.b + r.c
end

local function period_end(r)
  if r.p == 'day' then
    return (math.floor(now / DAY) + 1) * DAY
  elseif r.p == 'month' then
    return next_month()
  elseif r.p == 'window' and used(r) > 0 then
    return r.e
  end
end

local function roll(r)
  if r.e and now >= r.e then
    r.b, r.c = 0, 0
    r.e = period_end(r)
  end
end

local function count_calls(r, calls)
  if r.p == 'window' and used(r) == 0 and calls > 0 then
    r.e = now + r.n
  end
  r.c = r.c + calls
end

local function take_back(r)
  if used(r) > 0 then
    r.c = r.c - 1
    if r.p == 'window' and used(r) == 0 then
      r.e = nil
    end
  end
end

-- Where a key belongs follows from its record. `moves`: to the end of the queue, where there is one;
-- `counts`: its calls under way are others than before.
local function put(id, r, moves, counts)
  local before = r.at
  local back = math.max(r.r or 0, r.q and used(r) >= r.q and (r.e or NEVER) or 0)
  if r.off then
    r.at = 'off'
  elseif back > now then
    r.at = 'resting'
  elseif r.f >= r.m then
    r.at = 'full'
  else
    r.at = 'ready'
  end
  if before == 'ready' and r.at ~= 'ready' then
    call('ZREM', READY, id)
  elseif before == 'resting' and r.at ~= 'resting' then
    call('ZREM', RESTING, id)
  end
  local turn = call('HINCRBY', root, 'turn', 1)
  moves = moves or before ~= 'ready' or r.by ~= rotation
  r.by = rotation
  if r.at == 'resting' then
    call('ZADD', RESTING, back, id)
  elseif r.at == 'ready' and rotation == 'least_used' and (moves or counts) then
    call('ZADD', READY, r.f * RANK + turn, id)
  elseif r.at == 'ready' and rotation == 'round_robin' and moves then
    call('ZADD', READY, turn, id)
  elseif r.at == 'ready' and rotation == 'weighted' and moves then
    r.v = math.max(r.v, pass)  -- turns that were missed are not made up for
    call('ZADD', READY, r.v, id)
  end
  call('HSET', STATE, id, cjson.encode(r))
  call('ZADD', CHANGED, turn, id)
end

local function rest(id, status, ends)
  local r = load(id)
  if r and ends > (r.r or 0) then
    r.r, r.s = ends, status
    put(id, r)
  end
end

-- Of a key that a replica let go: it is told again by those that have it.
local function let_go(id, r)
  if not r.off then
    r.off = true
    call('HINCRBY', root, 'off', 1)
    put(id, r)
  end
  call('ZADD', LEASES, now + DAY, id .. GONE)
end

local function forget(id, r)
  call('HINCRBY', root, 'off', -1)
  if r.a then call('ZREM', ACCOUNTS, r.a .. '\n' .. id) end
  call('ZREM', CHANGED, id)
  call('HDEL', STATE, id)
end

-- Reservations whose time is over, and rests: some of them at each call.
local function tidy()
  for _, lease in ipairs(call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, REAPED)) do
    call('ZREM', LEASES, lease)
    local id = string.match(lease, '^([^:]*):')
    local r = load(id)
    if r and lease == id .. GONE then
      if r.off then forget(id, r) end
    elseif r then
      r.f = math.max(r.f - 1, 0)
      put(id, r, false, true)
    end
  end
  for _, id in ipairs(call('ZRANGEBYSCORE', RESTING, '-inf', now, 'LIMIT', 0, WOKEN)) do
    local r = load(id)
    roll(r)
    put(id, r)
  end
end
)";

constexpr std::string_view kOfThisEpoch = R"(
if epoch ~= ARGV[2] then
  return {'stale'}
elseif not is_whole() then
  error('a part is missing')
elseif was_put_back then
  error('the clock of redis was put back')
elseif now >= clock + STEP then
  call('HSET', root, 'clock', now)
end
)";

io::RedisScript with_prelude(std::string_view text) {
    return io::state_script(std::string(kPrelude).append(kOfThisEpoch).append(text));
}

}  // namespace

std::string key_root(std::string_view provider) {
    return "sluice:keys:{" + std::string(provider) + "}";
}

const io::RedisScript& join_keys_script() {
    static const io::RedisScript script = io::state_script(std::string(kPrelude).append(R"(
if not epoch or epoch == '' or not is_whole() or was_put_back then
  epoch = ARGV[2]
  call('DEL', unpack(names))
  call('HSET', root, 'epoch', epoch, 'clock', now)
  call('HSET', STATE, '', '')
  for _, set in ipairs({READY, RESTING, LEASES}) do
    call('ZADD', set, '+inf', '')
  end
  for _, set in ipairs({ACCOUNTS, CHANGED}) do
    call('ZADD', set, 0, '')
  end
  for _, name in ipairs(names) do
    call('PEXPIRE', name, ARGV[3])
  end
end
return {'joined', epoch})"));
    return script;
}

const io::RedisScript& share_keys_script() {
    static const io::RedisScript script = with_prelude(R"(
if rotation ~= ARGV[3] then
  rotation = ARGV[3]
  call('HSET', root, 'rotation', rotation)
end

-- What the replica knew of the calls of this period. What it read in an epoch that is over is where
-- this one begins; what it kept in its store may have been counted in this one.
local function remember(r, known)
  local holds = known.ends == r.e
  if r.p == 'window' then
    holds = known.ends and known.ends > now and known.ends <= now + r.n
  end
  if not holds then
    return
  end
  if known.before then
    r.b = math.max(r.b, known.used)
  elseif used(r) < known.used then
    r.b = known.used - r.c
  end
  if r.p == 'window' and used(r) > 0 then
    r.e = math.max(r.e or 0, known.ends)
  end
end

for i = 5, #ARGV do
  local of = cjson.decode(ARGV[i])
  local r = load(of.id) or {f = 0, b = 0, c = 0, v = 0}
  if r.off then
    call('HINCRBY', root, 'off', -1)
  end
  if r.a ~= of.a then
    if r.a then call('ZREM', ACCOUNTS, r.a .. '\n' .. of.id) end
    if of.a then call('ZADD', ACCOUNTS, 0, of.a .. '\n' .. of.id) end
  end
  roll(r)
  if r.p ~= of.p or r.n ~= of.n then
    r.b, r.c, r.e = 0, 0, nil  -- a count of one kind of period says nothing about another
  end
  local weighs = r.w ~= of.w
  r.off, r.w, r.m, r.q, r.p, r.n, r.a = nil, of.w, of.m, of.q, of.p, of.n, of.a
  r.e = r.e or period_end(r)
  if of.known then
    remember(r, of.known)
  end
  count_calls(r, of.add or 0)
  if of.clear then
    r.r, r.s = nil, nil
  end
  if of.rest and now + of.rest.ms > (r.r or 0) then
    r.r, r.s = now + of.rest.ms, of.rest.status
  end
  for _, token in ipairs(of.held or {}) do
    r.f = r.f + call('ZADD', LEASES, 'NX', now + ARGV[4], of.id .. ':' .. token)
  end
  put(of.id, r, weighs, of.held ~= nil)
end
return {'done'})");
    return script;
}

const io::RedisScript& let_keys_go_script() {
    static const io::RedisScript script = with_prelude(R"(
for i = 3, #ARGV do
  local id = ARGV[i]
  local r = load(id)
  if r then
    let_go(id, r)
  end
end
return {'done'})");
    return script;
}

const io::RedisScript& pick_key_script() {
    static const io::RedisScript script = with_prelude(R"(
tidy()
local named, first = {}, nil
for i = 6, #ARGV do
  named[ARGV[i]] = true
end
if ARGV[5] == 'of' then
  local turn
  for id in pairs(named) do
    local score = tonumber(call('ZSCORE', READY, id))
    if score and (not turn or score < turn or score == turn and id < first) then
      first, turn = id, score
    end
  end
else
  for _, id in ipairs(call('ZRANGE', READY, 0, #ARGV - 5)) do
    if not first and id ~= '' and not named[id] then
      first = id
    end
  end
end
do
  local id = first
  if id then
    local r = load(id)
    if rotation == 'weighted' then
      pass = math.max(pass, r.v)
      call('HSET', root, 'pass', pass)
      r.v = r.v + math.floor(STRIDE / r.w)
    end
    roll(r)
    count_calls(r, 1)
    r.f = r.f + 1
    call('ZADD', LEASES, now + ARGV[4], id .. ':' .. ARGV[3])
    put(id, r, true)
    return {'picked', id, cjson.encode(r), now}
  end
end
local off = tonumber(call('HGET', root, 'off')) or 0
local active = call('HLEN', STATE) - 1 - off
local ready, resting = call('ZCARD', READY) - 1, call('ZCARD', RESTING) - 1
local why = 'resting'
if active == 0 then
  why = off > 0 and 'disabled' or 'none'
elseif ready > 0 then
  why = 'tried'
elseif active > resting then
  why = 'saturated'
  if call('ZCARD', LEASES) == 1 then
    error('keys are full of no calls')
  end
end
local back = tonumber(call('ZRANGE', RESTING, 0, 0, 'WITHSCORES')[2])
return {'none', why, back >= NEVER and -1 or back - now})");
    return script;
}

const io::RedisScript& settle_key_script() {
    static const io::RedisScript script = with_prelude(R"(
local id, token, made, outcome, status, time, account = unpack(ARGV, 3)
local r = load(id)
-- A reservation that ended by itself is no longer counted.
local held = call('ZREM', LEASES, id .. ':' .. token) == 1
if r then
  if held then
    r.f = math.max(r.f - 1, 0)
  end
  if held and made == '0' then
    take_back(r)
  end
  if outcome ~= '' then
    r.o = outcome
  end
  put(id, r, held and made == '0', held)
end
if status == '' then
  return {'done'}
end
local ends = now + time
if account == '' then
  rest(id, status, ends)
  return {'done'}
end
local from, to = '[' .. account .. '\n', '(' .. account .. '\v'
for _, member in ipairs(call('ZRANGEBYLEX', ACCOUNTS, from, to)) do
  rest(string.sub(member, #account + 2), status, ends)
end
return {'done'})");
    return script;
}

const io::RedisScript& count_call_script() {
    static const io::RedisScript script = with_prelude(R"(
local r = load(ARGV[3])
if r then
  roll(r)
  count_calls(r, 1)
  put(ARGV[3], r)
end
return {'done'})");
    return script;
}

const io::RedisScript& clear_rest_script() {
    static const io::RedisScript script = with_prelude(R"(
local r = load(ARGV[3])
if r then
  r.r, r.s = nil, nil
  put(ARGV[3], r)
end
return {'done'})");
    return script;
}

const io::RedisScript& changed_keys_script() {
    static const io::RedisScript script = with_prelude(R"(
if tonumber(ARGV[3]) > last_turn then
  error('it is older than what is known of it')
end
tidy()
for _, name in ipairs(names) do
  call('PEXPIRE', name, ARGV[5])
end
local ids = call('ZRANGEBYSCORE', CHANGED, '(' .. ARGV[3], '+inf', 'LIMIT', 0, ARGV[4])
local reply = {'changes', now, tonumber(ARGV[3])}
if #ids > 0 then
  reply[3] = tonumber(call('ZSCORE', CHANGED, ids[#ids]))
  for i, record in ipairs(call('HMGET', STATE, unpack(ids))) do
    reply[#reply + 1] = ids[i]
    reply[#reply + 1] = record
  end
end
return reply)");
    return script;
}

}  // namespace sluice::web
