"""HTTP/1.1 on the real binary: every bound, every malformed head, slow, early-leaving and odd clients."""
import gzip
import socket
import ssl
import subprocess
import zlib

import pytest

from wire import Connection, Sluice, Upstream, call

HOST = b"Host: 127.0.0.1\r\n"
SETTINGS = """
[server]
header_timeout_s = "400ms"
body_timeout_s = "400ms"
idle_timeout_s = "600ms"
max_header_bytes = "4KiB"
max_target_bytes = "1KiB"
max_body_bytes = "4KiB"
"""


@pytest.fixture(scope="module")
def small(upstream):
    """A gateway with small bounds and short timeouts."""
    process = Sluice(upstream, SETTINGS)
    yield process
    assert process.stop() == 0, process.output()


def exchange(gateway, data, head_only=False):
    with Connection(gateway.address) as connection:
        connection.send(data)
        answer = connection.read(head_only=head_only)
        return answer, connection.at_end()


MALFORMED = [
    (b"GET\r\n\r\n", 400), (b"GET /healthz\r\n\r\n", 400), (b"GET  /healthz HTTP/1.1\r\n" + HOST + b"\r\n", 400), (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
    (b"GET /healthz HTTP/1.1\r\n\r\n", 400), (b"GET /healthz HTTP/1.1\r\n" + HOST + HOST + b"\r\n", 400), (b"GET /healthz HTTP/2.0\r\n" + HOST + b"\r\n", 505),
    (b"GET /healthz HTTP/9.9\r\n" + HOST + b"\r\n", 505), (b"GET /healthz HTTQ/1.1\r\n" + HOST + b"\r\n", 400), (b"GET /healthz HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n", 400),
    (b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: a\r\n b\r\n\r\n", 400), (b"GET /healthz HTTP/1.1\r\n" + HOST + b"No colon\r\n\r\n", 400),
    (b"GET /healthz HTTP/1.1\r\n" + HOST + b": empty\r\n\r\n", 400), (b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: a\x00b\r\n\r\n", 400),
    (b"GET /heal\x01thz HTTP/1.1\r\n" + HOST + b"\r\n", 400), (b"GET /healthz HTTP/1.1\n" + b"Host: a\n\n", 400), (b"G@T /healthz HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Content-Length: x\r\n\r\n", 400), (b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n", 400),
    (b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\na", 400),
    (b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip\r\n\r\n", 400), (b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked, gzip\r\n\r\n", 400),
    (b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Content-Length: 18446744073709551616\r\n\r\n", 400),
    (b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400), (b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400),
    (b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 400),
    (b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Content-Length: 5000\r\n\r\n", 413), (b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1389\r\n" + b"a" * 5001 + b"\r\n0\r\n\r\n", 413),
    (b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Expect: 200-maybe\r\nContent-Length: 1\r\n\r\na", 417),
    (b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\nContent-Length: 5000\r\n\r\n", 413),
    (b"GET /" + b"a" * 1500 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414), (b"GET /" + b"a" * 5000, 414),
    (b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 5000 + b"\r\n\r\n", 431), (b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: y\r\n" * 1200, 431),
]


@pytest.mark.parametrize("data, status", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_or_too_large(small, data, status):
    answer, closed = exchange(small, data)
    assert answer.status == status, answer.body
    assert answer.header("Content-Type") == "application/problem+json"
    assert answer.json()["request_id"] and answer.header("Connection") == "close"
    assert closed, "the connection stays open after a request that could not be read"


@pytest.mark.parametrize("data", [
    b"GET /healthz HTTP/1.1\r\n", b"GET /heal", b"G", b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Content-Length: 10\r\n\r\n{",
    b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
])
def test_a_slow_request_is_408(small, data):
    answer, closed = exchange(small, data)
    assert answer.status == 408 and closed


def test_slowloris_byte_by_byte(small):
    """A head that trickles in, each byte in time, still ends at the head's own limit."""
    with Connection(small.address) as connection:
        connection.socket.settimeout(0.05)
        head = b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 3000
        for i in range(len(head)):
            try:
                connection.send(head[i:i + 1])
                if connection._more():
                    break
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                break
        else:
            pytest.fail("the gateway waits for ever")
        connection.socket.settimeout(5)
        assert connection.read().status == 408


def test_an_idle_connection_just_closes(small):
    with Connection(small.address) as connection:
        assert connection.at_end()
    with Connection(small.address) as connection:
        connection.send(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        assert connection.read().status == 200
        assert connection.at_end()


def test_many_slow_clients_do_not_keep_others_out(small):
    slow = [Connection(small.address) for _ in range(200)]
    for connection in slow:
        connection.send(b"GET /healthz HTTP/1.1\r\nX: ")
    assert small.get("/healthz").status == 200
    for connection in slow:
        connection.close()


def test_pipelining_keeps_the_order(sluice, upstream):
    """Slow, fast, unknown and malformed requests in one go: answers come in the order of requests."""
    upstream.control("serper", fixture="ok", delay_ms=150)
    targets = ["/v1/search?q=pipelined+slow", "/healthz", "/nowhere", "/v1/search?q=", "/v1/search?q=pipelined+slow", "/openapi.json"]
    with Connection(sluice.address) as connection:
        connection.send(b"".join(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode() for target in targets))
        answers = [connection.read() for _ in targets]
    assert [a.status for a in answers] == [200, 200, 404, 400, 200, 200]
    assert answers[0].json()["cached"] is False and answers[4].json()["cached"] is True
    assert answers[5].json()["openapi"]


def test_a_thousand_pipelined_requests(sluice):
    sluice.search("warm")
    with Connection(sluice.address) as connection:
        connection.send(b"GET /v1/search?q=warm HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 1000)
        assert all(connection.read().json()["cached"] for _ in range(1000))


def test_pipelined_bodies(sluice):
    body = b'{"query":"warm"}'
    plain = b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    chunked = b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n5\r\n" + body[:5] + b"\r\nb;x=y\r\n" + body[5:] + b"\r\n0\r\nTrailer: x\r\n\r\n"
    for data in (plain * 3 + chunked * 3, chunked + plain):
        for size in (1, 7, len(data)):
            with Connection(sluice.address) as connection:
                for i in range(0, len(data), size):
                    connection.send(data[i:i + size])
                for _ in range(data.count(b"POST")):
                    assert connection.read().status == 200


def test_half_close_still_gets_its_answer(sluice, upstream):
    upstream.control("serper", fixture="ok", delay_ms=150)
    with Connection(sluice.address) as connection:
        connection.send(b"GET /v1/search?q=half+close HTTP/1.1\r\n" + HOST + b"\r\n")
        connection.socket.shutdown(socket.SHUT_WR)
        assert connection.read().status == 200
        assert connection.at_end()


def test_half_close_still_gets_all_its_answers(sluice, upstream):
    upstream.control("serper", fixture="ok", delay_ms=100)
    requests = [b"GET /v1/search?q=half+close+%d HTTP/1.1\r\n" % i + HOST + b"\r\n" for i in range(5)]
    unfinished = b"GET /healthz HTTP/1.1\r\n"
    for behind in (b"", unfinished):
        with Connection(sluice.address) as connection:
            connection.send(b"".join(requests) + behind)
            connection.socket.shutdown(socket.SHUT_WR)
            answers = [connection.read() for _ in requests]
            assert [answer.json()["query"] for answer in answers] == [f"half close {i}" for i in range(5)]
            assert connection.at_end()
        assert [answer.header("Connection") == "close" for answer in answers] == [False] * 4 + [not behind]


def test_abrupt_close_ends_the_work(upstream):
    sluice = Sluice(upstream, env={"SLUICE__CACHE__MAX_UNATTENDED": "0"})
    upstream.control("serper", fault="stall")
    before = sluice.metric("sluice_upstream_transfers")
    for i in range(20):
        connection = Connection(sluice.address)
        connection.send(b"GET /v1/search?q=abrupt+%d HTTP/1.1\r\n" % i + HOST + b"\r\n")
        while len(upstream.requests()) < i + 1:
            pass
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        connection.close()
    for _ in range(2000):
        if sluice.get("/v1/status").json()["scheduler"]["flights"] == 0:
            break
    status = sluice.get("/v1/status").json()
    assert status["scheduler"]["flights"] == 0 and status["keys"]["serper"]["in_flight"] == 0
    assert status["keys"]["serper"]["available"] == 2
    assert sluice.metric("sluice_upstream_transfers") == before
    assert sluice.stop() == 0


def test_expect_continue(sluice):
    with Connection(sluice.address) as connection:
        connection.send(b"POST /v1/search HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\nContent-Length: 16\r\n\r\n")
        assert connection.read(interim=True).status == 100
        connection.send(b'{"query":"warm"}')
        assert connection.read().status == 200


@pytest.mark.parametrize("head, stays_open", [
    (b"HTTP/1.1\r\n" + HOST, True), (b"HTTP/1.1\r\n" + HOST + b"Connection: close\r\n", False), (b"HTTP/1.0\r\n", False),
    (b"HTTP/1.0\r\nConnection: keep-alive\r\n", True), (b"HTTP/1.1\r\n" + HOST + b"Connection: Close, x\r\n", False),
])
def test_keep_alive(sluice, head, stays_open):
    with Connection(sluice.address) as connection:
        connection.send(b"GET /healthz " + head + b"\r\n")
        answer = connection.read()
        assert answer.status == 200
        if stays_open:
            connection.send(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
            assert connection.read().status == 200
        else:
            assert connection.at_end()


def test_absolute_form_and_empty_lines(sluice):
    with Connection(sluice.address) as connection:
        connection.send(b"GET http://127.0.0.1/healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        assert connection.read().status == 200


@pytest.mark.parametrize("accept, coding", [("gzip", "gzip"), ("gzip, zstd;q=0", "gzip"), ("identity", None), ("gzip;q=0", None),
                                            ("", None), ("br", None), ("*", "any"), ("gzip;q=0.5, zstd", "zstd"), ("x-gzip", "any")])
def test_content_coding(sluice, accept, coding):
    plain = sluice.get("/v1/search?q=coding")
    coded = sluice.get("/v1/search?q=coding", {"Accept-Encoding": accept})
    found = coded.header("Content-Encoding")
    if coding == "any":
        assert coded.status == 200
    else:
        assert found == coding
    if found == "gzip":
        inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
        text = inflater.decompress(coded.body) + inflater.flush()
        assert inflater.eof and not inflater.unused_data, "more than one gzip member"
        assert text.endswith(plain.body[plain.body.index(b'"object"'):])
        assert gzip.decompress(coded.body) == text
    assert any("Accept-Encoding" in value for value in coded.headers_of("Vary"))


def test_max_connections(upstream):
    gateway = Sluice(upstream, "[server]\nmax_connections = 5\n")
    try:
        held = []
        for _ in range(5):
            connection = Connection(gateway.address)
            connection.send(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
            assert connection.read().status == 200
            held.append(connection)
        with Connection(gateway.address) as sixth:
            assert sixth.at_end(), "a connection beyond the bound was kept"
        held.pop().close()
        for _ in range(1000):
            try:
                assert gateway.get("/healthz").status == 200
                break
            except (EOFError, ConnectionResetError):
                continue
        else:
            pytest.fail("a place that became free is not given out")
        for connection in held:
            connection.close()
    finally:
        assert gateway.stop() == 0


def test_tls(upstream, tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
                    "-out", certificate, "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
                   check=True, capture_output=True)
    gateway = Sluice(upstream, f'[server]\ntls_certificate_file = "{certificate}"\ntls_key_file = "{key}"\n')
    try:
        context = ssl.create_default_context(cafile=certificate)
        connection = Connection(gateway.address)
        connection.socket = context.wrap_socket(connection.socket, server_hostname="127.0.0.1")
        connection.send(b"GET /v1/search?q=over+tls HTTP/1.1\r\n" + HOST + b"\r\n" + b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        assert connection.read().status == 200 and connection.read().status == 200
        connection.close()
        with Connection(gateway.address) as plain:
            plain.send(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
            with pytest.raises((EOFError, ConnectionResetError, IndexError, ValueError)):
                assert plain.read().status != 200
                raise EOFError
    finally:
        assert gateway.stop() == 0
