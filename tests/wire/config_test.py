"""Configuration on the real binary: a bad value of every single setting stops the start and is named,
good values show where they came from, and SIGHUP keeps the last good ones."""
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

from wire import RUN_LINE, SLUICE, TIMEOUT_S, Process, Sluice, call


def run(*args, env=None, cwd=None):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("SLUICE__")}
    return subprocess.run([SLUICE, *map(str, args)], capture_output=True, text=True, timeout=TIMEOUT_S,
                          stdin=subprocess.DEVNULL, env={**clean, **(env or {})}, cwd=cwd)


def all_settings():
    return json.loads(run("check", "--json", cwd="/").stdout)["settings"]


SETTINGS = all_settings()


def wrong_type(setting):
    """A TOML value that can't be meant for this setting."""
    kind = setting["type"]
    if kind in ("text", "list"):
        return "{ a = 1 }"
    if kind.startswith("one of"):
        return '"nonsense"'
    return '"nonsense"'


def out_of_range(setting):
    """TOML values just outside of the range, where there is one."""
    kind = setting["type"]
    if kind == "integer":
        low, high = map(int, setting["range"].split(".."))
        return [str(low - 1), str(high + 1)]
    if kind == "duration":
        return ["-1", '"100000d"']
    if kind == "size":
        return ["-1", '"100000000GiB"']
    return []


# Settings that name files and folders; what may be there in their place; and which of those are made, or may be used.
FILES = ["titles.budget_file", "server.tls_certificate_file", "server.tls_key_file", "upstream.ca_file", "record.dir", "replay.dir",
         "secrets.key", "data_dir"]
PLACES = ["missing", "below a missing folder", "below a file", "folder", "text"]
MADE = {"titles.budget_file": ["missing"], "data_dir": ["missing", "below a missing folder", "folder"],
        "record.dir": ["missing", "below a missing folder", "folder"]}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """With its private key in one file."""
    path = tmp_path_factory.mktemp("certificate") / "both.pem"
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "-",
                           "-days", "2", "-subj", "/CN=localhost"], check=True, capture_output=True, timeout=TIMEOUT_S)
    path.write_bytes(made.stdout)
    return path


def named(path):
    """The path of a setting, with a name where any will do."""
    return path.replace("<name>", "spare")


def toml(path, value):
    section, _, key = path.rpartition(".")
    return (f"[{section}]\n" if section else "") + f"{key} = {value}\n"


def bad_values():
    for setting in SETTINGS:
        for value in [wrong_type(setting), *out_of_range(setting)]:
            yield pytest.param(named(setting["key"]), value, id=f"{setting['key']}={value}")


@pytest.mark.parametrize("key, value", bad_values())
def test_bad_value_in_the_file(tmp_path, key, value):
    path = tmp_path / "bad.toml"
    path.write_text("# a comment\n" + toml(key, value))
    line = path.read_text().splitlines().index(f"{key.rpartition('.')[2]} = {value}") + 1
    result = run("check", "--config", path)
    assert result.returncode == 2
    assert f"bad.toml:{line}: {key}: " in result.stderr, result.stderr
    assert "expected" in result.stderr
    started = run("serve", "--config", path)
    assert started.returncode == 2 and key in started.stderr, "the gateway started with a bad value"


@pytest.mark.parametrize("setting", [s for s in SETTINGS if s["type"] not in ("text", "list")], ids=lambda s: s["key"])
def test_bad_value_in_the_environment(tmp_path, setting):
    key = named(setting["key"])
    name = "SLUICE__" + key.upper().replace(".", "__")
    result = run("check", env={name: "nonsense"}, cwd=tmp_path)
    assert result.returncode == 2
    assert f"environment {name}: {key}: " in result.stderr, result.stderr


