"""Several gateways and one Redis, all of them processes: one search upstream for all who ask at once,
whoever of them dies or stands still."""
import concurrent.futures
import signal

import pytest

from wire import Connection, Redis, Sluice, until

REPLICAS = 4


@pytest.fixture
def redis():
    server = Redis()
    yield server
    server.stop()


@pytest.fixture
def start(upstream, redis):
    """Starts gateways that share `redis`; ends them when the test is over."""
    running = []

    def one(settings="", env=None):
        running.append(Sluice(upstream, settings, env={"GATEWAY_REDIS_URL": redis.url, **(env or {})}))
        return running[-1]
    yield one
    for gateway in running:
        gateway.send_signal(signal.SIGCONT)
        gateway.stop()


def serper_calls(upstream):
    return sum(1 for request in upstream.requests() if request["target"].startswith("/serper"))


def ask_all(gateways, query, **fields):
    """The same search to all of them at once; futures, in their order."""
    pool = concurrent.futures.ThreadPoolExecutor(len(gateways))
    return [pool.submit(gateway.search, query, **fields) for gateway in gateways]


def lock_is_held(redis):
    return redis.command("KEYS", "sluice:lock:*") != ""


def holder_of(gateways, redis):
    """Which of them has the turn, by their own account."""
    until(lambda: lock_is_held(redis))
    won = [gateway for gateway in gateways
           if gateway.metric("sluice_web_shared_turns_total", outcome="won") >= 1]
    assert len(won) == 1
    return won[0]


def test_four_replicas_search_once_for_one_cold_query(upstream, redis, start):
    gateways = [start() for _ in range(REPLICAS)]
    upstream.control("serper", fixture="ok", delay_ms=500)
    answers = [future.result() for future in ask_all(gateways, "one for all")]
    assert [answer.status for answer in answers] == [200] * REPLICAS
    assert serper_calls(upstream) == 1
    first = answers[0].json()
    assert all(answer.json()["results"] == first["results"] for answer in answers)
    assert not lock_is_held(redis), "the turn is given back"


def test_an_answer_of_one_replica_is_a_hit_of_another(upstream, redis, start):
    one, other = start(), start()
    upstream.control("serper", fixture="ok")
    made = one.search("found by one").json()
    until(lambda: not lock_is_held(redis))  # before that others share its search
    upstream.forget()
    answer = other.search("found by one")
    assert answer.json()["cached"] is True and answer.json()["results"] == made["results"]
    assert "hit" in answer.header("Cache-Status")
    assert serper_calls(upstream) == 0
    # From now on it is in that one's own memory.
    before = other.metric("sluice_redis_commands_total", outcome="succeeded")
    looked = other.metric("sluice_web_shared_cache_events_total", event="found")
    assert other.search("found by one").json()["cached"] is True
    assert other.metric("sluice_web_shared_cache_events_total", event="found") == looked
    assert before >= 1
    assert other.search("found by one", cache="only").status == 200
    third = start()
    assert third.search("found by one", cache="only").json()["cached"] is True
    assert third.search("found by nobody", cache="only").json()["code"] == "not_cached"


def test_all_who_wait_for_one_look_are_served_what_another_replica_found(upstream, redis, start):
    one, other = start(), start("[redis]\ntimeout_s = 20\n")
    assert one.search("found by one").status == 200
    until(lambda: not lock_is_held(redis))
    upstream.forget()
    redis.send_signal(signal.SIGSTOP)
    answers = ask_all([other] * 4, "found by one")
    until(lambda: other.metric("gateway_cache_events_total", event="collapsed") >= 3)
    redis.send_signal(signal.SIGCONT)
    assert [future.result().json()["cached"] for future in answers] == [True] * 4
    assert serper_calls(upstream) == 0


