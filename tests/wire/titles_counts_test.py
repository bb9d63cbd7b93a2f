"""What title search counts on the real binary: many at once, several processes, and processes that die."""
import concurrent.futures
import fcntl
import os
import pathlib
import random
import signal
import struct
import threading
import time

import pytest

from title_search import (MOST_A_MINUTE, Client, bucket, budget_file, counts, fill, published, rows,
                          wait_for_room_in_the_minute)
from wire import Sluice, call, until


@pytest.fixture
def gateway(tmp_path):
    with published(tmp_path) as running:
        yield running


def search_at_once(gateways, count, source="127.0.0.1", typed="migration"):
    barrier = threading.Barrier(count)

    def one(i):
        client = Client(gateways[i % len(gateways)], source)
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
    """Together they never let one more pass. On a busy machine one may wait too long for the other, and then say 503: that
    is told apart from a wrong count by trying again."""
    shared = tmp_path / "counts.db"
    env = {"SLUICE__TITLES__BUDGET_FILE": str(shared)}
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with Sluice(data_dir=tmp_path / "a", env=env) as one, Sluice(data_dir=tmp_path / "b", env=env) as other:
        tries = []
        for number in range(3):
            wait_for_room_in_the_minute()
            # Scored once before, and counted by both, so that nobody is refused for want of a thread or for what was before.
            for gateway in (one, other):
                until(lambda: Client(gateway, f"127.0.1.{number}").search("migration").status == 200)
            source = f"127.0.2.{number}"
            tries.append(search_at_once([one, other], 100, source))
            found, passed = rows(shared), tries[-1].count(200)
            assert passed <= MOST_A_MINUTE, tries
            assert found[bucket("min", source)] == found[bucket("hour", source)] == passed, tries
            assert passed + tries[-1].count(429) + tries[-1].count(503) == 100, tries
            if 503 not in tries[-1]:
                assert passed == MOST_A_MINUTE, tries
                return
        pytest.fail(f"in each of {len(tries)} tries somebody found the file busy: {tries}")


def test_counts_outlive_the_process(tmp_path):
    wait_for_room_in_the_minute()
    for _ in range(2):
        with Sluice(data_dir=tmp_path) as gateway:
            for _ in range(10):
                assert Client(gateway).search("migration").status == 200
    with Sluice(data_dir=tmp_path) as gateway:
        assert Client(gateway).search("migration").status == 429


class Flood:
    """Visitors of one address who search all the time, until the process is gone."""

    def __init__(self, gateway, visitors=4):
        self.gateway = gateway
        self.sent, self.answered = [0] * visitors, [0] * visitors
        self.threads = [threading.Thread(target=self._search, args=(i,)) for i in range(visitors)]
        for thread in self.threads:
            thread.start()

    def _search(self, i):
        with Client(self.gateway).connect() as connection:
            try:
                while True:
                    self.sent[i] += 20
                    connection.send(b"GET /search?q=migration HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 20)
                    for _ in range(20):
                        self.answered[i] += connection.read().status == 200
            except (OSError, EOFError):
                pass

    def go_on(self, answers):
        before = sum(self.answered)
        until(lambda: sum(self.answered) >= before + answers)


def is_being_written(file):
    """Whether somebody is between the begin and the end of a transaction that writes: SQLite keeps that lock at byte 120 of
    the file beside it."""
    layout = "hhlli4x"  # struct flock
    with open(f"{file}-shm", "rb+") as locks:
        asked = struct.pack(layout, fcntl.F_WRLCK, os.SEEK_SET, 120, 1, 0)
        return struct.unpack(layout, fcntl.fcntl(locks, fcntl.F_GETLK, asked))[0] != fcntl.F_UNLCK


def stop_where_it_is(gateway):
    gateway.send_signal(signal.SIGSTOP)
    _, status = os.waitpid(gateway.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), gateway.output()


KILLS, KILLS_AT_LEAST, ENOUGH_S = 60, 20, 60


def test_killed_in_the_midst_of_counting(tmp_path):
    """A search is counted in both windows or in neither, however far the counting was when the process was killed; and what
    was answered is counted."""
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    sent = answered = 0
    deadline = time.monotonic() + ENOUGH_S
    for kill in range(KILLS):
        if kill >= KILLS_AT_LEAST and time.monotonic() > deadline:
            break  # a busy machine
        with Sluice(data_dir=tmp_path, env={"SEARCH_LIMIT_MINUTE": "1000000", "SEARCH_LIMIT_HOUR": "1000000"}) as gateway:
            flood = Flood(gateway)
            try:
                flood.go_on(20)
                stop_where_it_is(gateway)
                while not is_being_written(budget_file(gateway)):
                    gateway.send_signal(signal.SIGCONT)
                    flood.go_on(rng.randrange(1, 20))
                    stop_where_it_is(gateway)
            finally:
                gateway.stop(signal.SIGKILL)
                for thread in flood.threads:
                    thread.join()
            sent, answered = sent + sum(flood.sent), answered + sum(flood.answered)
            minutes, hours = counts(gateway)
            assert minutes == hours, (kill, seed)
            assert answered <= hours <= sent, (kill, seed)


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
