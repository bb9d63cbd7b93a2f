"""Three replicas that share a Redis are restarted one after another under load: no request fails.

The load goes through a balancer of the test. It does what balancers do and no more: it asks /readyz, keeps connections
alive, and goes elsewhere when a connection is refused, since nothing was sent then. Once a request is sent nothing is tried
again: whatever then goes wrong is a failed request."""
import itertools
import json
import signal
import threading
import time

import pytest

from wire import SLUICE, TIMEOUT_S, Connection, Process, Redis, Sluice, call, free_port, until

WORKERS = 6
# Longer than anything here takes: the second signal ends it as soon as the balancer has seen the first.
DELAY = "[server]\nshutdown_delay_s = 60\n"


class Backend:
    def __init__(self, upstream, redis):
        self.port = free_port()
        self.address = ("127.0.0.1", self.port)
        self.env = {"GATEWAY_REDIS_URL": redis.url}
        self.first = Sluice(upstream, DELAY, env=self.env, listen=f"127.0.0.1:{self.port}")
        self.process = self.first
        self.is_ready = False
        self.idle = []  # connections, which the last one to use goes to first
        self.under_way = 0
        self.served = 0

    def start_again(self):
        self.process = Process([SLUICE, "serve", "--config", self.first.config, "--data-dir", self.first.data_dir,
                                "--listen", f"127.0.0.1:{self.port}"], self.env)
        self.process.wait_for_line("listens on")

    def stop(self):
        self.process.stop(signal.SIGKILL)
        self.first.stop(signal.SIGKILL)


class Balancer:
    def __init__(self, backends):
        self.backends, self.turns, self.lock = backends, itertools.count(), threading.Lock()
        self.numbers, self.failures, self.ended = itertools.count(), [], threading.Event()
        self.threads = [threading.Thread(target=self._watch)] + [threading.Thread(target=self._work) for _ in range(WORKERS)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.ended.set()
        for thread in self.threads:
            thread.join(TIMEOUT_S)

    def _watch(self):
        while not self.ended.wait(0.02):
            for backend in self.backends:
                try:
                    ready = call(backend.address, "GET", "/readyz").status == 200
                except (OSError, EOFError):
                    ready = False
                with self.lock:
                    backend.is_ready = ready
                    unused = [] if ready else backend.idle[:]
                    if not ready:
                        backend.idle.clear()
                for connection in unused:
                    connection.close()

    def _take(self):
        """A backend whose turn it is, and a connection to it; nothing when none is ready."""
        with self.lock:
            ready = [backend for backend in self.backends if backend.is_ready]
            if not ready:
                return None, None
            backend = ready[next(self.turns) % len(ready)]
            backend.under_way += 1
            kept = backend.idle.pop() if backend.idle else None
        if kept:
            return backend, kept
        try:
            return backend, Connection(backend.address)
        except ConnectionRefusedError:
            with self.lock:
                backend.under_way -= 1
                backend.is_ready = False
            return None, None

    def _give_back(self, backend, connection, answer):
        says_close = answer is None or (answer.header("Connection") or "").lower() == "close"
        with self.lock:
            backend.under_way -= 1
            backend.served += answer is not None
            keep = not says_close and backend.is_ready
            if keep:
                backend.idle.append(connection)
        if not keep:
            connection.close()

    def _work(self):
        while not self.ended.is_set():
            backend, connection = self._take()
            if not connection:
                continue
            body = json.dumps({"query": f"rolling {next(self.numbers) // 2}"}).encode()
            answer = None
            try:
                connection.send(b"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                                b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                answer = connection.read()
                if answer.status != 200:
                    self.failures.append((backend.port, answer.status, answer.body))
            except (OSError, EOFError) as error:
                self.failures.append((backend.port, repr(error)))
            self._give_back(backend, connection, answer)

    def is_rid_of(self, backend):
        with self.lock:
            return not backend.is_ready and backend.under_way == 0


@pytest.fixture
def redis():
    server = Redis()
    yield server
    server.stop()


def test_replicas_are_restarted_one_after_another_under_load_and_no_request_fails(upstream, redis):
    upstream.control("serper", fixture="ok", delay_ms=50)
    backends = [Backend(upstream, redis) for _ in range(3)]
    balancer = Balancer(backends)
    balancer.start()
    try:
        until(lambda: all(backend.served >= 20 for backend in backends))
        for backend in backends:
            backend.process.send_signal(signal.SIGTERM)
            backend.process.wait_for_line("server_draining")
            until(lambda: balancer.is_rid_of(backend))
            assert backend.process.is_running(), "it serves on until balancers have seen that it leaves"
            assert call(backend.address, "GET", "/healthz").header("Connection") == "close"
            assert Process.stop(backend.process) == 0  # its folder stays
            backend.start_again()
            served_before = backend.served
            until(lambda: backend.served >= served_before + 20)
        assert balancer.failures == []
        other = [line for backend in backends for line in backend.first.output().splitlines() if '"level":"error"' in line]
        assert other == []
    finally:
        balancer.stop()
        for backend in backends:
            backend.stop()
    assert balancer.failures == []


def test_a_replica_that_leaves_serves_on_for_the_delay_and_closes_what_it_answers(upstream):
    gateway = Sluice(upstream, "[server]\nshutdown_delay_s = 1.5\n")
    kept = Connection(gateway.address)
    ask = b"GET /v1/search?q=before+and+after HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    kept.send(ask)
    assert kept.read().header("Connection") != "close"
    begin = time.monotonic()
    gateway.send_signal(signal.SIGTERM)
    until(lambda: call(gateway.address, "GET", "/readyz").status == 503)
    kept.send(ask)
    answer = kept.read()
    assert answer.status == 200 and answer.header("Connection") == "close" and kept.at_end()
    assert gateway.search("a new connection").status == 200
    assert gateway.wait() == 0
    assert time.monotonic() - begin >= 1.5
    gateway.stop()


def test_a_reload_changes_the_delay_and_does_not_end_it(upstream):
    gateway = Sluice(upstream)
    gateway.write_config(gateway.config.read_text() + DELAY)
    gateway.send_signal(signal.SIGHUP)
    gateway.wait_for_line("config_reloaded")
    gateway.send_signal(signal.SIGTERM)
    until(lambda: call(gateway.address, "GET", "/readyz").status == 503)
    gateway.send_signal(signal.SIGHUP)
    assert call(gateway.address, "GET", "/healthz").status == 200
    gateway.send_signal(signal.SIGINT)
    assert gateway.wait() == 0
    gateway.stop()
