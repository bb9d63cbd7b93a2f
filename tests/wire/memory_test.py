"""What the release binary costs in memory: idle, and after 200,000 mixed requests."""
import pathlib
import re
import selectors
import socket

from wire import Sluice

REQUESTS = 200_000
BATCH = 40
CONNECTIONS = 16
QUERIES = 200

KINDS = [
    lambda n: b"GET /v1/search?q=memory+%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % (n // len(KINDS) % QUERIES),
    lambda n: post(b'{"query":"memory %d","trace":true}' % (n // len(KINDS) % QUERIES)),
    lambda n: b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n",
    lambda n: b"GET /v1/search?q=memory+%d HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n" % (n // len(KINDS) % QUERIES),
    lambda n: b"GET /nowhere/%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % n,
    lambda n: post(b'{"query":"memory %d","nope":%d}' % (n, n)),
    lambda n: b"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    lambda n: b"GET /v1/search?q=memory+%d&cache=only HTTP/1.1\r\nHost: 127.0.0.1\r\ntraceparent: 00-%032x-%016x-01\r\n\r\n" % (n // len(KINDS) % QUERIES, n + 1, n + 1),
]


def post(body):
    return b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def rss_anon_kib(process):
    text = pathlib.Path(f"/proc/{process.process.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", text).group(1))


def send(gateway, first, count):
    """Sends `count` requests over pipelined connections; returns how many answers had each status."""
    statuses = {}
    selector = selectors.DefaultSelector()
    numbers = iter(range(first, first + count))

    def next_batch(connection, state):
        batch = [KINDS[n % len(KINDS)](n) for _, n in zip(range(BATCH), numbers)]
        state["open"] = len(batch)
        if batch:
            connection.sendall(b"".join(batch))
        return bool(batch)

    for _ in range(CONNECTIONS):
        connection = socket.create_connection(gateway.address)
        connection.settimeout(20)
        state = {"open": 0, "buffer": b""}
        if next_batch(connection, state):
            selector.register(connection, selectors.EVENT_READ, state)
    while selector.get_map():
        for key, _ in selector.select(20):
            connection, state = key.fileobj, key.data
            data = connection.recv(1 << 18)
            assert data, "the gateway closed a connection"
            buffer = state["buffer"] + data
            while True:
                end = buffer.find(b"\r\n\r\n")
                if end < 0:
                    break
                length = int(re.search(rb"\r\n[Cc]ontent-[Ll]ength: (\d+)", buffer[:end])[1])
                if len(buffer) < end + 4 + length:
                    break
                status = int(buffer[9:12])
                statuses[status] = statuses.get(status, 0) + 1
                buffer = buffer[end + 4 + length:]
                state["open"] -= 1
            state["buffer"] = buffer
            if state["open"] == 0 and not next_batch(connection, state):
                selector.unregister(connection)
                connection.close()
    return statuses


def test_idle_memory(sluice):
    assert sluice.search("warm").status == 200
    assert rss_anon_kib(sluice) <= 12 * 1024


def test_mixed_requests_cost_no_memory_and_no_error(sluice):
    first = send(sluice, 0, REQUESTS // 2)
    before = rss_anon_kib(sluice)
    second = send(sluice, REQUESTS // 2, REQUESTS // 2)
    grown = rss_anon_kib(sluice) - before
    for statuses in (first, second):
        assert sum(statuses.values()) == REQUESTS // 2
        assert all(status < 500 or status == 504 for status in statuses), statuses
    assert second.get(504, 0) == 0, "a cached answer was lost"
    assert set(second) == {200, 400, 404}
    assert grown <= 1024, f"the second half grew memory by {grown} KiB"
