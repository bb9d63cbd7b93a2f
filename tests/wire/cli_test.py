"""The commands of the binary, alone and beside a running gateway."""
import json
import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import threading

import pytest

from wire import SLUICE, TIMEOUT_S, Sluice, Upstream, call


def run(*args, env=None, cwd=None):
    return subprocess.run([SLUICE, *map(str, args)], capture_output=True, text=True, timeout=TIMEOUT_S,
                          stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})}, cwd=cwd)


@pytest.mark.parametrize("args", [["--help"], ["serve", "--help"], ["check", "--help"], ["search", "--help"], ["tokens", "--help"],
                                  ["tokens", "add", "--help"], ["tokens", "list", "--help"], ["tokens", "revoke", "--help"],
                                  ["cache", "purge", "--help"], ["doctor", "--help"], ["test", "--help"], ["version", "--help"]])
def test_help_teaches(args):
    result = run(*args)
    assert result.returncode == 0 and "Usage:" in result.stdout and len(result.stdout) > 150


@pytest.mark.parametrize("args, expected", [
    ([], "subcommand"), (["serv"], "did you mean 'serve'"), (["nonsense"], "there is no command"), (["serve", "--nope"], "--nope"),
    (["search"], "query"), (["search", "-n", "99", "x"], "max-results"), (["tokens"], "subcommand"), (["test"], "file"), (["tokens", "revoke"], "id"),
    (["tokens", "add", "--scopes", "everything"], "--scopes"), (["tokens", "add", "--expires-in", "soon"], "--expires-in"),
    (["tokens", "add", "--requests-per-minute", "99999999"], "requests"), (["serve", "--set", "novalue"], "KEY=VALUE"),
    (["tokens", "add", "--budget-usd-day", "0.0000004"], "at least 0.000001"),
    (["tokens", "add", "--budget-usd-day", "nan"], "at least 0.000001"),
    (["tokens", "add", "--requests-per-minute", "many"], "--requests-per-minute: expected a whole number: a limit of its own"),
    (["tokens", "add", "--requests-per-minute", "-1"], "requests"),
    (["search", "--lnae", "deep", "x"], "`sluice search` takes no option '--lnae'; did you mean '--lane'?"),
    (["serve", "--lisen", "127.0.0.1:9000"], "takes no option '--lisen'; did you mean '--listen'?"),
    (["serve", "--lisen=127.0.0.1:9000"], "takes no option '--lisen'; did you mean '--listen'?"),
    (["keys", "lst"], "`sluice keys` takes no 'lst'; did you mean 'list'?"),
    (["completion", "zhs"], "expected one of bash, zsh, fish, found 'zhs'; did you mean 'zsh'?"),
    (["usage", "--by", "tokne"], "expected one of provider, token, key, day, found 'tokne'; did you mean 'token'?"),
    (["cache", "clear"], "`sluice cache --help` lists"), (["doctor", "stray"], "`sluice doctor` takes no 'stray'"),
    (["check", "--replay", "/nowhere", "--record", "/nowhere"], "record.dir: can't be set together with replay.dir"),
    (["check", "--replay", "/nowhere", "--replay-faults", "/nowhere"], "replay.faults"),
    (["tokens", "add", "--expires-in", "36501d"], "36500d"), (["tokens", "add", "--expires-in", "0.5s"], "from 1s"),
    (["tokens", "add", "--expires-in", "99999999999999999999d"], "36500d"),
])
def test_a_wrong_command_line_ends_with_2(tmp_path, args, expected):
    result = run(*args, cwd=tmp_path)
    assert result.returncode == 2, (result.stdout, result.stderr)
    assert expected in result.stderr + result.stdout


OUTPUT_LOST = [["version"], ["version", "--json"], ["--help"], ["check"], ["usage"], ["tokens", "list"], ["doctor"]]


@pytest.mark.parametrize("args", OUTPUT_LOST, ids=" ".join)
def test_lost_output_is_no_success(tmp_path, args):
    (tmp_path / "sluice-data").mkdir(mode=0o700)
    with open("/dev/full", "w") as full:
        ended = subprocess.run([SLUICE, *args], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S)
    assert ended.returncode == 1 and "could not be written" in ended.stderr
    closed = subprocess.run(["/bin/sh", "-c", 'exec "$@" >&-', "sh", SLUICE, *args], cwd=tmp_path, capture_output=True,
                            text=True, timeout=TIMEOUT_S)
    assert closed.returncode == 1 and "could not be written" in closed.stderr


