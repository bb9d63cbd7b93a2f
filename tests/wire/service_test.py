"""What a service manager hears of the real binary over NOTIFY_SOCKET, as systemd would."""
import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pytest

from wire import SLUICE, TIMEOUT_S, Sluice, call, free_port

# Half of it is how often a sign of life comes.
WATCHDOG_US = 400_000


class Manager:
    """The socket of a service manager: every datagram is a message of lines VARIABLE=VALUE."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.settimeout(TIMEOUT_S)

    def next(self):
        return dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines())

    def next_with(self, variable):
        """The next message that has the variable; what comes before must be signs of life."""
        while variable not in (message := self.next()):
            assert message == {"WATCHDOG": "1"}, message
        return message

    def hears_nothing_for(self, seconds):
        """What arrived before is read first."""
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.next()
        self.socket.settimeout(seconds)
        try:
            self.next()
            return False
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(TIMEOUT_S)


@pytest.fixture
def manager():
    with tempfile.TemporaryDirectory() as folder:
        yield Manager(os.path.join(folder, "notify"))


def test_start_reload_and_stop_are_told(manager, upstream):
    gateway = Sluice(upstream, env={"NOTIFY_SOCKET": manager.path})
    ready = manager.next()
    assert ready["READY"] == "1" and f"127.0.0.1:{gateway.port}" in ready["STATUS"]
    for text in (gateway.config.read_text(), "[nonsense]\nx = 1\n"):
        gateway.write_config(text)
        before = time.monotonic_ns() // 1000
        gateway.send_signal(signal.SIGHUP)
        reloading = manager.next()
        assert reloading["RELOADING"] == "1"
        assert before <= int(reloading["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000
        assert manager.next()["READY"] == "1"
    gateway.wait_for_line("config_rejected")
    gateway.send_signal(signal.SIGTERM)
    assert manager.next()["STOPPING"] == "1"
    assert gateway.stop() == 0


def test_ready_means_that_requests_are_answered(manager, upstream):
    """Asked the moment that READY arrives, on an address that was known before."""
    port = free_port()
    starting = Sluice.__new__(Sluice)
    thread = threading.Thread(target=starting.__init__, args=(upstream,), daemon=True,
                              kwargs={"env": {"NOTIFY_SOCKET": manager.path}, "listen": f"127.0.0.1:{port}"})
    thread.start()
    assert manager.next()["READY"] == "1"
    assert call(("127.0.0.1", port), "GET", "/healthz").status == 200
    thread.join(TIMEOUT_S)
    assert starting.stop() == 0


def test_a_start_that_fails_is_never_ready(manager, upstream):
    with tempfile.TemporaryDirectory() as folder:
        taken = socket.create_server(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = subprocess.run([SLUICE, "serve", "--data-dir", folder, "--listen", address], timeout=TIMEOUT_S,
                               env={**os.environ, "NOTIFY_SOCKET": manager.path}, capture_output=True)
    assert ended.returncode != 0
    assert manager.hears_nothing_for(0.05)


def test_signs_of_life_come_as_long_as_there_is_life(manager, upstream):
    gateway = Sluice(upstream, env={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": str(WATCHDOG_US)})
    assert manager.next()["READY"] == "1"
    began = time.monotonic()
    for _ in range(3):
        assert manager.next() == {"WATCHDOG": "1"}
    assert time.monotonic() - began < 3 * WATCHDOG_US / 1e6 + 1, "a busy machine apart, one in each half of the time"
    gateway.send_signal(signal.SIGHUP)
    assert manager.next_with("RELOADING") and manager.next_with("READY")
    gateway.send_signal(signal.SIGTERM)
    assert manager.next_with("STOPPING")
    assert gateway.stop() == 0


PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
WAIT_ALL_THREADS = 0x40000000  # __WALL


@contextlib.contextmanager
def stopped(threads):
    """These threads stand still and others of their process do not, as if they were stuck."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    for thread in threads:
        for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
            assert libc.ptrace(request, thread, None, None) == 0, os.strerror(ctypes.get_errno())
        os.waitpid(thread, WAIT_ALL_THREADS)
    yield
    for thread in threads:
        assert libc.ptrace(PTRACE_DETACH, thread, None, None) == 0, os.strerror(ctypes.get_errno())


def test_a_stuck_control_loop_gives_no_sign_of_life(manager, upstream):
    gateway = Sluice(upstream, env={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": str(WATCHDOG_US)})
    assert manager.next()["READY"] == "1"
    process = gateway.process.pid
    others = [int(thread) for thread in os.listdir(f"/proc/{process}/task") if int(thread) != process]
    with stopped(others):
        assert manager.hears_nothing_for(3 * WATCHDOG_US / 1e6)
    assert manager.next() == {"WATCHDOG": "1"}
    assert gateway.stop() == 0


def test_nobody_is_told_where_nobody_listens(upstream):
    gateway = Sluice(upstream, env={"NOTIFY_SOCKET": "/nonexistent/notify"})
    assert gateway.get("/healthz").status == 200
    assert gateway.stop() == 0
