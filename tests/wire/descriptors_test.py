"""A start that the system does not let have what it needs."""
import socket
import subprocess
import tempfile

from wire import SLUICE, TIMEOUT_S, Process, call


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