@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["text", "json"])
def test_a_token_that_nobody_saw_is_revoked(tmp_path, flags):
    with open("/dev/full", "w") as full:
        ended = subprocess.run([SLUICE, "tokens", "add", *flags], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE,
                               text=True, timeout=TIMEOUT_S)
    assert ended.returncode == 1 and "revoked" in ended.stderr
    tokens = json.loads(run("tokens", "list", "--json", cwd=tmp_path).stdout)["tokens"]
    assert len(tokens) == 1 and "revoked_at" in tokens[0]


def test_the_longest_expiry_is_a_date_to_come(tmp_path):
    added = run("tokens", "add", "--expires-in", "36500d", "--json", cwd=tmp_path)
    assert added.returncode == 0 and json.loads(added.stdout)["expires_at"].startswith("21"), added.stderr


def test_days_beyond_the_nanoseconds_are_written_as_they_are(tmp_path):
    result = run("usage", "--data-dir", tmp_path, "--since", "0001-01-01", "--until", "9999-12-31")
    assert result.returncode == 0 and "from 0001-01-01 to 9999-12-31" in result.stdout


def test_a_locked_store_is_an_error_and_not_a_wait(tmp_path):
    holder = sqlite3.connect(tmp_path / "access.db", isolation_level=None)
    holder.execute("CREATE TABLE t (x)")
    holder.execute("BEGIN")
    holder.execute("SELECT * FROM t").fetchall()  # a reader, which keeps others from changing the file's mode
    result = run("tokens", "list", "--data-dir", tmp_path)
    holder.close()
    assert result.returncode == 1 and "access.db" in result.stderr


def test_check_shows_no_password(tmp_path):
    url = "https://user:hunter2@proxy.example/serper"
    for flags in ([], ["--json"]):
        result = run("check", *flags, "--set", f"providers.serper.base_url={url}", cwd=tmp_path)
        assert result.returncode == 0 and "hunter2" not in result.stdout + result.stderr
        assert "@proxy.example/serper" in result.stdout


def test_version():
    assert re.fullmatch(r"sluice \d+\.\d+\.\d+\n", run("version").stdout)
    assert set(json.loads(run("version", "--json").stdout)) == {"version"}


def test_search_in_a_terminal(sluice):
    result = sluice.command("search", "stoneware", "glaze", "-n", "2", "--trace")
    assert result.returncode == 0, result.stderr
    assert "1. Glaze chemistry for studio potters" in result.stdout
    assert "https://kiln.example.com/guides/glaze-chemistry" in result.stdout
    assert "2 results from serper" in result.stdout and "serper: success" in result.stdout
    assert "\x1b" not in result.stdout, "colours where there is no terminal"
    as_json = json.loads(sluice.command("search", "--json", "stoneware", "glaze", "-n", "2").stdout)
    assert as_json["cached"] is True and as_json["query"] == "stoneware glaze"
    over_tcp = run("search", "--server", f"http://127.0.0.1:{sluice.port}/", "stoneware", cwd=sluice.data_dir)
    assert over_tcp.returncode == 0, over_tcp.stderr


def test_commands_beside_a_gateway_need_only_its_data_directory(sluice):
    good = sluice.config.read_text()
    try:
        sluice.write_config(good + "\n[nonsense]\nx = 1\n")
        for command in (["search", "stoneware"], ["cache", "purge"]):
            result = sluice.command(*command)
            assert result.returncode == 0 and "sluice check" in result.stderr, (result.stdout, result.stderr)
    finally:
        sluice.write_config(good)


def test_search_shows_what_went_wrong(sluice, upstream):
    upstream.control("serper", fixture="bad_request")
    result = sluice.command("search", "refused", "--trace")
    assert result.returncode == 1 and "Missing query parameter" in result.stderr and "query_rejected" in result.stderr
    nobody = run("search", "x", "--server", "http://127.0.0.1:9")
    assert nobody.returncode == 1 and "sluice serve" in nobody.stderr


def test_the_wrong_scheme_is_guessed(sluice):
    plain = run("search", "x", "--server", f"https://127.0.0.1:{sluice.port}")
    assert plain.returncode == 1 and "try http://" in plain.stderr
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = threading.Thread(target=lambda: [(peer.recv(65536), peer.close()) for peer, _ in [server.accept()]])
        silent.start()
        closed = run("search", "x", "--server", f"http://127.0.0.1:{server.getsockname()[1]}")
        silent.join(TIMEOUT_S)
    assert closed.returncode == 1 and "try https://" in closed.stderr


