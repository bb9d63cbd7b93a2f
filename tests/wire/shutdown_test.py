"""The end of the process: it comes in time, whoever hangs on, and takes nothing from others."""
import json
import os
import signal
import subprocess
import tempfile
import time

import pytest

from wire import SLUICE, TIMEOUT_S, Connection, Process, Sluice, call

STALLED = b"GET /v1/search?q=%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def is_served(path):
    try:
        Connection(path).close()
        return True
    except (FileNotFoundError, ConnectionRefusedError):
        return False


@pytest.fixture
def stalled(upstream):
    for provider in ("serper", "tavily"):
        upstream.control(provider, fault="stall")
    return upstream


def test_clients_that_leave_while_connections_are_made_hold_nothing_up(stalled):
    """A search that is given up in its first moment gives up a connection that is still being made."""
    for _ in range(10):
        gateway = Sluice(stalled, "[server]\ndrain_timeout_s = 1\n")
        for i in range(30):
            with Connection(gateway.address) as connection:
                connection.send(STALLED % (b"leaver+%d" % i))
        assert gateway.get("/healthz").status == 200
        assert gateway.stop() == 0


def test_searches_that_stall_are_cut_at_the_drain_timeout(stalled):
    gateway = Sluice(stalled, "[server]\ndrain_timeout_s = 1\n")
    connections = [Connection(gateway.address) for _ in range(20)]
    for i, connection in enumerate(connections):
        connection.send(STALLED % (b"stalled+%d&lane=deep" % i))
    # The process ends itself, with another code and a line, three seconds after the drain timeout by its own clock.
    assert gateway.stop() == 0
    assert "the shutdown is stuck" not in gateway.output()
    for connection in connections:
        connection.close()


def test_nobody_spends_beside_a_gateway_that_drains(stalled):
    """It writes what it spent when it ends, as figures: what another process spent meanwhile would be forgotten."""
    gateway = Sluice(stalled, "[server]\ndrain_timeout_s = 60\n")
    key = json.loads(gateway.command("keys", "list", "--json").stdout)["keys"][0]["id"]
    waiting = Connection(gateway.address)
    waiting.send(STALLED % b"keeps+the+first+one+busy")
    gateway.send_signal(signal.SIGTERM)
    gateway.wait_for_line("server_draining")
    while is_served(gateway.socket_path):
        assert gateway.is_running()
    serve = [SLUICE, "serve", "--config", gateway.config, "--data-dir", gateway.data_dir, "--listen", "127.0.0.1:0"]
    early = subprocess.run(serve, capture_output=True, text=True, timeout=TIMEOUT_S)
    trial = gateway.command("keys", "test", key)
    in_use = f"in use by process {gateway.process.pid}"
    assert gateway.is_running()
    assert early.returncode == 1 and in_use in early.stderr
    assert trial.returncode == 1 and in_use in trial.stdout + trial.stderr
    waiting.close()  # which ends the drain
    assert gateway.wait() == 0
    successor = Process(serve)
    successor.wait_for_line("listens on")
    assert call(gateway.socket_path, "POST", "/admin/cache/purge", body={}).status == 200
    assert successor.stop() == 0
    gateway.stop()


@pytest.mark.parametrize("full_from", ["start", "later"])
def test_a_pipe_that_nobody_reads_holds_nothing_up(full_from):
    with tempfile.TemporaryDirectory() as folder:
        reading, writing = os.pipe()
        if full_from == "start":
            os.set_blocking(writing, False)
            with pytest.raises(BlockingIOError):
                while True:
                    os.write(writing, b"x" * 4096)
            os.set_blocking(writing, True)
        process = subprocess.Popen([SLUICE, "serve", "--data-dir", folder, "--listen", "127.0.0.1:0",
                                    "--log-level", "debug"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=writing)
        os.close(writing)
        try:
            path = os.path.join(folder, "sluice.sock")
            give_up = time.monotonic() + TIMEOUT_S
            while not os.path.exists(path):
                assert time.monotonic() < give_up
            for _ in range(700):  # each writes a line, and together more than a pipe holds
                assert call(path, "GET", "/healthz").status == 200
            process.send_signal(signal.SIGHUP)
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        finally:
            process.kill()
            process.wait()
            os.close(reading)


def test_closed_standard_descriptors_are_nobody_elses():
    """A log line must never go into a database or a connection that got the number of stderr."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", SLUICE, "serve",
                                    "--data-dir", folder, "--listen", "127.0.0.1:0"])
        try:
            path = os.path.join(folder, "sluice.sock")
            give_up = time.monotonic() + TIMEOUT_S
            while not os.path.exists(path):
                assert time.monotonic() < give_up
            for descriptor in range(3):
                assert os.readlink(f"/proc/{process.pid}/fd/{descriptor}") == "/dev/null"
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        finally:
            process.kill()
            process.wait()