@pytest.mark.parametrize("key, value, expected", [
    ("server.listen", '["nonsense"]', "server.listen"), ("server.listen", '["127.0.0.1:99999"]', "server.listen"),
    ("server.listen", '["300.1.1.1:80"]', "server.listen"), ("server.listen", "[]", "server.listen"),
    ("server.trusted_proxy_cidrs", '["10.0.0.0/33"]', "network"), ("server.trusted_proxy_cidrs", '["10.0.0.1/8"]', "network"),
    ("server.cors_origins", '["example.org"]', "server.cors_origins"), ("server.allowed_hosts", '["http://x"]', "server.allowed_hosts"),
    ("routing.fast", '["serpr"]', "did you mean 'serper'"), ("routing.deep", '["google"]', "unknown provider"),
    ("providers.serper.base_url", '"ftp://x"', "http://"), ("providers.tavily.base_url", '""', "http://"),
    ("providers.serper.base_url", '"https://a.example/?x=1"', "without ?"), ("providers.serper.base_url", '"https://a.example/#x"', "without ?"),
    ("providers.serper.base_url", '"http://127.0.0.1:99999/"', "can be called"), ("providers.serper.base_url", r'"http://a\r\nX: y/"', "can be called"),
    ("egress.health_check_url", '"http://a.example/%ZZ"', "can be called"), ("egress.endpoints.a.url", '"http://u%ZZ:p@a.example:1"', "host:port"),
    ("lanes.fast.queue_timeout_s", "20", "lanes.fast.queue_timeout_s"), ("server.tls_key_file", '"key.pem"', "server.tls_certificate_file"),
    ("data_dir", '""', "data_dir"), ("upstream.ca_file", '"/nowhere/ca.pem"', "upstream.ca_file"),
])
def test_a_value_that_only_its_owner_can_judge(tmp_path, key, value, expected):
    path = tmp_path / "bad.toml"
    path.write_text(toml(key, value))
    result = run("check", "--config", path)
    assert result.returncode == 2, f"accepted: {result.stdout[:200]}"
    assert expected in result.stderr and key.rpartition(".")[0] in result.stderr, result.stderr