def test_a_stale_answer_of_another_replica_is_the_last_resort(upstream, redis, start):
    settings = "[cache]\nttl_s = 0.2\nstale_ttl_s = 60\n"
    one, other = start(settings), start(settings)
    assert one.search("old but there").status == 200
    for provider in ("serper", "tavily"):
        upstream.control(provider, status=500)
    until(lambda: other.search("old but there").json().get("stale") is True)


def test_a_refresh_and_a_bypass_ask_for_themselves(upstream, redis, start):
    one, other = start(), start()
    assert one.search("asked anew").status == 200
    upstream.forget()
    assert other.search("asked anew", cache="refresh").json()["cached"] is False
    assert other.search("asked anew", cache="bypass").json()["cached"] is False
    assert serper_calls(upstream) == 2


def test_a_failed_search_is_not_repeated_by_the_replicas_that_waited(upstream, redis, start):
    gateways = [start() for _ in range(REPLICAS)]
    for provider in ("serper", "tavily"):
        upstream.control(provider, status=500, delay_ms=400)
    answers = [future.result() for future in ask_all(gateways, "fails for all")]
    assert {answer.json()["code"] for answer in answers} == {"upstream_failed"}
    assert serper_calls(upstream) == 1
    for provider in ("serper", "tavily"):
        upstream.control(provider, fixture="ok")
    until(lambda: gateways[0].search("fails for all").status == 200)


def test_the_others_take_over_once_from_a_holder_that_is_killed(upstream, redis, start):
    gateways = [start("[cache]\nlock_ttl_s = 1\n") for _ in range(REPLICAS)]
    upstream.control("serper", fixture="ok", delay_ms=1500)
    first = ask_all(gateways[:1], "its holder dies")
    holder = holder_of(gateways, redis)
    assert holder is gateways[0]
    others = ask_all(gateways[1:], "its holder dies")
    until(lambda: all(gateway.metric("sluice_web_shared_turns_total", outcome="held") >= 1
                      for gateway in gateways[1:]))
    holder.stop(signal.SIGKILL)
    assert first[0].exception() is not None
    assert [future.result().status for future in others] == [200] * (REPLICAS - 1)
    assert serper_calls(upstream) == 2


def test_a_slow_holder_keeps_its_turn_for_longer_than_the_lock_lives(upstream, redis, start):
    gateways = [start("[cache]\nlock_ttl_s = 0.5\n") for _ in range(2)]
    upstream.control("serper", fixture="ok", delay_ms=2000)
    answers = [future.result() for future in ask_all(gateways, "slow but alive")]
    assert [answer.status for answer in answers] == [200, 200]
    assert serper_calls(upstream) == 1
    assert all("lock_lost" not in gateway.output() for gateway in gateways)


def test_a_holder_that_stood_still_says_so_and_takes_nothing_from_its_successor(upstream, redis, start):
    frozen, successor = (start("[cache]\nlock_ttl_s = 0.5\n") for _ in range(2))
    upstream.control("serper", fixture="ok", delay_ms=3000)
    first = ask_all([frozen], "its holder stands still")[0]
    assert holder_of([frozen, successor], redis) is frozen
    frozen.send_signal(signal.SIGSTOP)
    until(lambda: not lock_is_held(redis))
    second = ask_all([successor], "its holder stands still")[0]
    until(lambda: lock_is_held(redis))
    token = redis.command("GET", redis.command("KEYS", "sluice:lock:*"))
    frozen.send_signal(signal.SIGCONT)
    frozen.wait_for_line(r'"event":"lock_lost"')
    assert redis.command("GET", redis.command("KEYS", "sluice:lock:*")) == token
    assert first.result().status == 200 and second.result().status == 200
    assert serper_calls(upstream) == 2
    assert frozen.metric("sluice_web_shared_turns_total", outcome="lost") == 1
    assert "lock_lost" not in successor.output()


