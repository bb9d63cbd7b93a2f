"""A start that the system does not let have what it needs."""
import os
import resource
import socket
import subprocess
import tempfile

from wire import SLUICE, TIMEOUT_S, Connection, Process, Sluice, Upstream, call, until


def test_a_start_without_descriptors_is_an_error_and_not_a_crash():
    with tempfile.TemporaryDirectory() as folder, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        for limit in range(6, 40):
            ended = subprocess.run(["/bin/sh", "-c", 'ulimit -n "$0" && exec "$@"', str(limit), SLUICE,
                                    "serve", "--data-dir", folder,
                                    "--listen", f"127.0.0.1:{taken.getsockname()[1]}"],
                                   capture_output=True, text=True, timeout=TIMEOUT_S)
            assert ended.returncode == 1, (limit, ended.stderr)
            assert "sluice: " in ended.stderr or "error while loading" in ended.stderr


def test_a_flood_leaves_descriptors_for_everything_else():
    """With few descriptors fewer connections are served; those over that are closed, and the admin socket answers."""
    with tempfile.TemporaryDirectory() as folder:
        gateway = Process(["/bin/sh", "-c", 'ulimit -n 256 && exec "$@"', "sh", SLUICE, "serve", "--data-dir", folder,
                           "--listen", "127.0.0.1:0"])
        flood = []
        try:
            gateway.wait_for_line("max_connections_lowered")
            address = ("127.0.0.1", int(gateway.wait_for_line(r"listens on 127\.0\.0\.1:(\d+)")[1]))
            for _ in range(400):
                flood.append(socket.create_connection(address, TIMEOUT_S))
            flood[-1].settimeout(TIMEOUT_S)
            assert flood[-1].recv(1) == b"", "the last one waits without an answer"
            assert call(folder + "/sluice.sock", "GET", "/v1/status").status == 200
        finally:
            for connection in flood:
                connection.close()
            assert gateway.stop() == 0
        assert "accept_failed" not in gateway.output()


class FewDescriptors:
    """While it is entered, a process may open no descriptor more than it has."""

    def __init__(self, pid):
        self.pid = pid
        self.before = resource.prlimit(pid, resource.RLIMIT_NOFILE)

    def __enter__(self):
        taken = {int(name) for name in os.listdir(f"/proc/{self.pid}/fd")}
        first_free = next(number for number in range(len(taken) + 1) if number not in taken)
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (first_free, self.before[1]))

    def __exit__(self, *_):
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, self.before)


def test_a_gateway_without_descriptors_blames_itself_and_recovers():
    """Neither key nor circuit suffers for calls that could not be opened here, and what could not be accepted waits."""
    upstream = Upstream()
    gateway = Sluice(upstream)
    try:
        upstream.control("serper", fixture="ok")
        with Connection(gateway.address) as connected:
            connected.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert connected.read().status == 200
            with FewDescriptors(gateway.process.pid):
                for n in range(12):
                    connected.send(f"GET /v1/search?q=kiln+{n}&trace=true HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                    refused = connected.read()
                    assert refused.status == 503, refused.body
                    attempts = refused.json()["attempts"]
                    assert {attempt["provider"] for attempt in attempts} == {"serper", "tavily"}
                    for attempt in attempts:
                        assert attempt["blame"] == "gateway" and "Too many open files" in attempt["detail"], attempt
                waiting = socket.create_connection(gateway.address, TIMEOUT_S)
                waiting.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                gateway.wait_for_line("accept_failed")
            with waiting:
                waiting.settimeout(TIMEOUT_S)
                assert waiting.recv(12) == b"HTTP/1.1 200"
        after = gateway.search("kiln again", trace=True).json()
        assert [(attempt["provider"], attempt["outcome"]) for attempt in after["attempts"]] == [("serper", "success")]
        until(lambda: gateway.metric("sluice_http_accept_failed_total") > 0)
        assert gateway.output().count("accept_failed") == 1
    finally:
        assert gateway.stop() == 0
        upstream.stop()
