"""Money on the real binary: budgets, what a killed process remembers, reports and commands."""
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import tempfile
import threading

import pytest

from wire import SLUICE, TIMEOUT_S, Process, call, until


class Gateway(Process):
    """A gateway on a data directory that outlives it."""

    def __init__(self, data_dir, upstream, *settings):
        base = f"http://127.0.0.1:{upstream.port}"
        chosen = ["routing.fast=serper", f"providers.serper.base_url={base}/serper", *settings]
        super().__init__([SLUICE, "serve", "--data-dir", data_dir, "--listen", "127.0.0.1:0",
                          *(part for setting in chosen for part in ("--set", setting))],
                         {"SERPER_API_KEYS": "serper-test-key-0001,serper-test-key-0002"})
        self.address = ("127.0.0.1", int(self.wait_for_line(r"listens on 127\.0\.0\.1:(\d+)")[1]))

    def search(self, query, token=None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return call(self.address, "POST", "/v1/search", headers, {"query": query, "trace": True})

    def get(self, target, token=None):
        return call(self.address, "GET", target, {"Authorization": f"Bearer {token}"} if token else {})


@contextlib.contextmanager
def gateway(data_dir, upstream, *settings):
    process = Gateway(data_dir, upstream, *settings)
    try:
        yield process
    finally:
        if process.is_running() or not process.told_to_end:
            assert process.stop() == 0, process.output()


def command(data_dir, *args):
    return subprocess.run([SLUICE, *map(str, args), "--data-dir", str(data_dir)], capture_output=True, text=True,
                          timeout=TIMEOUT_S, stdin=subprocess.DEVNULL, env=dict(os.environ), cwd=data_dir)


def usage(data_dir, *args):
    done = command(data_dir, "usage", "--json", *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def data_dir():
    with tempfile.TemporaryDirectory() as folder:
        yield folder


def in_parallel(count, work):
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT_S)


def test_parallel_searches_never_overrun_a_budget(upstream, data_dir):
    statuses = []
    with gateway(data_dir, upstream, "budgets.providers.serper.usd_day=0.01") as sluice:
        in_parallel(40, lambda i: statuses.append(sluice.search(f"parallel {i}").status))
        assert sorted(statuses) == [200] * 10 + [402] * 30
        assert len(upstream.requests()) == 10
        refused = sluice.search("one more")
    problem = refused.json()
    assert refused.status == 402 and problem["code"] == "budget_exhausted" and problem["blame"] == "gateway"
    assert "budgets.providers.serper.usd_day" in problem["detail"] and "T00:00:00Z" in problem["detail"]
    assert 0 < problem["retry_after_ms"] <= 24 * 3600 * 1000
    assert refused.header("Retry-After") is not None
    assert [a["outcome"] for a in problem["attempts"]] == ["skipped_budget"]


@pytest.mark.parametrize("budget", ["budgets.providers.serper.calls_total=1000", "budgets.on_store_loss=refuse"])
def test_a_killed_process_forgets_nothing(upstream, data_dir, budget):
    """kill -9 in the middle of spending: the file says at least what the upstream was asked, with a budget and without."""
    for round_number in range(3):
        process = Gateway(data_dir, upstream, budget)
        spent = threading.Event()

        def spend(i):
            with contextlib.suppress(OSError, EOFError):
                for n in range(50):
                    process.search(f"round {round_number} thread {i} query {n}")
                    if n == 10:
                        spent.set()

        killer = threading.Thread(target=lambda: (spent.wait(TIMEOUT_S), process.send_signal(signal.SIGKILL)))
        killer.start()
        in_parallel(8, spend)
        killer.join(TIMEOUT_S)
        process.stop()
        asked = len(upstream.requests())
        known = usage(data_dir)["sum"]
        assert asked > 0
        assert known["calls"] >= asked, f"the upstream was asked {asked} times, the file knows of {known}"
        assert known["units"] >= asked, f"the upstream charged {asked} units, the file knows of {known}"
    with gateway(data_dir, upstream, budget) as sluice:
        spend_now = sluice.get("/v1/status").json()["providers"]["serper"]["spend"]
        assert spend_now["total"]["calls"] >= len(upstream.requests())


def test_a_restart_gives_no_second_budget(upstream, data_dir):
    for _ in range(3):
        with gateway(data_dir, upstream, "budgets.gateway.calls_day=2") as sluice:
            sluice.search("a")
            sluice.search("b")
            sluice.search("c")
    assert len(upstream.requests()) == 2
    assert usage(data_dir)["sum"] == {"calls": 2, "units": 2, "cost_usd": 0.002}


def test_an_emptied_file_of_spending_is_told(upstream, data_dir):
    with gateway(data_dir, upstream, "budgets.gateway.calls_total=10") as sluice:
        assert sluice.search("a").status == 200
    with gateway(data_dir, upstream) as sluice:
        assert "database_new" not in sluice.output()
    os.truncate(os.path.join(data_dir, "usage.db"), 0)
    with gateway(data_dir, upstream, "budgets.gateway.calls_total=10") as sluice:
        assert "usage.db" in sluice.wait_for_line("database_new").string
    os.remove(os.path.join(data_dir, "keys.db"))
    with gateway(data_dir, upstream) as sluice:
        assert "keys.db" in sluice.wait_for_line("database_new").string


@pytest.mark.parametrize("budget, ready", [("budgets.gateway.calls_total=1000", 503), ("budgets.on_store_loss=refuse", 200)])
def test_readiness_knows_that_nobody_is_paid(upstream, data_dir, budget, ready):
    """While spending can't be written down, a limit of everybody stops every search, and none stops none."""
    with gateway(data_dir, upstream, budget) as sluice:
        assert sluice.get("/readyz").status == 200
        with contextlib.closing(sqlite3.connect(os.path.join(data_dir, "usage.db"))) as other:
            other.execute("BEGIN IMMEDIATE")
            number = iter(range(1_000_000))
            until(lambda: sluice.search(f"query {next(number)}").status and "budget_store_lost" in sluice.output())
            answer = sluice.get("/readyz")
            assert answer.status == ready
            assert ready == 200 or "can't be written down" in answer.json()["detail"]
        until(lambda: sluice.get("/readyz").status == 200)
        assert sluice.search("at last").status == 200


def test_a_token_with_a_budget(upstream, data_dir):
    with gateway(data_dir, upstream) as sluice:
        made = command(data_dir, "tokens", "add", "--budget-calls-day", 1, "--budget-usd-month", 0.5, "--json")
        record = json.loads(made.stdout)
        assert record["budget_calls_day"] == 1 and record["budget_usd_month"] == 0.5
        token = record["token"]
        admin = json.loads(command(data_dir, "tokens", "add", "--scopes", "admin", "--json").stdout)["token"]
        while sluice.get("/v1/keys", admin).status != 200:
            pass  # tokens of another process are noticed within a second
        first = sluice.search("mine", token).json()
        assert first["attempts"][0]["units"] == 1 and first["attempts"][0]["cost_usd"] == 0.001
        second = sluice.search("mine too", token)
        assert second.status == 402 and second.json()["blame"] == "tenant"
        assert "the token's calls_day" in second.json()["detail"]
        assert sluice.search("mine", token).json()["cached"] is True
        own = sluice.get("/v1/usage", token).json()
        assert own["by"] == "day" and own["sum"]["calls"] == 1
        assert sluice.get("/v1/usage?by=provider", token).status == 403
        everything = sluice.get("/v1/usage?by=token", admin).json()
        assert [row["token"] for row in everything["rows"]] == [record["id"]]


def test_a_report_takes_one_request_from_the_callers_window(upstream, data_dir):
    with gateway(data_dir, upstream) as sluice:
        token = json.loads(command(data_dir, "tokens", "add", "--requests-per-minute", 3, "--json").stdout)["token"]
        while sluice.get("/v1/usage", token).status == 401:
            pass  # tokens of another process are noticed within a second
        statuses = [sluice.get("/v1/usage", token).status for _ in range(8)]
        assert 429 in statuses, statuses


def test_a_budget_that_a_reload_raises(upstream, data_dir):
    config = os.path.join(data_dir, "sluice.toml")

    def write(calls):
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"[budgets.gateway]\ncalls_total = {calls}\n[routing]\nfast = [\"serper\"]\n"
                       f"[providers.serper]\nbase_url = \"http://127.0.0.1:{upstream.port}/serper\"\n")

    write(1)
    process = Process([SLUICE, "serve", "--config", config, "--data-dir", data_dir, "--listen", "127.0.0.1:0"],
                      {"SERPER_API_KEYS": "serper-test-key-0001"})
    try:
        address = ("127.0.0.1", int(process.wait_for_line(r"listens on 127\.0\.0\.1:(\d+)")[1]))
        assert call(address, "GET", "/v1/search?q=a").status == 200
        assert call(address, "GET", "/v1/search?q=b").status == 402
        write(2)
        process.send_signal(signal.SIGHUP)
        process.wait_for_line("reloaded")
        assert call(address, "GET", "/v1/search?q=c").status == 200
    finally:
        assert process.stop() == 0, process.output()


