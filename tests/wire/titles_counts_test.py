"""What title search counts on the real binary: many at once, several processes, and processes that die."""
import concurrent.futures
import pathlib
import signal
import threading
import time

import pytest

from title_search import (MOST_A_MINUTE, Client, bucket, budget_file, counts, fill, published, rows,
                          wait_for_room_in_the_minute)
from wire import Sluice, call


@pytest.fixture
def gateway(tmp_path):
    with published(tmp_path) as running:
        yield running


def search_at_once(gateways, count, typed="migration"):
    barrier = threading.Barrier(count)

    def one(i):
        client = Client(gateways[i % len(gateways)])
        barrier.wait()
        return client.search(typed).status
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def test_a_hundred_at_once(gateway):
    wait_for_room_in_the_minute()
    # Scored once before, so that nobody is refused for want of a thread.
    assert Client(gateway, "127.0.0.3").search("migration").status == 200
    statuses = search_at_once([gateway], 100)
    assert statuses.count(200) == MOST_A_MINUTE and statuses.count(429) == 80
    assert counts(gateway) == (MOST_A_MINUTE, MOST_A_MINUTE)


def test_a_hundred_at_two_processes_that_share_the_counts(tmp_path):
    wait_for_room_in_the_minute()
    shared = tmp_path / "counts.db"
    env = {"SLUICE__TITLES__BUDGET_FILE": str(shared)}
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with Sluice(data_dir=tmp_path / "a", env=env) as one, Sluice(data_dir=tmp_path / "b", env=env) as other:
        for gateway in (one, other):
            assert Client(gateway, "127.0.0.3").search("migration").status == 200
        statuses = search_at_once([one, other], 100)
        found = rows(shared)
        passed = statuses.count(200)
        assert statuses.count(429) + passed + statuses.count(503) == 100
        assert passed == MOST_A_MINUTE or statuses.count(503) > 0, statuses
        assert found[bucket("min", "127.0.0.1")] == found[bucket("hour", "127.0.0.1")] == passed


def test_counts_outlive_the_process(tmp_path):
    wait_for_room_in_the_minute()
    for _ in range(2):
        with Sluice(data_dir=tmp_path) as gateway:
            for _ in range(10):
                assert Client(gateway).search("migration").status == 200
    with Sluice(data_dir=tmp_path) as gateway:
        assert Client(gateway).search("migration").status == 429


def test_killed_in_the_midst_of_counting(tmp_path):
    """Whenever the process dies, a search was counted in both windows or in neither."""
    for round_of_kills in range(5):
        with Sluice(data_dir=tmp_path, env={"SEARCH_LIMIT_MINUTE": "100000", "SEARCH_LIMIT_HOUR": "100000"}) as gateway:
            done = threading.Event()

            def flood():
                with Client(gateway).connect() as connection:
                    try:
                        while not done.is_set():
                            connection.send(b"GET /search?q=migration HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 20)
                            for _ in range(20):
                                connection.read()
                    except (OSError, EOFError):
                        pass
            floods = [threading.Thread(target=flood) for _ in range(4)]
            for thread in floods:
                thread.start()
            wanted = counts(gateway)[0] + 50 + round_of_kills
            deadline = time.monotonic() + 20
            while counts(gateway)[0] < wanted and time.monotonic() < deadline:
                pass
            gateway.stop(signal.SIGKILL)
            done.set()
            for thread in floods:
                thread.join()
            assert counts_over_all_windows(gateway, "min") == counts_over_all_windows(gateway, "hour") > 0


def counts_over_all_windows(gateway, window):
    return rows(budget_file(gateway)).get(bucket(window, "127.0.0.1"), 0)


def thread_names(gateway):
    return {task.joinpath("comm").read_text().strip()
            for task in pathlib.Path(f"/proc/{gateway.process.pid}/task").iterdir()}


def test_what_is_switched_off_costs_no_thread_and_no_file(tmp_path):
    (tmp_path / "on").mkdir()
    with Sluice(data_dir=tmp_path / "on") as gateway:
        assert {"scoring-0", "markdown-0", "pages-0"} <= thread_names(gateway), thread_names(gateway)
    with Sluice(data_dir=tmp_path, args=["--set", "titles.enabled=false"]) as gateway:
        assert call(gateway.address, "GET", "/search?q=kubernetes").status == 404
        fill(gateway)
        assert not {name for name in thread_names(gateway)
                    if name.startswith(("scoring", "markdown", "pages-", "db-search_budge"))}
        assert not budget_file(gateway).exists()
        gateway.send_signal(signal.SIGHUP)
        gateway.wait_for_line("config_reloaded")
        assert call(gateway.address, "GET", "/healthz").status == 200
        assert gateway.stop() == 0, gateway.output()
