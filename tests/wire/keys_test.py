"""Provider keys on the real binary: the API, the commands, restarts, crashes and the secrets key."""
import contextlib
import json
import os
import pathlib
import re
import signal
import sqlite3
import stat
import subprocess
import tempfile
import threading
import time

import pytest

from wire import SLUICE, TIMEOUT_S, Process, Sluice, call

SECRET = "serper-wire-secret-4711"


class Gateway(Process):
    """A gateway on a data directory that outlives it."""

    def __init__(self, data_dir, upstream=None, env=None, args=()):
        self.data_dir = pathlib.Path(data_dir)
        base = f"http://127.0.0.1:{upstream.port}/serper" if upstream else "http://127.0.0.1:9"
        super().__init__([SLUICE, "serve", "--data-dir", data_dir, "--listen", "127.0.0.1:0", "--set", "routing.fast=serper",
                          "--set", f"providers.serper.base_url={base}", *args], env)
        self.address = ("127.0.0.1", int(self.wait_for_line(r"listens on 127\.0\.0\.1:(\d+)")[1]))

    def call(self, method, target, body=None):
        return call(self.address, method, target, body=body)

    def keys(self):
        return self.call("GET", "/v1/keys").json()["keys"]

    def looks_at_keys(self):
        """Jobs that the store of keys has done."""
        lines = self.call("GET", "/metrics").body.decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines
                   if line.startswith("sluice_sqlite_jobs_total") and 'database="keys"' in line)

    def search(self, query):
        return self.call("POST", "/v1/search", {"query": query, "trace": True})


@contextlib.contextmanager
def gateway(data_dir, *args, **options):
    process = Gateway(data_dir, *args, **options)
    try:
        yield process
    finally:
        if process.is_running() or not process.told_to_end:
            assert process.stop() == 0, process.output()
    assert SECRET not in process.output()


def command(data_dir, *args, stdin="", env=None):
    return subprocess.run([SLUICE, "keys", *map(str, args), "--data-dir", str(data_dir)], input=stdin, capture_output=True,
                          text=True, timeout=TIMEOUT_S, env={**os.environ, **(env or {})}, cwd=data_dir)


def wait_until(condition):
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < end, "it never came true"


def stored_count(data_dir):
    with contextlib.closing(sqlite3.connect(f"file:{data_dir}/keys.db?mode=ro", uri=True)) as db:
        return db.execute("SELECT sum(used) FROM provider_key").fetchone()[0]


@pytest.fixture
def data_dir():
    with tempfile.TemporaryDirectory() as folder:
        yield folder


def test_a_key_from_adding_to_removing(data_dir, upstream):
    with gateway(data_dir, upstream) as sluice:
        unready = sluice.call("GET", "/readyz?need=web")
        assert unready.status == 503 and "sluice keys add" in unready.json()["detail"]
        assert sluice.search("nobody").status == 503
        added = sluice.call("POST", "/v1/keys", {"provider": "serper", "secret": SECRET, "label": "main"})
        assert added.status == 201 and added.header("Location") == "/v1/keys/" + added.json()["id"]
        assert SECRET not in added.body.decode()
        one = added.header("Location")
        assert sluice.call("GET", "/readyz").status == 200
        answer = sluice.search("with a key").json()
        assert answer["attempts"][0]["key_id"] == added.json()["id"]
        record = sluice.call("GET", one).json()
        assert (record["used"], record["last_outcome"], record["in_flight"]) == (1, "success", 0)
        assert sluice.call("PATCH", one, {"state": "disabled"}).json()["state"] == "disabled"
        assert sluice.search("disabled").status == 503
        assert "sluice keys enable" in sluice.call("GET", "/readyz").json()["detail"]
        assert sluice.call("GET", "/v1/status").json()["keys"]["serper"]["disabled"] == 1
        assert sluice.call("PATCH", one, {"state": "active"}).status == 200
        assert sluice.search("enabled").status == 200
        assert sluice.call("DELETE", one).status == 204
        assert sluice.search("removed").status == 503 and sluice.keys() == []