def test_the_command_beside_a_gateway_and_without_one(upstream, data_dir):
    empty = command(data_dir, "usage")
    assert empty.returncode == 0 and "nothing was spent" in empty.stdout
    assert not os.path.exists(os.path.join(data_dir, "usage.db"))
    with gateway(data_dir, upstream) as sluice:
        sluice.search("one")
        sluice.search("two")
        beside = usage(data_dir)
        assert beside["rows"] == [{"provider": "serper", "calls": 2, "units": 2, "cost_usd": 0.002}]
    assert usage(data_dir) == beside
    table = command(data_dir, "usage", "--by", "key")
    assert table.returncode == 0
    assert table.stdout.splitlines()[-1].split() == ["sum", "2", "2", "0.002"]
    assert len(usage(data_dir, "--by", "day")["rows"]) == 1
    assert command(data_dir, "usage", "--by", "week").returncode == 2
    assert command(data_dir, "usage", "--since", "yesterday").returncode == 2


def test_failures_cost_nothing(upstream, data_dir):
    upstream.control("serper", fixture="auth")
    with gateway(data_dir, upstream, "budgets.gateway.calls_total=1") as sluice:
        assert sluice.search("refused").status == 503
        upstream.control("serper", fixture="ok")
        assert usage(data_dir)["sum"]["calls"] == 0


def test_a_store_that_is_gone_stops_what_has_a_budget(upstream, data_dir):
    """A file that can't be opened is a clear refusal at the start."""
    os.mkdir(os.path.join(data_dir, "usage.db"))
    done = command(data_dir, "serve", "--listen", "127.0.0.1:0")
    assert done.returncode == 1 and "usage.db" in done.stderr
