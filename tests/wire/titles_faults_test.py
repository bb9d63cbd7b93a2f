"""Title search on the real binary when scoring is busy or broken, and when visitors leave; and what nobody is told."""
import collections
import concurrent.futures
import contextlib
import json
import sqlite3

from title_search import (TITLES, Client, Held, assert_every_thread_is_free, counts_in_replay, fill, replay_budget_file,
                          scoring, text_of, told, with_faults)
from wire import Connection, call, until


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
        assert [line["cache"] for line in told(gateway, 3)] == ["miss"] * 3


FAILURES, HANGUPS, HASTY = 10_000, 2_500, 5_000


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
        # Others leave whenever it is: before they are read, before they are counted, while they are scored or refused.
        hasty = collections.deque()
        for _ in range(HASTY):
            hasty.append(Held(gateway, "both+of+them"))
            if len(hasty) > 8:
                hasty.popleft().leave()
        while hasty:
            hasty.popleft().leave()
        assert_every_thread_is_free(gateway)
        assert gateway.stop() == 0, gateway.output()[-2000:]


# ---- nothing is told -----------------------------------------------------------------------------

QUERY, TITLE, VISITORS = "zebrafinchmarker", "Zebra finch marker of okapimarker", "127.0.9."


def test_a_search_leaves_no_trace(tmp_path):
    """Whatever comes of it, and with every line that the gateway can write."""
    faults = ('[title_faults.broken]\nfault = "fail"\nto_call = 2\n'
              '[title_faults.held]\nfault = "delay"\ndelay_s = "1h"\nfrom_call = 3\nto_call = 4\n')
    api = f"/v1/pages/search?q={QUERY}"
    with with_faults(tmp_path, faults, "--log-level", "debug", limit=10) as gateway:
        fill(gateway, [*TITLES, {"id": 1000, "title": TITLE, "version": 1}])
        visitors = [Client(gateway, f"{VISITORS}{i}") for i in range(1, 6)]
        for target in (f"/search?q={QUERY}", api):
            assert visitors[0].get(target).status == 500
        held = [Held(gateway, f"{QUERY}+a"), Held(gateway, f"{QUERY}+b")]
        until(lambda: scoring(gateway) == 2)
        for target in (f"/search?q={QUERY}", api):
            assert visitors[0].get(target).status == 503
        for one in held:
            one.leave()
        until(lambda: scoring(gateway) == 0)
        for typed in (QUERY, QUERY, QUERY.title()):
            found = visitors[0].search(typed, headers=[f"Referer: http://127.0.0.1/search?q={QUERY}"])
            assert found.status == 200 and TITLE in text_of(found)
        assert TITLE in visitors[0].get(api).body.decode()
        for target, status in ((f"/search?q={QUERY}" + "x" * 60, 400), (f"/search?q={QUERY}%ff", 400), (api + "%ff", 400),
                               (f"/search?q={QUERY}&format=json", 404), (f"/search/?q={QUERY}", 308),
                               (f"/theme/dark?back=/search?q={QUERY}", 303), (f"/p/none?q={QUERY}", 404)):
            assert visitors[1].get(target).status == status, target
        assert visitors[1].get(f"/search?q={QUERY}", "POST").status == 405
        until(lambda: visitors[3].search(QUERY).status == 429)
        # The last one: nobody is counted for a while after it.
        with contextlib.closing(sqlite3.connect(replay_budget_file(gateway), isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            for target in (f"/search?q={QUERY}", api):
                assert visitors[2].get(target).status == 503
            holder.execute("ROLLBACK")
        metrics = call(gateway.address, "GET", "/metrics").body.decode()
        assert gateway.stop() == 0
        output = gateway.output()
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert {line["outcome"] for line in lines if line["event"] == "title_search"} == {
        "failed", "busy", "left", "found", "unavailable", "limited"}
    assert any(line["event"] == "request_served" for line in lines), "the level is what it should be"
    files = {str(file): file.read_bytes().decode("latin-1") for file in tmp_path.rglob("*") if file.is_file()}
    assert files[str(tmp_path / "pages.db")].count(TITLE) > 0, "what is in a file is found there"
    for place, text in {"log": output, "metrics": metrics, **files}.items():
        assert QUERY not in text.lower(), place
        assert VISITORS not in text, place
        assert "okapimarker" not in text or place.startswith(str(tmp_path / "pages.db")), place
