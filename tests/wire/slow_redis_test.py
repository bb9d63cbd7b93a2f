"""Several gateways and a Redis that takes 100 ms for everything, on the way or by itself: what they share they share as
they do with a fast one, only later, and what needs no Redis is as fast as ever."""
import concurrent.futures
import signal
import socket
import statistics
import threading
import time

import pytest

from replicas_test import ask_all, holder_of, lock_is_held, serper_calls
from shared_keys_test import FEW_AT_ONCE, KEYS, SETTINGS, by_key, calls, key_of, picks, searches
from shared_money_test import BUDGET
from wire import Redis, SlowProxy, Sluice, until

SLOW_S = 0.1
LATENESS = "sluice_redis_command_seconds"


class Busy:
    """Keeps a Redis so busy that everything it is asked waits for up to so many seconds."""

    def __init__(self, redis, seconds):
        self.over, self.naps = threading.Event(), 0
        self.connection = socket.create_connection(("127.0.0.1", redis.port))
        self.command = f"DEBUG SLEEP {seconds}\r\n".encode()
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def _work(self):
        while not self.over.is_set():
            self.connection.sendall(self.command)
            reply = self.connection.recv(100)
            assert reply == b"+OK\r\n", reply
            self.naps += 1

    def stop(self):
        assert self.thread.is_alive() and self.naps > 0, "the Redis was not slow to the end"
        self.over.set()
        self.thread.join()
        self.connection.close()


class Slowness:
    """A Redis, and where gateways find it."""

    def __init__(self, kind):
        self.redis = Redis("--enable-debug-command", "yes")
        self.kind, self.helper = kind, None
        if kind == "late":
            self.helper = SlowProxy(self.redis.port, SLOW_S)
            self.helper.be_slow()
        self.url = f"redis://127.0.0.1:{self.helper.port if self.helper else self.redis.port}"

    def begin(self):
        """Gateways have started by now."""
        if self.kind == "busy":
            self.helper = Busy(self.redis, SLOW_S)

    def stop(self):
        try:
            self.helper.stop()
        finally:
            self.redis.stop()


@pytest.fixture
def slow(request):
    there = Slowness(getattr(request, "param", "late"))
    yield there
    there.stop()


in_both_ways = pytest.mark.parametrize("slow", ["late", "busy"], indirect=True)


@pytest.fixture
def start(upstream, slow):
    """Starts gateways with the same keys at the slow Redis; when the test is over it was slow to all of them, and none has
    taken that for anything else."""
    running, killed = [], []

    def some(count, settings=SETTINGS.format(in_flight=100, deadline=10), **env):
        running.extend(Sluice(upstream, settings, keys=False, routing="[routing]" not in settings,
                              env={"GATEWAY_REDIS_URL": slow.url, "SERPER_API_KEYS": ",".join(KEYS),
                                   "SHARED_SECRETS_KEY": "5a" * 32, **env}) for _ in range(count))
        for gateway in running:
            until(lambda: gateway.get("/v1/status").json()["redis"]["state"] == "up")
        slow.begin()
        return running[:]

    def kill(gateway):
        killed.append(gateway)
        gateway.stop(signal.SIGKILL)
    some.kill = kill
    yield some
    try:
        for gateway in running:
            if gateway not in killed:
                commands = gateway.metric(f"{LATENESS}_count")
                late = gateway.metric(f"{LATENESS}_sum") / commands
                assert late >= (SLOW_S if slow.kind == "late" else SLOW_S / 4), f"{commands} commands took {late} s each"
                assert gateway.metric("sluice_redis_up") == 1
                assert gateway.metric("sluice_redis_commands_total", outcome="timed_out") == 0
            for event in ("redis_unavailable", "keys_not_shared", "key_state_lost", "lock_lost", "budgets_not_shared"):
                assert f'"event":"{event}"' not in gateway.output(), gateway.output()
    finally:
        for gateway in running:
            gateway.stop()