def test_cache_purge(sluice):
    sluice.search("to be forgotten")
    assert re.match(r"forgot [1-9]\d* answers? and [1-9]\d* results? of ", sluice.command("cache", "purge").stdout)
    assert sluice.search("to be forgotten").json()["cached"] is False
    assert "purged" in json.loads(sluice.command("cache", "purge", "--json").stdout)


def test_cache_purge_without_a_gateway(tmp_path):
    result = run("cache", "purge", "--data-dir", tmp_path)
    assert result.returncode == 1 and "running gateway" in result.stderr


def test_doctor(sluice, tmp_path):
    healthy = sluice.command("doctor")
    assert healthy.returncode == 0 and "running and ready" in healthy.stdout
    alive = sluice.command("doctor", "--alive")
    assert alive.returncode == 0 and alive.stdout == "alive\n"
    assert json.loads(sluice.command("doctor", "--alive", "--json").stdout) == {"alive": True}
    nobody = run("doctor", "--alive", "--data-dir", tmp_path)
    assert nobody.returncode == 1 and "sluice serve" in nobody.stderr and not list(tmp_path.iterdir())
    os.chmod(tmp_path, 0o777)
    open_to_all = run("doctor", "--data-dir", tmp_path)
    assert open_to_all.returncode == 1 and "chmod 700" in open_to_all.stdout
    os.chmod(tmp_path, 0o700)
    (tmp_path / "access.db").write_bytes(b"this is no database" * 100)
    damaged = run("doctor", "--data-dir", tmp_path, "--json")
    findings = {c["name"]: c["finding"] for c in json.loads(damaged.stdout)["checks"]}
    assert damaged.returncode == 1 and findings["token store"] == "bad"


def test_doctor_looks_at_what_counts_title_searches(sluice, tmp_path):
    def found():
        rows = json.loads(sluice.command("doctor", "--json").stdout)["checks"]
        return next(row for row in rows if row["name"] == "search budget")
    assert found()["finding"] == "ok"
    with sqlite3.connect(sluice.data_dir / "search-budget.db", isolation_level=None) as holder:
        holder.execute("BEGIN IMMEDIATE")
        held = found()
        assert held["finding"] == "bad" and "end that one" in held["detail"] and "503" in held["detail"]
        holder.execute("ROLLBACK")
    assert found()["finding"] == "ok"
    (tmp_path / "search-budget.db").write_bytes(b"this is no database" * 100)
    damaged = json.loads(run("doctor", "--data-dir", tmp_path, "--json").stdout)["checks"]
    row = next(row for row in damaged if row["name"] == "search budget")
    assert row["finding"] == "bad" and "move the file away" in row["detail"]


def test_tokens_from_making_to_revoking(upstream):
    gateway = Sluice(upstream)
    try:
        assert gateway.search("anonymous").status == 200
        made = gateway.command("tokens", "add", "--label", "agent", "--scopes", "search", "--json")
        token = json.loads(made.stdout)
        bearer = {"Authorization": f"Bearer {token['token']}"}
        wait_until(lambda: gateway.post("/v1/search", {"query": "a"}, bearer).status == 200)
        assert gateway.post("/v1/search", {"query": "a"}, {"X-Api-Key": token["token"]}).status == 200
        assert gateway.get("/v1/status", bearer).status == 403
        wrong = gateway.post("/v1/search", {"query": "a"}, {"Authorization": "Bearer slc_wrong"})
        assert wrong.status == 401 and wrong.header("WWW-Authenticate")
        listed = json.loads(gateway.command("tokens", "list", "--json").stdout)["tokens"]
        assert [t["label"] for t in listed] == ["agent"]
        assert token["token"] not in gateway.command("tokens", "list").stdout
        assert gateway.command("tokens", "revoke", token["id"]).returncode == 0
        wait_until(lambda: gateway.post("/v1/search", {"query": "a"}, bearer).status == 401)
        assert gateway.command("tokens", "revoke", "nonesuch").returncode == 1
        for path in gateway.data_dir.rglob("*"):
            if path.is_file():
                assert token["token"].split("_")[-1].encode() not in path.read_bytes(), f"{path} holds a token"
                assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 or path.name == "sluice.toml"
    finally:
        assert gateway.stop() == 0
    assert token["token"] not in gateway.output()


