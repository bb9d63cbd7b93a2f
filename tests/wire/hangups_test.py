"""Clients that leave by the thousand, at every stage of a search, penalise nobody and leave nothing."""
import contextlib
import socket
import struct

import pytest

from wire import Connection, Sluice

LEAVERS = 1_000
AT_ONCE = 250


def ask(query):
    return b"GET /v1/search?q=%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % query.encode()


def reset_on_close(connection):
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def leave_in_crowds(gateway, stage, until=lambda: None):
    """LEAVERS clients come, AT_ONCE at a time, and leave when `until` returns; every second one with a reset."""
    for crowd in range(LEAVERS // AT_ONCE):
        with contextlib.ExitStack() as open_ones:
            for n in range(AT_ONCE):
                connection = open_ones.enter_context(Connection(gateway.address))
                if n % 2:
                    reset_on_close(connection)
                connection.send(stage(crowd * AT_ONCE + n))
            until()


def wait_for(holds):
    """Asks again and again, each time through a whole request, so that nothing has to sleep."""
    for _ in range(20_000):
        if holds():
            return
    raise AssertionError("it never came to that")


def scheduler(gateway):
    return gateway.get("/v1/status").json()["scheduler"]


def assert_nobody_is_penalised(gateway):
    wait_for(lambda: scheduler(gateway)["flights"] == 0)
    status = gateway.get("/v1/status").json()
    for lane in ("fast", "deep"):
        assert status["scheduler"][lane]["running"] == 0
        assert status["scheduler"][lane]["queued"] == 0
    for provider, keys in status["keys"].items():
        assert keys["in_flight"] == 0, provider
        assert keys["available"] == sum(
            keys[word] for word in ("available", "cooling", "exhausted", "quarantined", "saturated")), provider
    assert {circuit["state"] for circuit in status["circuits"].values()} == {"closed"}


@pytest.fixture
def gateway(upstream):
    """Two searches at once, so that a crowd queues."""
    process = Sluice(upstream, env={"SLUICE__LANES__FAST__CONCURRENCY": "2",
                                    "SLUICE__LANES__FAST__QUEUE_TIMEOUT_S": "9",
                                    "SLUICE__LANES__MAX_QUEUED": "2000",
                                    "SLUICE__CACHE__MAX_UNATTENDED": "0",
                                    "SLUICE__CIRCUIT__FAILURE_THRESHOLD": "1"})
    yield process
    assert process.stop() == 0


def test_leavers_in_the_queue(gateway, upstream):
    upstream.control("serper", fault="stall")
    leave_in_crowds(gateway, lambda n: ask(f"queued+{n}"),
                    lambda: wait_for(lambda: scheduler(gateway)["fast"]["queued"] >= AT_ONCE - 10))
    assert_nobody_is_penalised(gateway)
    assert len(upstream.requests()) <= 20, "who left in the queue was never searched for"


def test_leavers_during_the_call(upstream):
    gateway = Sluice(upstream, env={"SLUICE__LANES__FAST__CONCURRENCY": str(AT_ONCE),
                                    "SLUICE__KEYS__MAX_IN_FLIGHT": "1000",
                                    "SLUICE__UPSTREAM__MAX_CONNECTIONS_PER_HOST": "1000",
                                    "SLUICE__CACHE__MAX_UNATTENDED": "0",
                                    "SLUICE__CIRCUIT__FAILURE_THRESHOLD": "1"})
    try:
        upstream.control("serper", fault="stall")
        leave_in_crowds(gateway, lambda n: ask(f"called+{n}"),
                        lambda: wait_for(lambda: scheduler(gateway)["fast"]["running"] >= AT_ONCE - 10))
        assert_nobody_is_penalised(gateway)
        assert len(upstream.requests()) >= LEAVERS / 2, "they left before anybody was called"
        upstream.control("serper", fixture="ok")
        assert gateway.search("who stays").json()["provider"] == "serper"
    finally:
        assert gateway.stop() == 0


def test_leavers_while_the_answer_is_written(gateway):
    assert gateway.search("to be read").status == 200
    leave_in_crowds(gateway, lambda n: ask("to+be+read") * 200)
    assert_nobody_is_penalised(gateway)


def test_leavers_in_the_middle_of_a_request(gateway, upstream):
    leave_in_crowds(gateway, lambda n: ask(f"half+{n}")[:n % 50 + 1])
    assert_nobody_is_penalised(gateway)
    assert upstream.requests() == []


def test_leavers_of_one_shared_search(gateway, upstream):
    """While one stays, the search that all share goes on, and costs one call."""
    upstream.control("serper", fixture="ok", delay_ms=1500)
    with Connection(gateway.address) as stays:
        stays.send(ask("shared"))
        leave_in_crowds(gateway, lambda n: ask("shared"))
        assert stays.read().status == 200
    assert len(upstream.requests()) == 1
    assert_nobody_is_penalised(gateway)