def test_a_trial_of_a_key(data_dir, upstream):
    with gateway(data_dir, upstream, env={"SERPER_API_KEYS": SECRET}) as sluice:
        [key] = sluice.keys()
        upstream.control("serper", fixture="auth", times=1)
        assert command(data_dir, "test", key["id"]).returncode == 1
        tried = command(data_dir, "test", key["id"], "--json")
        assert tried.returncode == 0 and json.loads(tried.stdout)["result"] == "valid", tried.stdout + tried.stderr
        assert sluice.keys()[0]["status"] == "available", "a trial punishes nobody"


def test_a_trial_without_a_gateway(data_dir, upstream):
    """It is paid for just the same: the second one meets a budget that the first one used up."""
    env = {"SLUICE__PROVIDERS__SERPER__BASE_URL": f"http://127.0.0.1:{upstream.port}/serper",
           "SLUICE__BUDGETS__PROVIDERS__SERPER__CALLS_DAY": "1"}
    upstream.control("serper", fixture="ok")
    assert command(data_dir, "add", "serper", stdin=SECRET).returncode == 0
    key_id = json.loads(command(data_dir, "list", "--json").stdout)["keys"][0]["id"]
    first = command(data_dir, "test", key_id, "--json", env=env)
    assert first.returncode == 0 and json.loads(first.stdout)["result"] == "valid", first.stdout + first.stderr
    second = command(data_dir, "test", key_id, env=env)
    assert second.returncode == 1 and "budgets.providers.serper.calls_day" in second.stdout + second.stderr


def probe(data_dir, *args, env=None):
    return subprocess.run([SLUICE, "check", "--probe", *args, "--data-dir", str(data_dir)], capture_output=True, text=True,
                          timeout=TIMEOUT_S, cwd=data_dir, env={**os.environ, **(env or {})})


@pytest.mark.parametrize("with_gateway", [True, False])
def test_a_check_may_try_every_key(data_dir, upstream, with_gateway):
    """What it will cost is said first; each key that searches may use is tried once, and paid for like any call."""
    env = {"SLUICE__PROVIDERS__SERPER__BASE_URL": f"http://127.0.0.1:{upstream.port}/serper",
           "SLUICE__BUDGETS__PROVIDERS__SERPER__CALLS_DAY": "2"}
    with gateway(data_dir, upstream, env=env) if with_gateway else contextlib.nullcontext():
        for number in range(4):
            assert command(data_dir, "add", "serper", stdin=f"{SECRET}-{number}").returncode == 0
        keys = json.loads(command(data_dir, "list", "--json").stdout)["keys"]
        assert command(data_dir, "disable", keys[0]["id"]).returncode == 0
        upstream.control("serper", fixture="auth", times=1)
        tried = probe(data_dir, "--json", env=env)
        assert "3 calls, one with each key, about $0.003" in tried.stderr
        results = [key["result"] for key in json.loads(tried.stdout)["probe"]]
        assert results == ["invalid", "valid", "valid"] and tried.returncode == 1, tried.stdout + tried.stderr
        broke = probe(data_dir, env=env)
        assert broke.returncode == 0, "what was not tried did not prove bad"
        assert len(re.findall("not_tried.*budgets.providers.serper.calls_day", broke.stdout)) == 3
        assert SECRET not in tried.stdout + tried.stderr + broke.stdout + broke.stderr


def test_a_check_waits_for_its_turn_beyond_ten_keys(data_dir, upstream):
    """A gateway tries ten keys in a row and then one at a time; that is waited for."""
    with gateway(data_dir, upstream):
        for number in range(11):
            assert command(data_dir, "add", "serper", stdin=f"{SECRET}-{number}").returncode == 0
        tried = probe(data_dir, "--json")
        assert re.search(r"10 of 11 tried; the next one in \d+ s", tried.stderr), tried.stderr
        assert [key["result"] for key in json.loads(tried.stdout)["probe"]] == ["valid"] * 11
        assert tried.returncode == 0


