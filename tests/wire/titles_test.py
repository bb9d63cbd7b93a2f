"""Title search on the real binary: every row of its contract, what it costs whom, and what it survives."""
import concurrent.futures
import hashlib
import html
import json
import pathlib
import re
import signal
import socket
import sqlite3
import struct
import threading
import time
import urllib.parse

import pytest

from wire import ROOT, Connection, Sluice, call, until

CASES = ROOT / "tests" / "cases" / "titles"
TITLES = json.loads((CASES / "titles.json").read_text())
EXPECTED = json.loads((CASES / "expected.json").read_text())["cases"]
MOST_A_MINUTE, MOST_AN_HOUR = 20, 200


def fill(gateway, titles=TITLES):
    lines = [json.dumps({"id": page["id"], "title": page["title"], "current_version": page["version"]})
             for page in titles]
    done = gateway.command("pages", "import", "-", stdin="\n".join(lines))
    assert done.returncode == 0, done.stderr


@pytest.fixture
def gateway(tmp_path):
    with Sluice(data_dir=tmp_path) as running:
        fill(running)
        yield running


class Client:
    """Somebody at an address of his own."""

    def __init__(self, gateway, source="127.0.0.1"):
        self.gateway, self.source = gateway, source

    def get(self, target, method="GET", headers=()):
        with Connection(self.gateway.address) if self.source is None else self._connect() as connection:
            head = [f"{method} {target} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers]
            connection.send("\r\n".join(head).encode("utf-8", "surrogateescape") + b"\r\n\r\n")
            return connection.read(head_only=method == "HEAD")

    def _connect(self):
        connection = Connection.__new__(Connection)
        connection.socket = socket.create_connection(self.gateway.address, 20, (self.source, 0))
        connection.buffer = b""
        return connection

    def search(self, typed, **more):
        return self.get("/search?q=" + urllib.parse.quote_plus(typed), **more)


def budget_file(gateway):
    return pathlib.Path(gateway.data_dir) / "search-budget.db"


def rows(file):
    """What is counted: {bucket: count}."""
    if not file.exists():
        return {}
    with sqlite3.connect(file, timeout=20) as db:
        return {bucket: count for bucket, count in
                db.execute("SELECT bucket, sum(count) FROM search_window GROUP BY bucket")}


def bucket(window, client):
    return hashlib.sha256(f"search-ip-{window}:{client}".encode()).hexdigest()


def counts(gateway, client="127.0.0.1"):
    found = rows(budget_file(gateway))
    return found.get(bucket("min", client), 0), found.get(bucket("hour", client), 0)


def wait_for_room_in_the_minute():
    """A test that fills a window must not run over its end."""
    left = 60 - time.time() % 60
    if left < 20:
        time.sleep(left)


def text_of(answer):
    return html.unescape(re.sub(r"<[^>]+>", "", answer.body.decode()))


# ---- what is no search costs nothing ---------------------------------------------------------------

@pytest.mark.parametrize("target, status", [
    ("/search", 303),
    ("/search?q=", 303),
    ("/search?q=+++", 303),
    ("/search?q=" + "%20" * 70, 303),
    ("/search?q=%C2%AD%E2%80%8D", 303),           # soft hyphen and joiner: nothing is left
    ("/search?other=kubernetes", 303),
    ("/search?q=&q=kubernetes", 303),             # the first one counts
    ("/search?q=k", 200),
    ("/search?q=%20k%20", 200),
    ("/search?q=%F0%9F%99%82", 200),              # one code point
    ("/search?q=" + "a" * 65, 400),
    ("/search?q=" + "%EF%B7%BA" * 4, 400),        # 4 typed, 72 to be matched
    ("/search?q=ab%00cd", 400),
    ("/search?q=%FF%FE", 400),
    ("/search?q=%ED%A0%80ab", 400),               # half of a surrogate pair
    ("/search?q=ab&format=json", 404),
    ("/search?q=kubernetes&format=", 404),
])
def test_what_is_no_search_is_free(gateway, target, status):
    for method in ("GET", "HEAD"):
        answer = Client(gateway).get(target, method)
        assert answer.status == status, answer.body
        if status == 303:
            assert answer.header("Location") == "/"
    assert rows(budget_file(gateway)) == {}


def test_other_methods_are_refused_for_free(gateway):
    answer = call(gateway.address, "POST", "/search?q=kubernetes", body=b"q=kubernetes",
                  headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status == 405
    assert {"GET", "HEAD"} <= set(re.split(r",\s*", answer.header("Allow")))
    assert rows(budget_file(gateway)) == {}


def test_nothing_else_takes_part(gateway):
    for target in ("/?q=kubernetes", "/?q=kubernetes&page=2", "/theme/dark?q=kubernetes", "/p/none?q=kubernetes",
                   "/healthz?q=kubernetes", "/v1/pages/search?q=kubernetes"):
        Client(gateway).get(target)
    assert counts(gateway) == (0, 0)


@pytest.mark.parametrize("typed", ["ab", "a" * 64, "日本語", "ＡＢ", "İstanbul", "עברית", "🙂🙂", "e\u0301e\u0301"])
def test_what_is_a_search_is_counted(gateway, typed):
    assert Client(gateway).search(typed).status == 200
    assert counts(gateway) == (1, 1)


# ---- who asks ----------------------------------------------------------------------------------

WALK = [
    ("127.0.0.9", ["198.51.100.1"], "127.0.0.9"),
    ("127.0.0.1", [], "127.0.0.1"),
    ("127.0.0.1", ["198.51.100.1"], "198.51.100.1"),
    ("127.0.0.1", ["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
    ("127.0.0.1", ["198.51.100.1, 10.0.0.2"], "198.51.100.1"),
    ("127.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
    ("127.0.0.1", ["198.51.100.1, junk, 10.0.0.2"], "10.0.0.2"),
    ("127.0.0.1", ["junk"], "127.0.0.1"),
    ("127.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
    ("127.0.0.1", ["::ffff:198.51.100.1"], "198.51.100.1"),
    ("127.0.0.1", ["[2001:db8:1:2:3::9]:443"], "2001:db8:1:2::/64"),
    ("127.0.0.1", ["2001:db8:1:2:ffff::1"], "2001:db8:1:2::/64"),
    ("127.0.0.1", ["198.51.100.01"], "127.0.0.1"),
    ("127.0.0.1", ["6.6.6.6", "198.51.100.1"], "198.51.100.1"),
    ("127.0.0.1", ["198.51.100.1, , 10.0.0.2"], "10.0.0.2"),
    ("127.0.0.1", [", ".join(["198.51.100.1"] + ["10.0.0.2"] * 31)], "198.51.100.1"),
    ("127.0.0.1", [", ".join(["198.51.100.1"] + ["10.0.0.2"] * 32)], "10.0.0.2"),
]


def test_the_client_behind_proxies(tmp_path):
    with Sluice(data_dir=tmp_path, env={"TRUSTED_PROXY_CIDRS": "127.0.0.1/32,10.0.0.0/8,fd00::/8",
                               "SEARCH_LIMIT_MINUTE": "1000", "SEARCH_LIMIT_HOUR": "1000"}) as gateway:
        seen = {}
        for peer, forwarded, client in WALK:
            answer = Client(gateway, peer).search("kubernetes", headers=[f"X-Forwarded-For: {line}" for line in forwarded])
            assert answer.status == 200
            seen[client] = seen.get(client, 0) + 1
            for window in ("min", "hour"):
                assert rows(budget_file(gateway)).get(bucket(window, client)) == seen[client], (peer, forwarded)


def test_a_bad_network_stops_the_start(tmp_path):
    with pytest.raises(AssertionError, match=r"(?s)trusted_proxy_cidrs.*junk"):
        Sluice(data_dir=tmp_path, env={"TRUSTED_PROXY_CIDRS": "10.0.0.0/8,junk"})


# ---- the outcomes ------------------------------------------------------------------------------

def test_found_and_found_again(gateway):
    first = Client(gateway).search("kubrenetes")
    assert first.status == 200 and "Kubernetes deployment checklist" in text_of(first)
    for name, value in (("Cache-Control", "private, no-store"), ("Referrer-Policy", "no-referrer"),
                        ("X-Robots-Tag", "noindex")):
        assert first.header(name) == value
    assert "script-src 'self'" in first.header("Content-Security-Policy")
    again = Client(gateway).search("kubrenetes")
    assert again.status == 200 and again.body == first.body
    assert counts(gateway) == (2, 2)
    lines = [json.loads(line) for line in gateway.output().splitlines() if '"title_search"' in line]
    assert [line["cache"] for line in lines] == ["miss", "hit"]


def test_nothing_matches(gateway):
    answer = Client(gateway).search("zzzzqqqq")
    assert answer.status == 200 and "match" in text_of(answer)


def test_the_minute_is_full(gateway):
    wait_for_room_in_the_minute()
    client = Client(gateway)
    for _ in range(MOST_A_MINUTE):
        assert client.search("migration").status == 200
    for method in ("GET", "HEAD"):
        answer = client.search("migration", method=method)
        assert answer.status == 429
        assert 1 <= int(answer.header("Retry-After")) <= 60
    assert counts(gateway) == (MOST_A_MINUTE, MOST_A_MINUTE)
    assert Client(gateway, "127.0.0.2").search("migration").status == 200
    assert client.get("/search?q=k").status == 200, "what costs nothing stays free"


def test_the_hour_is_full(tmp_path):
    wait_for_room_in_the_minute()
    with Sluice(data_dir=tmp_path, env={"SEARCH_LIMIT_HOUR": "5"}) as gateway:
        for _ in range(5):
            assert Client(gateway).search("migration").status == 200
        answer = Client(gateway).search("migration")
        assert answer.status == 429
        assert 1 <= int(answer.header("Retry-After")) <= 3600
        assert counts(gateway) == (5, 5), "the minute got its place back"


def test_the_file_of_counts_is_held_by_somebody(gateway):
    assert Client(gateway).search("migration").status == 200
    holder = sqlite3.connect(budget_file(gateway), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        answer = Client(gateway).search("migration")
        assert answer.status == 503 and answer.header("Retry-After") == "1"
        assert "Kubernetes" not in text_of(answer)
        assert {Client(gateway).search("migration").status for _ in range(100)} == {503}
        waited = gateway.metric("sluice_sqlite_jobs_total", database="search_budget", outcome="failed")
        assert 1 <= waited < 60, "one a second may find out that the file is held"
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert counts(gateway) == (1, 1)
    until(lambda: Client(gateway).search("migration").status == 200)
    assert counts(gateway) == (2, 2), "what was refused meanwhile cost nothing"


# ---- when the search is busy or broken ---------------------------------------------------------

def with_faults(tmp_path, faults, **more):
    """A gateway whose scorings go wrong as `faults` say. What it counts is in the folder of the replay."""
    script = tmp_path / "faults.toml"
    script.write_text(faults)
    env = {"SEARCH_LIMIT_MINUTE": "1000000", "SEARCH_LIMIT_HOUR": "1000000"}
    return Sluice(data_dir=tmp_path, keys=False, env=env,
                  args=["--replay", ROOT / "demo" / "recordings", "--replay-faults", script], **more)


def counts_in_replay(gateway):
    found = rows(pathlib.Path(gateway.data_dir) / "replay" / "search-budget.db")
    return tuple(sum(count for name, count in found.items() if name == bucket(window, "127.0.0.1")) for window in ("min", "hour"))


class Held:
    """A search whose answer nobody has read yet."""

    def __init__(self, gateway, typed):
        self.connection = Connection(gateway.address)
        self.connection.send(f"GET /search?q={typed} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())

    def leave(self):
        self.connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


def scoring(gateway):
    return gateway.metric("sluice_titles_scoring")


def assert_every_thread_is_free(gateway):
    """Two searches are scored at the same time, which is as many as there are threads."""
    until(lambda: scoring(gateway) == 0)
    failed = gateway.metric("sluice_titles_searches_total", kind="page", outcome="busy")
    held = [Held(gateway, "both+of+them"), Held(gateway, "at+the+same+time")]
    until(lambda: scoring(gateway) == 2)
    assert gateway.metric("sluice_titles_searches_total", kind="page", outcome="busy") == failed
    for one in held:
        one.leave()
    until(lambda: scoring(gateway) == 0)


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


# ---- many at once, and what outlives a process -------------------------------------------------

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
                with Client(gateway)._connect() as connection:
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


# ---- what is found ---------------------------------------------------------------------------------

def test_the_forty_queries(tmp_path):
    with Sluice(data_dir=tmp_path, env={"SEARCH_LIMIT_MINUTE": "1000", "SLUICE__TITLES__API_LIMIT_MINUTE": "1000"}) as gateway:
        fill(gateway)
        for case in EXPECTED:
            answer = Client(gateway).get("/v1/pages/search?q=" + urllib.parse.quote_plus(case["query"]))
            assert answer.status == 200, answer.body
            best = answer.json()["results"][0]
            assert best["title"] == case["top_title"], case["query"]
            assert best["score"] == pytest.approx(case["top_score"], abs=1e-4)
            page = Client(gateway).search(case["query"])
            assert case["top_title"] in text_of(page)


# ---- nothing is told -------------------------------------------------------------------------------

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
