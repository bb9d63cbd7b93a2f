"""Several gateways and one Redis, all of them processes: a client has one window at all of them."""
import time

import pytest

from wire import Redis, Sluice

LIMIT = 300
SETTINGS = f"[limits]\nclient_requests_per_minute = {LIMIT}\n"


@pytest.fixture
def redis():
    server = Redis()
    yield server
    server.stop()


@pytest.fixture
def gateways(upstream, redis):
    three = []
    for _ in range(3):
        three.append(Sluice(upstream, SETTINGS, env={"GATEWAY_REDIS_URL": redis.url}))
    yield three
    for gateway in three:
        gateway.stop()


def in_one_minute(ask):
    """What `ask` gives, of a try that no minute ended in."""
    for _ in range(3):
        began = int(time.time() // 60)
        result = ask()
        if int(time.time() // 60) == began:
            return result
    raise AssertionError("every try ran over the end of a minute")


def test_a_client_has_one_window_at_all_replicas(redis, gateways):
    def ask():
        statuses = [gateways[n % 3].search("one and the same").status for n in range(3 * LIMIT)]
        return statuses.count(200), statuses.count(429)
    passed, refused = in_one_minute(ask)
    # Each replica may let in what comes in the milliseconds before it has heard what the others did.
    assert LIMIT <= passed <= 1.5 * LIMIT and passed + refused == 3 * LIMIT
    names = redis.command("KEYS", "sluice:windows:*").splitlines()
    assert names and all(0 < int(redis.command("PTTL", name)) <= 180_000 for name in names)