def test_a_check_of_good_keys(data_dir, upstream):
    env = {"SLUICE__PROVIDERS__SERPER__BASE_URL": f"http://127.0.0.1:{upstream.port}/serper"}
    assert command(data_dir, "add", "serper", stdin=SECRET).returncode == 0
    upstream.control("serper", fixture="ok")
    good = probe(data_dir, env=env)
    assert good.returncode == 0 and re.search(r"^\w+ +serper +4711 +valid ", good.stdout, re.M), good.stdout + good.stderr
    wrong = probe(data_dir, "--set", "cache.ttl_s=never", env=env)
    assert wrong.returncode == 2 and "one with each key" not in wrong.stderr, "nothing is tried with a wrong configuration"


def test_keys_of_the_environment(data_dir):
    """Seeding is idempotent; what an operator removed or disabled stays so over restarts."""
    env = {"SERPER_API_KEYS": f"{SECRET},serper-wire-second-1234", "TAVILY_API_KEY": "tvly-wire-third-0000"}
    with gateway(data_dir, env=env) as sluice:
        keys = sluice.keys()
        assert [(k["provider"], k["last4"]) for k in keys] == [("serper", "4711"), ("serper", "1234"), ("tavily", "0000")]
        assert sluice.call("DELETE", "/v1/keys/" + keys[0]["id"]).status == 204
        assert sluice.call("PATCH", "/v1/keys/" + keys[1]["id"], {"state": "disabled", "label": "mine"}).status == 200
    with gateway(data_dir, env=env) as sluice:
        after = sluice.keys()
        assert [k["id"] for k in after] == [keys[1]["id"], keys[2]["id"]]
        assert (after[0]["state"], after[0]["label"]) == ("disabled", "mine")
        # Who adds a removed key by hand means it.
        again = sluice.call("POST", "/v1/keys", {"provider": "serper", "secret": SECRET})
        assert again.status == 201 and again.json()["id"] == keys[0]["id"]
    with gateway(data_dir) as sluice:
        assert len(sluice.keys()) == 3, "the store has them without the environment"


def test_a_crash_loses_no_key(data_dir, upstream):
    """kill -9 right after each answer: what was said to be done is done."""
    ids = []
    for i in range(3):
        sluice = Gateway(data_dir, upstream)
        added = sluice.call("POST", "/v1/keys", {"provider": "serper", "secret": f"{SECRET}-{i}", "quota": {"limit": 3, "per": "month"}})
        assert added.status == 201
        ids.append(added.json()["id"])
        assert sluice.stop(signal.SIGKILL) == -signal.SIGKILL
    with gateway(data_dir, upstream) as sluice:
        assert [k["id"] for k in sluice.keys()] == ids
        assert sluice.search("after the crash").status == 200


