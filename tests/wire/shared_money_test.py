"""Several gateways and one Redis, all of them processes: together they spend no more than one budget."""
import collections
import concurrent.futures
import signal

import pytest

from wire import Redis, Sluice

BUDGET = "[budgets.gateway]\ncalls_total = 10\n"


@pytest.fixture
def redis():
    server = Redis()
    yield server
    server.stop()


@pytest.fixture
def gateways(upstream, redis):
    three = [Sluice(upstream, BUDGET, env={"GATEWAY_REDIS_URL": redis.url}) for _ in range(3)]
    yield three
    for gateway in three:
        gateway.stop()


def calls(upstream):
    return [request for request in upstream.requests() if request["target"].startswith(("/serper", "/tavily"))]


def ask(gateway, number):
    """The status; None when the gateway died meanwhile."""
    try:
        return gateway.search(f"costs something {number}").status
    except (OSError, EOFError):
        return None


def test_ten_calls_are_ten_calls_over_three_replicas(upstream, gateways):
    with concurrent.futures.ThreadPoolExecutor(30) as pool:
        statuses = collections.Counter(pool.map(lambda n: ask(gateways[n % 3], n), range(500)))
    assert len(calls(upstream)) == 10
    assert statuses[200] == 10 and sum(statuses.values()) == 500


def test_a_replica_that_is_killed_takes_the_others_past_no_budget(upstream, gateways):
    upstream.control("serper", fixture="ok", delay_ms=100)
    with concurrent.futures.ThreadPoolExecutor(30) as pool:
        asked = [pool.submit(ask, gateways[n % 3], n) for n in range(250)]
        while not calls(upstream):
            pass
        gateways[0].stop(signal.SIGKILL)
        asked += [pool.submit(ask, gateways[n % 3], n) for n in range(250, 500)]
        statuses = collections.Counter(future.result() for future in asked)
    # What the killed one had claimed and not sent nobody else may spend.
    assert 1 <= len(calls(upstream)) <= 10
    assert 1 <= statuses[200] <= 10 and sum(statuses.values()) == 500


def test_an_emptied_redis_lends_nobody_money(upstream, redis, gateways):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: ask(gateways[n % 3], n), range(6)))
    assert len(calls(upstream)) == 6
    redis.command("FLUSHALL")
    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        list(pool.map(lambda n: ask(gateways[n % 3], n), range(100, 160)))
    assert len(calls(upstream)) == 10
