"""Several gateways, one Redis and ten keys, all of them processes: what one learns of a key all respect,
whoever of them dies and whatever becomes of Redis."""
import collections
import concurrent.futures
import json
import signal
import time

import pytest

from wire import Redis, Sluice, until

REPLICAS = 4
# Fewer than there are keys: who is picked goes by whose turn it is, and not by how long calls take meanwhile.
FEW_AT_ONCE = 4
KEYS = [f"shared-serper-key-{number:04}" for number in range(10)]
SETTINGS = """
[routing]
fast = ["serper"]
[keys]
max_in_flight = {in_flight}
[secrets]
key = "env:SHARED_SECRETS_KEY"
[lanes]
total_concurrency = 512
[lanes.fast]
concurrency = 512
queue_timeout_s = 2
deadline_s = {deadline}
[lanes.deep]
queue_timeout_s = 2
deadline_s = {deadline}
"""


@pytest.fixture
def redis():
    server = Redis()
    yield server
    server.stop()


@pytest.fixture
def start(upstream, redis):
    """Starts gateways that have the same keys and share `redis`; ends them when the test is over."""
    running = []

    def one(in_flight=100, deadline=10, **env):
        settings = SETTINGS.format(in_flight=in_flight, deadline=deadline)
        gateway = Sluice(upstream, settings, keys=False, routing=False,
                         env={"GATEWAY_REDIS_URL": redis.url, "SERPER_API_KEYS": ",".join(KEYS),
                              "SHARED_SECRETS_KEY": "5a" * 32, **env})
        running.append(gateway)
        return gateway
    yield one
    for gateway in running:
        gateway.send_signal(signal.SIGCONT)
        gateway.stop()


def searches(gateways, count, at_once=32):
    """So many different searches, turn by turn at each of the gateways: how many of each status, with the body of those
    that failed."""
    searches.number += 1
    name = f"round {searches.number}"
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        answers = pool.map(lambda n: gateways[n % len(gateways)].search(f"{name} search {n}"),
                           range(count))
        return collections.Counter(200 if answer.status == 200 else (answer.status, answer.body) for answer in answers)


searches.number = 0


def calls(upstream):
    return [request for request in upstream.requests() if request["target"].startswith("/serper")]


def key_of(request):
    return next(value for name, value in request["headers"].items() if name.lower() == "x-api-key")


def by_key(upstream):
    return collections.Counter(key_of(request) for request in calls(upstream))


def most_at_once(upstream, took_ms):
    """Of each key, how many calls the upstream had at one moment, when each took `took_ms`."""
    times = collections.defaultdict(list)
    for request in calls(upstream):
        times[key_of(request)].append(request["at_ms"])
    most = {}
    for key, begun in times.items():
        begun.sort()
        most[key] = max(sum(1 for at in begun if start <= at < start + took_ms) for start in begun)
    return most


def keys_of(gateway):
    listed = gateway.command("keys", "list", "--json")
    assert listed.returncode == 0, listed.stderr
    return json.loads(listed.stdout)["keys"]


def picks(gateways, of):
    return sum(gateway.metric("sluice_web_key_picks_total", **{"from": of}) for gateway in gateways)


def test_calls_are_spread_over_all_keys_and_none_carries_more_than_it_may(upstream, redis, start):
    """With more clients than the keys have room for, so that each key is full again and again."""
    limit, clients, count = 4, 60, 2000
    gateways = [start(in_flight=limit) for _ in range(REPLICAS)]
    upstream.control("serper", delay_ms=100)

    def insist(number):
        until(lambda: gateways[number % REPLICAS].search(f"insists {number}").status == 200)
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        list(pool.map(insist, range(count)))
    made = by_key(upstream)
    assert set(made) == set(KEYS) and sum(made.values()) == count
    assert all(abs(calls - count / len(KEYS)) <= 0.1 * count / len(KEYS) for calls in made.values()), made
    # A call that just ended may still be on its way back when the next one is there.
    most = most_at_once(upstream, took_ms=99)
    assert set(most.values()) == {limit}, most
    assert picks(gateways, "shared") >= count and picks(gateways, "alone") == 0


def test_a_rate_limited_key_rests_at_all_replicas_at_once(upstream, redis, start):
    gateways = [start() for _ in range(REPLICAS)]
    assert searches(gateways, 40) == {200: 40}
    upstream.forget()
    upstream.control("serper", fixture="ok", status=429, times=1)
    assert gateways[0].search("which key is it").status == 200
    limited, other = [key_of(request) for request in calls(upstream)]
    assert limited != other
    upstream.forget()
    began = time.monotonic()
    first = searches(gateways[1:], 30)
    assert first == {200: 30}
    assert limited not in by_key(upstream), "picked after 429, by somebody else"
    assert time.monotonic() - began < 60, "it rests for longer than this took"
    assert [key["status"] for key in keys_of(gateways[3])].count("cooling") == 1