@pytest.mark.parametrize("key, what", [(key, what) for key in FILES for what in PLACES if what not in MADE.get(key, [])])
def test_a_file_that_can_not_be_used_is_told_by_its_setting(tmp_path, certificate, key, what):
    """And by nothing that has another setting's name: what is to be mended is one line."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("neither a database, nor a key, nor a certificate")
    (tmp_path / "text").chmod(0o644)
    path = {"missing": tmp_path / "absent", "below a missing folder": tmp_path / "absent" / "x", "below a file": tmp_path / "text" / "x",
            "folder": tmp_path / "folder", "text": tmp_path / "text"}[what]
    settings = {"data_dir": tmp_path / "data", key: path}
    if key.startswith("server.tls"):
        settings = {"server.tls_certificate_file": certificate, "server.tls_key_file": certificate, **settings}
    more = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    result = run("serve", "--listen", "127.0.0.1:0", *more, cwd=tmp_path)
    assert result.returncode in (1, 2), result
    assert {"data_dir": "data directory"}.get(key, key) in result.stderr and str(path) in result.stderr, result.stderr
    assert "--listen" not in result.stderr and (key == "data_dir" or "--data-dir" not in result.stderr), result.stderr
    assert (tmp_path / "text").stat().st_mode & 0o777 == 0o644, "a file of somebody else's was changed"


@pytest.mark.parametrize("content", [b"", b"neither a database, nor a key, nor a certificate", bytes(range(256)),
                                     b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", None])
def test_authorities_that_are_none_are_refused_before_the_start(tmp_path, content):
    """By `check` as by `serve`; nothing stands for /dev/null."""
    path = tmp_path / "authorities.pem" if content is not None else "/dev/null"
    if content is not None:
        path.write_bytes(content)
    for command in (["check"], ["serve", "--listen", "127.0.0.1:0"]):
        result = run(*command, "--set", f"data_dir={tmp_path / 'data'}", "--set", f"upstream.ca_file={path}", cwd=tmp_path)
        assert result.returncode == 2, result
        assert "upstream.ca_file: expected certificates of authorities in PEM, found none in " + str(path) in result.stderr, result.stderr


def test_authorities_in_a_file_are_right(tmp_path, certificate):
    assert run("check", "--set", f"upstream.ca_file={certificate}", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("text, expected", [
    ("[server]\nlissten = 1\n", "bad.toml:2: server.lissten: unknown setting; did you mean server.listen?"),
    ("[sever]\nlisten = 1\n", "sever"), ("nonsense\n", "bad.toml:1"), ("[server]\nlisten = [\n", "bad.toml"),
    ("[server]\nthreads = 1\nthreads = 2\n", "bad.toml"), ("listen = '127.0.0.1:1'\n", "unknown setting"),
    ("[providers.serper]\napi_keys = ['x']\n", "keys are not kept in this file; set them in SERPER_API_KEYS"),
    ("server = 5\n", "server"), ("\x00", "bad.toml"),
])
def test_a_file_that_is_wrong(tmp_path, text, expected):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    result = run("check", "--config", path)
    assert result.returncode == 2 and expected in result.stderr, result.stderr


def test_every_mistake_is_told_at_once(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("[server]\nthreads = -1\nmax_body_bytes = 'x'\n[cache]\nttl = 5\n")
    result = run("check", "--config", path, env={"SLUICE__LANES__MAX_QUEUED": "many"})
    assert [key in result.stderr for key in ("server.threads", "server.max_body_bytes", "cache.ttl", "lanes.max_queued")] == [True] * 4


def test_an_unknown_variable_names_the_nearest(tmp_path):
    result = run("check", env={"SLUICE__SERVER__LISTN": "x"}, cwd=tmp_path)
    assert result.returncode == 2 and "did you mean SLUICE__SERVER__LISTEN?" in result.stderr


@pytest.mark.parametrize("command", ["check", "serve", "doctor"])
def test_a_pipe_or_a_folder_in_place_of_the_file_is_refused_at_once(tmp_path, command):
    os.mkfifo(tmp_path / "pipe.toml")
    for path in (tmp_path / "pipe.toml", tmp_path):
        result = run(command, "--config", path)
        assert result.returncode in (1, 2) and "it is no file" in result.stdout + result.stderr


@pytest.mark.parametrize("command", [["check"], ["check", "--json"], ["serve"], ["doctor"], ["doctor", "--json"]])
def test_a_secrets_key_in_place_of_its_file_is_shown_nowhere(tmp_path, command):
    for key in ("MARKERKEYMARKERKEY", "5a" * 32):
        path = tmp_path / "bad.toml"
        path.write_text(f'[secrets]\nkey = "{key}"\n')
        result = run(*command, "--config", path, cwd=tmp_path)
        assert result.returncode in (1, 2) and "secrets.key" in result.stdout + result.stderr
        assert key not in result.stdout + result.stderr


def test_a_named_file_that_is_not_there(tmp_path):
    result = run("serve", "--config", tmp_path / "none.toml")
    assert result.returncode == 2 and "none.toml" in result.stderr


def test_layers_and_where_each_value_came_from(tmp_path):
    (tmp_path / "sluice.toml").write_text("[cache]\nttl_s = 11\nstale_ttl_s = 12\nnegative_ttl_s = 13\n")
    result = run("check", "--json", "--set", "cache.negative_ttl_s=33", cwd=tmp_path,
                 env={"SLUICE__CACHE__STALE_TTL_S": "22", "SLUICE__CACHE__NEGATIVE_TTL_S": "23", "LOG_LEVEL": "warn",
                      "SLUICE__CACHE__MAX_BYTES": ""})
    found = {s["key"]: (s["value"], s["origin"]) for s in json.loads(result.stdout)["settings"]}
    assert found["cache.ttl_s"] == ("11", "sluice.toml:2")
    assert found["cache.stale_ttl_s"] == ("22", "environment SLUICE__CACHE__STALE_TTL_S")
    assert found["cache.negative_ttl_s"][0] == "33" and "--set" in found["cache.negative_ttl_s"][1]
    assert found["log.level"] == ('"warn"', "environment LOG_LEVEL")
    assert found["cache.max_bytes"][1] == "default", "an empty variable is an unset one"


def test_sighup_applies_good_values_and_keeps_the_last_good_ones():
    gateway = Sluice()
    try:
        good = gateway.config.read_text()
        gateway.write_config(good + "[server]\nmax_body_bytes = '2KiB'\n")
        gateway.send_signal(signal.SIGHUP)
        gateway.wait_for_line("config_reloaded")
        assert gateway.post("/v1/search", {"query": "a" * 3000}).status == 413
        gateway.write_config(good + "[server]\nmax_body_bytes = 'nonsense'\n")
        gateway.send_signal(signal.SIGHUP)
        line = gateway.wait_for_line("config_rejected.*")[0]
        assert "server.max_body_bytes" in line and "sluice.toml:" in line
        assert gateway.post("/v1/search", {"query": "a" * 3000}).status == 413
    finally:
        assert gateway.stop() == 0


def test_sighup_names_what_waits_for_a_restart():
    gateway = Sluice()
    try:
        gateway.write_config(gateway.config.read_text() + "[cache]\nttl_s = 5\nmax_bytes = '1MiB'\n")
        gateway.send_signal(signal.SIGHUP)
        line = gateway.wait_for_line("config_needs_restart.*")[0]
        assert "cache.max_bytes" in line and "ttl_s" not in line and "server.listen" not in line
    finally:
        assert gateway.stop() == 0


def test_a_port_in_use_is_said_clearly():
    gateway = Sluice()
    try:
        second = run("serve", "--listen", f"127.0.0.1:{gateway.port}", "--data-dir", gateway.data_dir / "other")
        assert second.returncode == 1
        assert str(gateway.port) in second.stderr and "in use" in second.stderr and "--listen" in second.stderr
    finally:
        assert gateway.stop() == 0


def test_one_gateway_serves_from_a_data_directory(upstream):
    """Also when the socket of the first one was removed: two would spend what one may."""
    gateway = Sluice(upstream)
    try:
        os.remove(gateway.socket_path)
        second = run("serve", "--listen", "127.0.0.1:0", "--data-dir", gateway.data_dir)
        assert second.returncode == 1
        assert f"in use by process {gateway.process.pid}" in second.stderr
    finally:
        gateway.stop()


def test_an_unusable_data_directory_is_said_clearly(tmp_path):
    (tmp_path / "file").write_text("")
    result = run("serve", "--listen", "127.0.0.1:0", "--data-dir", tmp_path / "file")
    assert result.returncode == 1 and "--data-dir" in result.stderr


def test_the_example_file_is_the_defaults(tmp_path):
    example = pathlib.Path(__file__).resolve().parents[2] / "config" / "sluice.example.toml"
    # Without the sections whose name everybody chooses: they have no default.
    text = re.sub(r"^# \[[^]\n]*<name>.*?(?=^\[|\Z)", "", example.read_text(), flags=re.M | re.S)
    text = "\n".join(re.sub(r"^# ?(?=[\w.]+ = )", "", line) for line in text.splitlines())
    path = tmp_path / "all.toml"
    path.write_text(text)
    for config in (example, path):
        result = run("check", "--json", "--config", config)
        assert result.returncode == 0, result.stdout
        values = {s["key"]: s["value"] for s in json.loads(result.stdout)["settings"]}
        assert values == {s["key"]: s["value"] for s in SETTINGS}


def test_the_run_line_of_the_former_image_serves(tmp_path):
    """As a container has it: the environment alone says everything. tests/wire/image_test.py does it with the image itself."""
    data_dir = tmp_path / "data"
    environment = {"SLUICE__DATA_DIR": str(data_dir), "SLUICE__SERVER__LISTEN": "127.0.0.1:0",
                   **{name: value.replace("/data", str(data_dir)) for name, value in RUN_LINE.items()}}
    gateway = Process([SLUICE, "serve"], environment)
    address = ("127.0.0.1", int(gateway.wait_for_line(r"listens on 127\.0\.0\.1:(\d+)")[1]))
    assert call(address, "GET", "/healthz").status == 200
    assert call(address, "GET", "/readyz?need=web").status == 503, "there is no key"
    status = call(address, "GET", "/v1/status").json()
    assert status["database"] == {"kind": "sqlite"} and status["redis"] == {"state": "off"}
    assert (data_dir / "keys.db").exists() and not (data_dir / "gateway.db").exists()
    assert gateway.stop() == 0
    assert not re.search(r"\"event\":\"config|mistake|\"level\":\"error\"", gateway.output()), gateway.output()