def wait_until(condition):
    """The gateway polls its store once a second: asks again until it has."""
    import time
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < end, "it never came true"


def test_a_limit_per_token(upstream):
    gateway = Sluice(upstream)
    try:
        token = json.loads(gateway.command("tokens", "add", "--requests-per-minute", "3", "--json").stdout)["token"]
        bearer = {"Authorization": f"Bearer {token}"}
        wait_until(lambda: gateway.get("/v1/search?q=", bearer).status == 400)
        wait_until(lambda: gateway.get("/v1/search?q=a", bearer).status != 401)
        statuses = [gateway.get("/v1/search?q=a", bearer).status for _ in range(8)]
        assert 429 in statuses
        refused = gateway.get("/v1/search?q=a", bearer)
        if refused.status == 429:
            assert 1 <= int(refused.header("Retry-After")) <= 60
            assert refused.json()["code"] == "rate_limited"
    finally:
        assert gateway.stop() == 0


def test_the_first_start_beyond_loopback_makes_an_admin_token(upstream):
    gateway = Sluice(upstream, listen="127.0.0.1:0,0.0.0.0:0")
    try:
        token = gateway.wait_for_line(r"^\s+(slc_\S+)")[1]
        assert gateway.search("anonymous").status == 401
        assert gateway.post("/v1/search", {"query": "a"}, {"Authorization": f"Bearer {token}"}).status == 200
        assert gateway.get("/metrics").status == 401
        assert gateway.get("/healthz").status == 200
    finally:
        assert gateway.stop() == 0


PROXIED = [("server.trusted_proxy_cidrs", '["127.0.0.0/8"]'), ("server.allowed_hosts", '["search.example"]')]


@pytest.mark.parametrize("setting, value", PROXIED)
def test_a_proxy_in_front_of_loopback_opens_nothing_without_a_token(upstream, setting, value):
    section, key = setting.split(".")
    gateway = Sluice(upstream, settings=f"[{section}]\n{key} = {value}\n")
    try:
        token = gateway.wait_for_line(r"^\s+(slc_\S+)")[1]
        through = {"X-Forwarded-For": "203.0.113.7"}
        for method, path in (("GET", "/v1/keys"), ("DELETE", "/v1/keys/x"), ("GET", "/v1/usage"), ("GET", "/metrics"),
                             ("GET", "/v1/search?q=a")):
            assert call(gateway.address, method, path, through, host="search.example").status == 401, path
            assert call(gateway.address, method, path).status == 401, path
        assert gateway.get("/v1/keys", {**through, "Authorization": f"Bearer {token}"}).status == 200
        assert "need a token" in gateway.command("doctor").stdout
        assert gateway.command("keys", "list").returncode == 0, "the socket needs none"
    finally:
        assert gateway.stop() == 0


def test_who_opens_everything_to_a_proxy_is_warned_and_administers_by_token_only(upstream):
    gateway = Sluice(upstream, settings='[auth]\nanonymous = "all"\n[server]\ntrusted_proxy_cidrs = ["127.0.0.0/8"]\n')
    try:
        gateway.wait_for_line("auth.anonymous is all")
        assert gateway.get("/v1/search?q=a").status == 200
        assert gateway.get("/v1/keys", {"X-Forwarded-For": "203.0.113.7"}).status == 401
        assert "auth.anonymous is all" in gateway.command("doctor").stdout
    finally:
        assert gateway.stop() == 0


def test_a_start_that_can_not_listen_makes_no_admin_token(tmp_path):
    failed = run("serve", "--listen", "192.0.2.1:0", "--data-dir", tmp_path)
    assert failed.returncode == 1 and "192.0.2.1" in failed.stderr
    assert json.loads(run("tokens", "list", "--json", "--data-dir", tmp_path).stdout)["tokens"] == []


def test_sigterm_finishes_what_is_under_way(upstream):
    gateway = Sluice(upstream)
    upstream.control("serper", fixture="ok", delay_ms=400)
    from wire import Connection
    with Connection(gateway.address) as connection:
        connection.send(b"GET /v1/search?q=draining HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        while not upstream.requests():
            pass
        gateway.send_signal(signal.SIGTERM)
        answer = connection.read()
        assert answer.status == 200 and answer.header("Connection") == "close"
    assert gateway.stop() == 0