def test_reservations_of_a_replica_that_is_killed_come_back(upstream, redis, start):
    # Those of a call come back ten seconds after the longest deadline.
    doomed, other = start(in_flight=1, deadline=2.5), start(in_flight=1, deadline=2.5)
    upstream.control("serper", fault="stall")
    with concurrent.futures.ThreadPoolExecutor(len(KEYS)) as pool:
        stalled = [pool.submit(doomed.search, f"stalls {number}") for number in range(len(KEYS))]
        until(lambda: len(calls(upstream)) == len(KEYS))
        doomed.stop(signal.SIGKILL)
        assert all(future.exception() for future in stalled)
    upstream.control("serper")
    assert other.search("every key is busy").status != 200
    until(lambda: other.search(f"is one back {time.monotonic()}").status == 200)
    until(lambda: all(key["in_flight"] == 0 for key in keys_of(other)))
    assert searches([other], 20, at_once=4) == {200: 20}


@pytest.mark.parametrize("what", ["killed", "frozen"])
def test_a_redis_that_goes_away_stops_nobody(upstream, redis, start, what):
    gateways = [start() for _ in range(REPLICAS)]
    assert searches(gateways, 40) == {200: 40}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        served = pool.submit(searches, gateways, 400, 16)
        redis.stop() if what == "killed" else redis.send_signal(signal.SIGSTOP)
        assert served.result() == {200: 400}
    until(lambda: all(gateway.get("/v1/status").json()["redis"]["state"] == "down" for gateway in gateways))
    assert searches(gateways, 40) == {200: 40}
    assert picks(gateways, "alone") >= 40
    redis.start() if what == "killed" else redis.send_signal(signal.SIGCONT)
    for gateway in gateways:
        until(lambda: gateway.get("/v1/status").json()["redis"]["state"] == "up")
        until(lambda: '"event":"keys_shared_again"' in gateway.output())
    before = picks(gateways, "alone")
    upstream.forget()
    assert searches(gateways, 400, FEW_AT_ONCE) == {200: 400}
    assert picks(gateways, "alone") == before
    assert all(abs(count - 40) <= 4 for count in by_key(upstream).values()), by_key(upstream)
    for gateway in gateways:
        assert gateway.output().count('"event":"keys_not_shared"') == 1
        assert gateway.output().count('"event":"keys_shared_again"') == 1


# Redis answers, and each of its scripts with an error: it is full, or may not be asked for them any more.
@pytest.mark.parametrize("breaks,mends", [
    (["CONFIG", "SET", "maxmemory", "1"], ["CONFIG", "SET", "maxmemory", "0"]),
    (["ACL", "SETUSER", "default", "-evalsha", "-eval"], ["ACL", "SETUSER", "default", "+@all"]),
], ids=["full", "forbidden"])
def test_scripts_that_fail_stop_nobody(upstream, redis, start, breaks, mends):
    gateways = [start() for _ in range(2)]
    assert searches(gateways, 20) == {200: 20}
    redis.command(*breaks)
    before = picks(gateways, "alone")
    assert searches(gateways, 100) == {200: 100}
    assert picks(gateways, "alone") > before
    for gateway in gateways:
        until(lambda: '"event":"keys_not_shared"' in gateway.output())
    redis.command(*mends)
    for gateway in gateways:
        until(lambda: '"event":"keys_shared_again"' in gateway.output())
    alone = picks(gateways, "alone")
    upstream.forget()
    assert searches(gateways, 200, FEW_AT_ONCE) == {200: 200}
    assert picks(gateways, "alone") == alone
    assert all(abs(count - 20) <= 2 for count in by_key(upstream).values()), by_key(upstream)


def test_a_redis_that_is_emptied_is_told_again(upstream, redis, start):
    gateways = [start() for _ in range(REPLICAS)]
    upstream.control("serper", fixture="ok", status=403, times=1)
    assert searches(gateways, 100) == {200: 100}
    resting = [key["id"] for key in keys_of(gateways[1]) if key["status"] == "quarantined"]
    assert len(resting) == 1
    # Each tells what it knows, so all have to have heard of it, which they do every second.
    for gateway in gateways:
        until(lambda: gateway.get("/v1/status").json()["keys"]["serper"]["quarantined"] == 1)
    redis.command("FLUSHALL")
    redis.command("SCRIPT", "FLUSH")
    upstream.forget()
    assert searches(gateways, 200) == {200: 200}
    assert len(by_key(upstream)) == len(KEYS) - 1, "the one that was refused is not forgotten"
    assert [key["id"] for key in keys_of(gateways[2]) if key["status"] == "quarantined"] == resting
    used = {key["id"]: key["used"] for key in keys_of(gateways[0])}
    assert 300 <= sum(used.values()) <= 310, "counted as before, and what was under way at most twice"
    assert picks(gateways, "alone") == 0


def test_nothing_of_a_key_but_its_id_is_in_redis(upstream, redis, start):
    gateway = start()
    assert searches([gateway], 20) == {200: 20}
    for name in redis.command("KEYS", "sluice:keys:*").splitlines():
        kind = redis.command("TYPE", name)
        shown = redis.command("HGETALL", name) if kind == "hash" else redis.command("ZRANGE", name, 0, -1)
        assert all(key not in shown for key in KEYS)