def test_a_client_that_leaves_gives_the_turn_back_at_once(upstream, redis, start):
    one, other = (start("[cache]\nmax_unattended = 0\nlock_ttl_s = 60\n[lanes.fast]\ndeadline_s = 180\n") for _ in range(2))
    upstream.control("serper", fault="stall")
    client = Connection(one.address)
    body = b'{"query": "nobody waits"}'
    client.send(b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    until(lambda: lock_is_held(redis))
    client.close()
    until(lambda: not lock_is_held(redis))
    upstream.control("serper", fixture="ok")
    assert other.search("nobody waits").status == 200


def test_without_a_usable_redis_each_replica_goes_on_by_itself(upstream, redis, start):
    gateways = [start() for _ in range(2)]
    upstream.control("serper", fixture="ok", delay_ms=600)
    answers = ask_all(gateways, "redis dies meanwhile")
    holder_of(gateways, redis)
    redis.stop()
    assert [future.result().status for future in answers] == [200, 200]
    assert 1 <= serper_calls(upstream) <= 2
    redis.start()
    for gateway in gateways:
        until(lambda: gateway.get("/v1/status").json()["redis"]["state"] == "up")
    upstream.forget()
    assert [future.result().status for future in ask_all(gateways, "redis is back")] == [200, 200]
    assert serper_calls(upstream) == 1


def test_a_purge_reaches_redis_and_says_when_it_does_not(upstream, redis, start):
    one, other = start(), start()
    assert one.search("to be forgotten").status == 200
    purged = one.command("cache", "purge", "--json")
    assert purged.returncode == 0 and '"shared":true' in purged.stdout
    upstream.forget()
    assert other.search("to be forgotten").json()["cached"] is False
    assert serper_calls(upstream) == 1
    third = start()
    assert third.search("to be forgotten").json()["cached"] is True, "what came after it is there"
    redis.stop()
    until(lambda: one.get("/v1/status").json()["redis"]["state"] == "down")
    purged = one.command("cache", "purge")
    assert purged.returncode == 1 and "redis" in purged.stderr


def test_a_purge_reaches_the_memory_of_every_replica(upstream, redis, start):
    one, other = start(), start()
    for gateway in (one, other):
        assert gateway.search("kept by both").status == 200
    assert other.search("kept by both").json()["cached"] is True
    assert one.command("cache", "purge").returncode == 0
    other.wait_for_line(r'"event":"cache_purged_by_replica"')
    assert other.search("kept by both").json()["cached"] is False
    assert "cache_purged_by_replica" not in one.output(), "its own one"


def test_a_redis_that_is_emptied_takes_no_answer_from_a_memory(upstream, redis, start):
    one, other = start(), start()
    assert one.command("cache", "purge").returncode == 0
    other.wait_for_line(r'"event":"cache_purged_by_replica"')
    assert other.search("kept here").status == 200
    redis.command("FLUSHALL")
    assert one.command("cache", "purge", "--json").returncode == 0
    other.wait_for_line(r'cache_purged_by_replica.*"answers":1')
    assert other.output().count("cache_purged_by_replica") == 2


def test_what_stands_in_redis_and_is_no_answer_is_passed_over(upstream, redis, start):
    one, other = start(), start()
    assert one.search("spoilt").status == 200
    key = redis.command("KEYS", "sluice:answer:*")
    for text in ("0:ab:0:60000:garbage", "0:ab:-1:60000:", "0:ab:0", "garbage"):
        redis.command("SET", key, text, "PX", 60000)
        assert other.search("spoilt", cache="only").status != 200
    assert other.metric("sluice_web_shared_cache_events_total", event="unreadable") >= 3
    assert other.search("spoilt").status == 200


def test_queries_and_keys_of_providers_are_not_in_redis(upstream, redis, start):
    gateway = start()
    assert gateway.search("words that stay here").status == 200
    key = redis.command("KEYS", "sluice:answer:*")
    value = redis.command("GET", key)
    assert "words that stay here" not in key + value
    assert "serper-test-key" not in value
