"""What the release binary costs in memory: idle, after 200,000 mixed requests, and with clients that want too much."""
import contextlib
import http.server
import json
import pathlib
import re
import selectors
import socket
import threading
import time

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


@contextlib.contextmanager
def exa_with_long_pages():
    """A stand-in for Exa whose every answer has about a megabyte of text; gives its port."""
    pages = [{"url": f"https://page{i}.example/", "title": "t", "id": "x", "text": f"word {i} " * 2500} for i in range(50)]
    answer = json.dumps({"results": pages}).encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def most_memory(process, seconds):
    """The most that the process held within that time, in KiB."""
    end = time.monotonic() + seconds
    most = 0
    while time.monotonic() < end:
        most = max(most, rss_anon_kib(process))
        time.sleep(0.05)
    return most


def test_answers_that_nobody_reads_are_not_unpacked():
    """Clients ask for a large answer thirty times each and read none."""
    with exa_with_long_pages() as port:
        gateway = Sluice(settings=f"[providers.exa]\nbase_url = \"http://127.0.0.1:{port}\"\n",
                         env={"EXA_API_KEYS": "exa-test-key-0001"}, args=["--set", "routing.fast=exa"])
        target = "/v1/search?q=long&max_results=50&content=true"
        answer = gateway.get(target)
        assert answer.status == 200 and len(answer.body) > 900_000
        assert len(gateway.get(target).body) > 900_000
        before = rss_anon_kib(gateway)
        clients = []
        for _ in range(16):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(gateway.address)
            client.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode() * 30)
            clients.append(client)
        grown = most_memory(gateway, 2) - before
        for client in clients:
            client.close()
        assert gateway.get("/healthz").status == 200
        assert gateway.stop() == 0
        assert grown <= 16 * 1024, f"{len(clients)} clients cost {grown} KiB"
