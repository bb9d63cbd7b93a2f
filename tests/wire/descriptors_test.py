"""A start that the system does not let have what it needs."""
import socket
import subprocess
import tempfile

from wire import SLUICE, TIMEOUT_S


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
