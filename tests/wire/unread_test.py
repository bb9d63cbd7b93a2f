"""Clients that ask for large pages and read nothing: what they hold has a bound, and others are served."""
import gzip
import json
import socket
import threading
import time

import pytest

from wire import Connection, Sluice, call, until

BOUND = 16 * 1024 * 1024
PAGES = 24
PAGE_BYTES = 5 * 1024 * 1024  # of HTML: each "&" of a MiB takes five


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with Sluice(data_dir=tmp_path_factory.mktemp("unread"),
                args=["--set", f"server.max_waiting_answer_bytes={BOUND}", "--set", "server.threads=2"]) as running:
        lines = [json.dumps({"title": f"Large {n}", "slug": f"large-{n}", "body": "&" * 1_000_000}) for n in range(PAGES)]
        lines.append(json.dumps({"title": "Small", "slug": "small", "body": "A *small* one."}))
        lines.append(json.dumps({"title": "Usual", "slug": "usual", "body": "Some *words* to read.\n\n" * 400}))
        done = running.command("pages", "import", "-", stdin="\n".join(lines))
        assert done.returncode == 0, done.stderr
        yield running


class Unread:
    def __init__(self, gateway, target, room=4096):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.socket.settimeout(20)
        self.socket.connect(gateway.address)
        self.socket.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())

    def read_to_the_end(self):
        total = 0
        try:
            while data := self.socket.recv(1 << 20):
                total += len(data)
        except ConnectionResetError:
            pass
        return total

    def read_some(self, most):
        try:
            self.socket.recv(most, socket.MSG_DONTWAIT)
        except (BlockingIOError, ConnectionResetError):
            pass

    def close(self):
        self.socket.close()


def waiting(gateway):
    return gateway.metric("sluice_http_waiting_bytes")


def test_many_readers_of_one_page_hold_it_once(gateway):
    assert len(gateway.get("/p/large-0").body) > PAGE_BYTES * 0.9
    readers = [Unread(gateway, "/p/large-0") for _ in range(60)]
    until(lambda: waiting(gateway) > PAGE_BYTES * 0.9)
    until(lambda: gateway.metric("sluice_http_connections") >= 60)
    assert waiting(gateway) < BOUND
    assert gateway.metric("sluice_http_unread_total", outcome="dropped") == 0
    assert len(gateway.get("/p/large-0").body) > PAGE_BYTES * 0.9
    for reader in readers:
        reader.close()
    until(lambda: waiting(gateway) == 0)


def test_who_reads_nothing_makes_room_in_the_end(gateway):
    readers = [Unread(gateway, f"/p/large-{n}") for n in range(PAGES)]
    until(lambda: gateway.metric("sluice_http_unread_total", outcome="dropped") > 0)
    # What a body may come to with its compressed form, for each of the server's threads.
    assert waiting(gateway) <= BOUND + 4 * 2 * PAGE_BYTES
    assert gateway.get("/p/small").status == 200, "small answers are always given"
    until(lambda: gateway.get("/p/large-1").status == 200)
    until(lambda: waiting(gateway) <= BOUND)
    assert min(reader.read_to_the_end() for reader in readers) < PAGE_BYTES * 0.9, "the rest was cut off"
    for reader in readers:
        reader.close()
    until(lambda: waiting(gateway) == 0)


def test_who_reads_all_the_time_but_slowly_makes_room_too(gateway):
    """Nobody is ever silent for a second, and still a large page is given in the end."""
    before = gateway.metric("sluice_http_unread_total", outcome="dropped")
    readers = [Unread(gateway, f"/p/large-{n}", room=1 << 17) for n in range(PAGES)]
    try:
        def dropped():
            for reader in readers:
                reader.read_some(1 << 15)
            return gateway.metric("sluice_http_unread_total", outcome="dropped") > before
        until(dropped)
    finally:
        for reader in readers:
            reader.close()
    until(lambda: waiting(gateway) == 0)


def test_a_large_answer_is_refused_while_there_is_no_room(gateway):
    before = gateway.metric("sluice_http_unread_total", outcome="refused")
    readers = []
    try:
        def refused():
            readers.append(Unread(gateway, f"/p/large-{len(readers) % PAGES}"))
            return gateway.metric("sluice_http_unread_total", outcome="refused") > before
        until(refused)
    finally:
        for reader in readers:
            reader.close()
    until(lambda: waiting(gateway) == 0)
    assert gateway.get("/p/large-2").status == 200


def test_a_page_is_the_same_in_every_coding(gateway):
    plain = gateway.get("/p/usual").body
    assert plain.count(b"<em>words</em>") == 400 and plain.endswith(b"</html>\n")
    packed = call(gateway.address, "GET", "/p/usual", headers={"Accept-Encoding": "gzip"})
    assert packed.header("Content-Encoding") == "gzip" and gzip.decompress(packed.body) == plain
    frames = call(gateway.address, "GET", "/p/usual", headers={"Accept-Encoding": "zstd"})
    assert frames.header("Content-Encoding") == "zstd" and len(frames.body) < len(plain)
    with Connection(gateway.address) as connection:
        connection.send(b"GET /p/usual HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 20)
        assert {connection.read().body for _ in range(20)} == {plain}
        connection.send(b"HEAD /p/usual HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert connection.read(head_only=True).header("Content-Length") == str(len(plain))


def test_a_slow_reader_is_no_client_that_reads_nothing(tmp_path):
    """Steadily, and much slower than what the kernel would take at once."""
    with Sluice(data_dir=tmp_path, args=["--set", "server.write_timeout_s=3"]) as running:
        page = json.dumps({"title": "Large", "slug": "large", "body": "&" * 800_000})
        assert running.command("pages", "import", "-", stdin=page).returncode == 0
        reader = socket.create_connection(running.address, timeout=20)
        reader.sendall(b"GET /p/large HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        begun, total = time.monotonic(), 0
        while data := reader.recv(65536):
            total += len(data)
            while total > (time.monotonic() - begun) * 500_000:
                threading.Event().wait(0.01)
        assert total > 4_000_000 and time.monotonic() - begun > 2 * 3
