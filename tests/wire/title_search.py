"""What the tests of title search share: pages that are published, visitors with addresses, and what is counted."""
import contextlib
import hashlib
import html
import json
import pathlib
import re
import socket
import sqlite3
import struct
import time
import urllib.parse

from wire import ROOT, Connection, Sluice, until

CASES = ROOT / "tests" / "cases" / "titles"
TITLES = json.loads((CASES / "titles.json").read_text())
EXPECTED = json.loads((CASES / "expected.json").read_text())["cases"]
MOST_A_MINUTE = 20


def fill(gateway, titles=TITLES):
    lines = [json.dumps({"id": page["id"], "title": page["title"], "current_version": page["version"]})
             for page in titles]
    done = gateway.command("pages", "import", "-", stdin="\n".join(lines))
    assert done.returncode == 0, done.stderr


@contextlib.contextmanager
def published(data_dir, **more):
    """A gateway with pages in it."""
    with Sluice(data_dir=data_dir, **more) as running:
        fill(running)
        yield running


class Client:
    """Somebody at an address of his own."""

    def __init__(self, gateway, source="127.0.0.1"):
        self.gateway, self.source = gateway, source

    def get(self, target, method="GET", headers=()):
        with self.connect() as connection:
            head = [f"{method} {target} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers]
            connection.send("\r\n".join(head).encode("utf-8", "surrogateescape") + b"\r\n\r\n")
            return connection.read(head_only=method == "HEAD")

    def connect(self):
        return Connection(self.gateway.address, source=self.source)

    def search(self, typed, **more):
        return self.get("/search?q=" + urllib.parse.quote_plus(typed), **more)


def budget_file(gateway):
    return pathlib.Path(gateway.data_dir) / "search-budget.db"


def rows(file):
    """What is counted: {bucket: count}."""
    if not file.exists():
        return {}
    with contextlib.closing(sqlite3.connect(file, timeout=20)) as db:
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


def told(gateway, count):
    """What the log says of `count` searches. Its lines are written by a thread of their own, maybe after the answer."""
    def lines():
        return [json.loads(line) for line in gateway.output().splitlines() if '"title_search"' in line]
    until(lambda: len(lines()) >= count)
    return lines()


def text_of(answer):
    return text_of_html(answer.body.decode())


def text_of_html(markup):
    return html.unescape(re.sub(r"<[^>]+>", "", markup))


# ---- when the search is busy or broken -----------------------------------------------------------

def with_faults(tmp_path, faults, *args, limit=1_000_000, **more):
    """A gateway whose scorings go wrong as `faults` say. What it counts is in the folder of the replay."""
    script = tmp_path / "faults.toml"
    script.write_text(faults)
    env = {"SEARCH_LIMIT_MINUTE": str(limit), "SEARCH_LIMIT_HOUR": str(limit)}
    return Sluice(data_dir=tmp_path, keys=False, env=env,
                  args=["--replay", ROOT / "demo" / "recordings", "--replay-faults", script, *args], **more)


def replay_budget_file(gateway):
    return pathlib.Path(gateway.data_dir) / "replay" / "search-budget.db"


def counts_in_replay(gateway):
    found = rows(replay_budget_file(gateway))
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
