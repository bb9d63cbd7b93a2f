"""Title search on the real binary when scoring is busy or broken, and when visitors leave; and what nobody is told."""
import concurrent.futures
import pathlib

import pytest

from title_search import (Client, Held, assert_every_thread_is_free, counts_in_replay, fill, published, scoring, text_of,
                          with_faults)
from wire import Connection, call, until


@pytest.fixture
def gateway(tmp_path):
    with published(tmp_path) as running:
        yield running


def test_no_thread_is_free(tmp_path):
    """Example E: `deployment` while both threads are busy."""
    faults = '[title_faults.held]\nfault = "delay"\ndelay_s = "1h"\nfrom_call = 2\nto_call = 3\n'
    with with_faults(tmp_path, faults) as gateway:
        fill(gateway)
        assert Client(gateway).search("migration").status == 200
        held = [Held(gateway, "checklist"), Held(gateway, "architecture")]
        until(lambda: scoring(gateway) == 2)
        before = counts_in_replay(gateway)
        for method in ("GET", "HEAD"):
            answer = Client(gateway).search("deployment", method=method)
            assert answer.status == 503 and answer.header("Retry-After") == "1"
            assert answer.header("Cache-Control") == "private, no-store"
        assert counts_in_replay(gateway) == (before[0] + 2, before[1] + 2), "what was spent stays spent"
        page = Client(gateway).search("deployment").body.decode()
        assert 'value="deployment"' in page and 'action="/search"' in page and 'href="/"' in page
        assert "Kubernetes" not in page
        program = Client(gateway).get("/v1/pages/search?q=deployment")
        assert program.status == 503 and program.header("Retry-After") == "1" and program.json()["code"] == "overloaded"
        assert scoring(gateway) == 2, "nobody waits, and nobody else began"
        assert Client(gateway).search("migration").status == 200, "what is in the cache needs no thread"
        for one in held:
            one.leave()
        until(lambda: scoring(gateway) == 0)
        assert "Kubernetes deployment checklist" in text_of(Client(gateway).search("deployment"))
        assert gateway.metric("sluice_titles_searches_total", kind="page", outcome="left") == 2


def test_the_scorer_raises(tmp_path):
    """Example F: `architecture`, whose scoring breaks."""
    with with_faults(tmp_path, '[title_faults.broken]\nfault = "fail"\nto_call = 2\n') as gateway:
        fill(gateway)
        answer = Client(gateway).search("architecture")
        assert answer.status == 500 and "Something went wrong" in text_of(answer)
        assert 'value="architecture"' in answer.body.decode()
        assert counts_in_replay(gateway) == (1, 1)
        program = Client(gateway).get("/v1/pages/search?q=architecture")
        assert program.status == 500 and "fault" not in program.body.decode(), "nothing was kept of the first one"
        assert gateway.metric("sluice_injected_faults_total", fault="fail") == 2
        again = Client(gateway).search("architecture")
        assert again.status == 200 and "Service architecture overview" in text_of(again)
        assert '"cache":"miss"' in gateway.output().splitlines()[-1]


FAILURES, HANGUPS = 10_000, 400


def test_thousands_of_failures_and_hangups_leave_every_thread_free(tmp_path):
    faults = (f'[title_faults.a]\nfault = "fail"\nto_call = {FAILURES}\n'
              f'[title_faults.b]\nfault = "delay"\ndelay_s = "1h"\nfrom_call = {FAILURES + 1}\n')
    with with_faults(tmp_path, faults) as gateway:
        fill(gateway)

        def fail(_):
            at_once = 50
            with Connection(gateway.address) as connection:
                for _ in range(FAILURES // 2 // at_once):
                    connection.send(b"GET /search?q=architecture HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * at_once)
                    for _ in range(at_once):
                        assert connection.read().status == 500
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(fail, range(2)))
        assert gateway.metric("sluice_titles_searches_total", kind="page", outcome="failed") == FAILURES
        for _ in range(HANGUPS // 2):
            assert_every_thread_is_free(gateway)
        assert gateway.metric("sluice_titles_searches_total", kind="page", outcome="left") == HANGUPS
        assert gateway.metric("sluice_titles_searches_total", kind="page", outcome="busy") == 0
        assert gateway.stop() == 0, gateway.output()[-2000:]


# ---- nothing is told -----------------------------------------------------------------------------

def test_a_search_leaves_no_trace(gateway):
    marker = "zebrafinchmarker"
    assert Client(gateway).search(marker).status == 200
    assert Client(gateway).get(f"/v1/pages/search?q={marker}").status == 200
    Client(gateway).search(marker + "x" * 60)
    metrics = call(gateway.address, "GET", "/metrics").body.decode()
    gateway.stop()
    assert marker not in gateway.output() and marker not in metrics
    assert "127.0.0.1" not in "".join(line for line in gateway.output().splitlines() if "title_search" in line)
    for file in pathlib.Path(gateway.data_dir).rglob("*"):
        if file.is_file():
            assert marker.encode() not in file.read_bytes(), file