@in_both_ways
def test_keys_are_picked_by_all_together(upstream, start):
    gateways = start(2)
    before = picks(gateways, "shared")
    assert searches(gateways, 80, FEW_AT_ONCE) == {200: 80}
    made = by_key(upstream)
    assert set(made) == set(KEYS) and all(abs(count - 8) <= 2 for count in made.values()), made
    told = [gateway.output() for gateway in gateways]
    assert picks(gateways, "alone") == 0, told
    assert picks(gateways, "shared") - before == 80, told


def test_a_key_that_is_refused_rests_for_all_from_the_next_pick_on(upstream, start):
    gateways = start(2)
    upstream.control("serper", fixture="ok", status=429, times=1)
    assert gateways[0].search("which key is it").status == 200
    limited = key_of(calls(upstream)[0])
    upstream.forget()
    assert searches(gateways[1:], 20) == {200: 20}
    assert limited not in by_key(upstream) and len(by_key(upstream)) == len(KEYS) - 1


@in_both_ways
def test_one_asks_for_all_and_keeps_its_turn_for_longer_than_the_lock_lives(upstream, start):
    gateways = start(3, "[cache]\nlock_ttl_s = 0.6\n")
    upstream.control("serper", fixture="ok", delay_ms=2000)
    answers = [future.result() for future in ask_all(gateways, "one for all, slowly")]
    assert [answer.status for answer in answers] == [200] * 3
    assert serper_calls(upstream) == 1


def test_the_others_take_over_once_from_a_holder_that_is_killed(upstream, slow, start):
    gateways = start(3, "[cache]\nlock_ttl_s = 1\n")
    upstream.control("serper", fixture="ok", delay_ms=1500)
    first = ask_all(gateways[:1], "its holder dies")
    assert holder_of(gateways, slow.redis) is gateways[0]
    until(lambda: serper_calls(upstream) == 1)
    others = ask_all(gateways[1:], "its holder dies")
    until(lambda: all(gateway.metric("sluice_web_shared_turns_total", outcome="held") >= 1 for gateway in gateways[1:]))
    start.kill(gateways[0])
    assert first[0].exception() is not None
    assert [future.result().status for future in others] == [200] * 2
    assert serper_calls(upstream) == 2


@in_both_ways
def test_an_answer_is_shared_and_then_in_memory_at_once(upstream, slow, start):
    one, other = start(2)
    cold, shared, kept = [], [], []

    def search(gateway, query, took):
        began = time.monotonic()
        answer = gateway.search(query)
        took.append(time.monotonic() - began)
        assert answer.status == 200
        return answer.json()
    for number in range(5):
        made = search(one, f"found by one {number}", cold)
        until(lambda: not lock_is_held(slow.redis))  # before that others share its search
        found = search(other, f"found by one {number}", shared)
        assert found["cached"] is True and found["results"] == made["results"]
        asked = other.metric("sluice_web_shared_cache_events_total", event="found")
        for _ in range(5):
            assert search(other, f"found by one {number}", kept)["cached"] is True
        assert other.metric("sluice_web_shared_cache_events_total", event="found") == asked
    assert serper_calls(upstream) == 5
    assert statistics.median(kept) < SLOW_S / 2, kept
    if slow.kind == "late":
        # Look, pick, keep; what settles the call waits for nobody. What else takes time is the machine's.
        assert 3 * SLOW_S <= min(cold) < 4 * SLOW_S, cold
        assert SLOW_S <= min(shared) < 2 * SLOW_S, shared


def test_a_budget_is_one_for_all(upstream, start):
    gateways = start(3, BUDGET)
    with concurrent.futures.ThreadPoolExecutor(30) as pool:
        statuses = list(pool.map(lambda n: gateways[n % 3].search(f"costs something {n}").status, range(150)))
    assert len(calls(upstream)) == 10 and statuses.count(200) == 10 and statuses.count(402) == 140