@pytest.mark.parametrize("limit", [100_000, 300])
def test_a_killed_process_forgets_no_call_of_a_quota(data_dir, upstream, limit):
    """kill -9 in the middle of calls: the file counts at least what the upstream was asked, however often that happens."""
    for round_number in range(3):
        sluice = Gateway(data_dir, upstream)
        if round_number == 0:
            body = {"provider": "serper", "secret": SECRET, "quota": {"limit": limit, "per": "month"}}
            assert sluice.call("POST", "/v1/keys", body).status == 201
        under_way = threading.Event()

        def search(thread):
            with contextlib.suppress(OSError, EOFError):
                for n in range(50):
                    sluice.search(f"round {round_number} thread {thread} query {n}")
                    if n == 5:
                        under_way.set()

        threads = [threading.Thread(target=search, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        under_way.wait(TIMEOUT_S)
        sluice.stop(signal.SIGKILL)
        for thread in threads:
            thread.join(TIMEOUT_S)
        asked = len(upstream.requests())
        assert asked > 0
        assert stored_count(data_dir) >= min(asked, limit), f"the upstream was asked {asked} times"
        assert asked <= limit
    with gateway(data_dir, upstream) as sluice:
        assert sluice.keys()[0]["used"] >= len(upstream.requests())


def test_a_quota_outlives_the_process(data_dir, upstream):
    with gateway(data_dir, upstream) as sluice:
        body = {"provider": "serper", "secret": SECRET, "quota": {"limit": 2, "per": "total"}}
        assert sluice.call("POST", "/v1/keys", body).status == 201
        assert sluice.search("first").status == 200
    with gateway(data_dir, upstream) as sluice:
        assert sluice.keys()[0]["used"] == 1
        assert sluice.search("second").status == 200
        assert sluice.search("third").status == 503
        assert stored_count(data_dir) == 2
        sluice.stop(signal.SIGKILL)
    with gateway(data_dir, upstream) as sluice:
        [key] = sluice.keys()
        assert (key["used"], key["status"], key["until"]) == (2, "exhausted", None)


def test_the_secrets_key(data_dir):
    """Made once, for its owner only; without it or with another one a start is refused, and nothing is lost."""
    folder = pathlib.Path(data_dir)
    with gateway(data_dir, env={"SERPER_API_KEYS": SECRET}):
        pass
    secrets = folder / "secrets.key"
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o600
    right = secrets.read_text()
    assert re.fullmatch(r"[0-9a-f]{64}\n", right)
    for path in folder.iterdir():
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), f"{path} holds a key"

    def refused(**env):
        result = subprocess.run([SLUICE, "serve", "--data-dir", data_dir, "--listen", "127.0.0.1:0"], capture_output=True,
                                text=True, timeout=TIMEOUT_S, env={**os.environ, **env})
        assert result.returncode != 0 and right.strip() not in result.stderr
        return result.stderr

    secrets.write_text("f" * 64)
    doctor = subprocess.run([SLUICE, "doctor", "--data-dir", data_dir], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert doctor.returncode == 1 and "encrypted with the secrets key" in doctor.stdout
    assert "encrypted with the secrets key" in refused() and "move the file away" in refused()
    secrets.write_text("nonsense")
    assert "64 hexadecimal digits" in refused()
    secrets.unlink()
    assert "put it back" in refused() and not secrets.exists()
    assert "no variable SLUICE_TEST_SECRETS" in refused(SLUICE__SECRETS__KEY="env:SLUICE_TEST_SECRETS")
    assert "secrets.key" in refused(SLUICE__SECRETS__KEY=str(folder / "elsewhere"))
    given = {"SLUICE__SECRETS__KEY": "env:SLUICE_TEST_SECRETS", "SLUICE_TEST_SECRETS": right}
    with gateway(data_dir, env=given) as sluice:
        assert [k["last4"] for k in sluice.keys()] == ["4711"]


def test_commands_without_a_gateway(data_dir, upstream):
    nothing = command(data_dir, "list")
    assert nothing.returncode == 0 and "sluice keys add" in nothing.stdout
    added = command(data_dir, "add", "serper", "--label", "main", "--quota", "1000/day", "--weight", "3", stdin=SECRET + "\n")
    assert added.returncode == 0, added.stderr
    key_id = re.fullmatch(r"added (\w+) for serper\n", added.stdout)[1]
    listed = command(data_dir, "list")
    head, row = listed.stdout.splitlines()
    assert row.split() == [key_id, "serper", "4711", "-", "0", "1000/day", "3", "-", "main"]
    assert head.index("LABEL") == row.index("main"), "columns are aligned"
    assert command(data_dir, "disable", key_id).stdout == f"{key_id} is disabled\n"
    assert json.loads(command(data_dir, "list", "--json").stdout)["keys"][0]["state"] == "disabled"
    assert command(data_dir, "enable", key_id, "--json").returncode == 0
    windowed = command(data_dir, "add", "serper", "--quota", "60/90m", stdin="serper-key-with-a-window\n")
    assert windowed.returncode == 0, windowed.stderr
    window_id = re.fullmatch(r"added (\w+) for serper\n", windowed.stdout)[1]
    assert re.search(rf"^{window_id} .* 60/90m ", command(data_dir, "list").stdout, re.M)
    assert command(data_dir, "remove", window_id).returncode == 0
    by_variable = command(data_dir, "add", "tavily", "--secret-env", "A_KEY", env={"A_KEY": "tvly-from-a-variable"})
    assert by_variable.returncode == 0, by_variable.stderr
    (pathlib.Path(data_dir) / "key.txt").write_text("tvly-from-a-file-0001\n")
    assert command(data_dir, "add", "tavily", "--secret-file", "key.txt").returncode == 0
    assert command(data_dir, "remove", key_id).stdout == f"removed {key_id}\n"
    with gateway(data_dir, upstream) as sluice:
        assert [k["provider"] for k in sluice.keys()] == ["tavily", "tavily"]


def test_a_key_is_changed(data_dir, upstream):
    added = command(data_dir, "add", "serper", "--json", "--label", "main", "--quota", "10/day", stdin=SECRET)
    key_id = json.loads(added.stdout)["id"]
    changed = command(data_dir, "set", key_id, "--weight", "3", "--account", "team", "--quota", "60/1h", "--max-in-flight", "7")
    assert (changed.returncode, changed.stdout) == (0, f"changed {key_id}\n"), changed.stderr
    with gateway(data_dir, upstream) as sluice:
        key, = sluice.keys()
        assert (key["weight"], key["account"], key["label"], key["max_in_flight"]) == (3, "team", "main", 7)
        assert key["quota"] == {"limit": 60, "per": "1h"}
        freed = command(data_dir, "set", key_id, "--quota", "none", "--label", "", "--max-in-flight", "0", "--json")
        assert freed.returncode == 0 and "quota" not in json.loads(freed.stdout), freed.stderr
        key, = sluice.keys()
        assert (key["weight"], key["label"], key["max_in_flight"]) == (3, "", 100)
        assert command(data_dir, "set", key_id).returncode == 2, "something has to change"


def test_commands_beside_a_gateway(data_dir, upstream):
    with gateway(data_dir, upstream) as sluice:
        added = command(data_dir, "add", "serper", "--json", stdin=SECRET)
        assert added.returncode == 0, added.stderr
        assert sluice.search("at once").status == 200, "a change is in force when the command ends"
        key_id = json.loads(added.stdout)["id"]
        assert "available" in command(data_dir, "list").stdout
        assert command(data_dir, "disable", key_id).returncode == 0
        assert sluice.search("not any more").status == 503
        assert command(data_dir, "remove", key_id).returncode == 0 and sluice.keys() == []


def test_another_process_is_noticed(data_dir, upstream):
    """A change that did not come through this gateway is in force with the next look, which it takes once a second."""
    with gateway(data_dir, upstream) as sluice:
        os.rename(sluice.data_dir / "sluice.sock", sluice.data_dir / "aside")
        assert command(data_dir, "add", "serper", stdin=SECRET).returncode == 0
        os.rename(sluice.data_dir / "aside", sluice.data_dir / "sluice.sock")
        before = sluice.looks_at_keys()
        wait_until(lambda: len(sluice.keys()) == 1)
        assert sluice.looks_at_keys() - before <= 3, "one that was under way, the next, and the reading of the change"


@pytest.mark.parametrize("args, stdin, code, said", [
    (["add", "serpr"], SECRET, 2, "did you mean 'serper'"),
    (["add", "serper"], "", 2, "standard input"),
    (["add", "serper"], "two words", 2, "secret"),
    (["add", "serper", "--quota", "many"], SECRET, 2, "--quota"),
    (["add", "serper", "--quota", "5/week"], SECRET, 2, "day month total"),
    (["add", "serper", "--quota", "5/0s"], SECRET, 2, "window"),
    (["add", "serper", "--weight", "0"], SECRET, 2, "weight"),
    (["add", "serper", "--secret-file", "nowhere"], "", 2, "nowhere"),
    (["add", SECRET, SECRET], "", 2, ""),
    (["remove", "nonesuch"], "", 1, "sluice keys list"),
    (["set", "nonesuch", "--weight", "2"], "", 1, "sluice keys list"),
    (["set", "any", "--quota", "5"], "", 2, "--quota"),
    (["enable", "../nonesuch"], "", 1, "sluice keys list"),
    (["test", "nonesuch"], "", 1, "no key of that id"),
    (["lst"], "", 2, "`sluice keys` takes no 'lst'; did you mean 'list'?"), ([], "", 2, "subcommand"),
])
def test_mistakes_are_told(data_dir, args, stdin, code, said):
    result = command(data_dir, *args, stdin=stdin)
    assert result.returncode == code, result.stdout + result.stderr
    assert said in result.stdout + result.stderr
    assert stdin.strip() == "" or stdin not in result.stdout + result.stderr


def test_a_key_on_the_command_line_is_not_repeated(data_dir):
    for args in (["serper", SECRET], ["serper", "main", SECRET], [SECRET, "serper", "--weight", "x"]):
        result = command(data_dir, "add", *args, stdin="")
        assert result.returncode == 2 and SECRET not in result.stdout + result.stderr, result.stderr


@pytest.mark.parametrize("name", ["list", "add", "set", "enable", "disable", "remove", "test"])
def test_help_teaches(name):
    result = subprocess.run([SLUICE, "keys", name, "--help"], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert result.returncode == 0 and "Usage:" in result.stdout and len(result.stdout) > 150


def test_a_secrets_key_that_others_can_read_is_told(upstream):
    gateway = Sluice(upstream)
    path = gateway.data_dir / "secrets.key"
    path.chmod(0o644)
    doctor = gateway.command("doctor")
    assert doctor.returncode == 1 and f"chmod 600 {path}" in doctor.stdout
    gateway.data_dir.chmod(0o777)
    again = Process([SLUICE, "serve", "--data-dir", gateway.data_dir, "--listen", "127.0.0.1:0"])
    try:
        assert again.wait() == 1, "the first one still holds the directory"
    finally:
        again.stop()
    gateway.send_signal(signal.SIGTERM)
    gateway.wait()
    successor = Process([SLUICE, "serve", "--data-dir", gateway.data_dir, "--listen", "127.0.0.1:0"])
    try:
        successor.wait_for_line("secrets_key_open_to_others")
        successor.wait_for_line("data_dir_writable_by_others")
    finally:
        successor.stop()
        gateway.stop()


@pytest.mark.parametrize("settings, mistake", [
    ("", "providers.google_cse.enabled is false"),
    ("[providers.google_cse]\nenabled = true\n", "providers.google_cse.engine_id is not set"),
])
def test_a_key_that_its_settings_keep_from_use_is_told_everywhere(settings, mistake):
    gateway = Sluice(keys=False, routing=False, settings=settings, env={"GOOGLE_CSE_API_KEYS": "google-test-key-0001"})
    try:
        gateway.wait_for_line(rf"routing\.fast.*a key is there, but {mistake}")
        assert gateway.search("a").json()["code"] == "no_usable_key"
        ready = gateway.get("/readyz")
        assert ready.status == 503 and "engine_id" in ready.json()["detail"]
        doctor = gateway.command("doctor")
        assert doctor.returncode == 1 and "running, not ready" in doctor.stdout and "engine_id" in doctor.stdout
        assert "GOOGLE_CSE" not in gateway.output(), "such a key alone is no remedy"
    finally:
        assert gateway.stop() == 0


def test_a_pipe_in_place_of_the_secrets_key_is_refused(tmp_path):
    os.mkfifo(tmp_path / "secrets.key")
    result = command(tmp_path, "list")
    assert result.returncode == 1 and "no regular file" in result.stderr


def test_one_key_is_added_at_a_time(tmp_path):
    result = command(tmp_path, "add", "serper", stdin="serper-wire-first-1234\nserper-wire-second-1234\n")
    assert result.returncode == 2 and "one key" in result.stderr
