"""`sluice serve --replay`: the answers of recordings without keys and network, and faults on purpose."""
import json
import socket
import subprocess

import pytest

from wire import SLUICE, TIMEOUT_S, Sluice, until

ROUTE = "[circuit]\nfailure_threshold = 3\n[retry]\nmax_retries = 0\n"


@pytest.fixture(scope="module")
def recordings(upstream, tmp_path_factory):
    """What two searches asked, and were answered."""
    folder = tmp_path_factory.mktemp("recorded") / "recordings"
    gateway = Sluice(upstream, args=["--record", folder])
    for fields in ({"query": "stoneware glaze"}, {"query": "stoneware glaze", "lane": "deep", "answer": True},
                   {"query": "stoneware glaze", "providers": ["tavily"]}):
        assert gateway.search(**fields).status == 200
    until(lambda: len(list(folder.glob("*.json"))) == 3)
    assert gateway.stop() == 0
    return folder


def replay(folder, *args, settings=ROUTE, **more):
    return Sluice(None, settings, keys=False, args=["--replay", folder, *args], **more)


def serve_and_fail(tmp_path, *args):
    return subprocess.run([SLUICE, "serve", "--listen", "127.0.0.1:0", "--data-dir", tmp_path / "data", *args],
                          capture_output=True, text=True, timeout=TIMEOUT_S, cwd=tmp_path)


def test_a_replay_answers_as_the_providers_did_without_keys_or_network(recordings):
    gateway = replay(recordings)
    try:
        gateway.wait_for_line(f"replaying {recordings}: no provider is asked, keys and spending are not real")
        body = gateway.search("stoneware glaze", trace=True).json()
        assert body["provider"] == "serper" and len(body["results"]) == 4
        assert body["results"][0]["url"] == "https://kiln.example.com/guides/glaze-chemistry"
        deep = gateway.search("stoneware glaze", lane="deep", answer=True).json()
        assert deep["provider"] == "tavily" and deep["answer"].startswith("Stoneware glazes")
        assert gateway.metric("sluice_replayed_exchanges_total", outcome="answered") == 2
        assert gateway.metric("sluice_upstream_connections_total", reused="false") == 0, "a connection was made"
        keys = gateway.get("/v1/keys").json()["keys"]
        assert {key["label"] for key in keys} == {"made up for --replay"} and len(keys) == 5
    finally:
        assert gateway.stop() == 0, gateway.output()


def test_made_up_keys_and_spending_stay_apart_from_real_ones(recordings, upstream, tmp_path):
    gateway = replay(recordings)
    try:
        gateway.search("stoneware glaze")
        assert not (gateway.data_dir / "keys.db").exists() and not (gateway.data_dir / "usage.db").exists()
        assert (gateway.data_dir / "replay" / "keys.db").exists()
        (tmp_path / "other").mkdir(mode=0o700)
        offline = subprocess.run([SLUICE, "keys", "list", "--json", "--data-dir", tmp_path / "other"], capture_output=True, text=True,
                                 timeout=TIMEOUT_S, cwd=tmp_path)
        assert json.loads(offline.stdout)["keys"] == []
    finally:
        assert gateway.stop() == 0


def test_a_replay_leaves_redis_alone(recordings):
    with socket.create_server(("127.0.0.1", 0)) as redis:
        gateway = replay(recordings, settings=f'[redis]\nurl = "redis://127.0.0.1:{redis.getsockname()[1]}"\ntimeout_s = 0.1\n')
        try:
            assert gateway.search("stoneware glaze").status == 200
            redis.settimeout(0)
            with pytest.raises(BlockingIOError):
                redis.accept()
        finally:
            assert gateway.stop() == 0, gateway.output()


def test_what_was_not_recorded_is_nobodys_fault_but_ours(recordings):
    gateway = replay(recordings)
    try:
        for number in range(5):
            answer = gateway.search(f"never asked {number}", trace=True)
            assert answer.status == 503, answer.body
            attempt = answer.json()["attempts"][0]
            assert attempt["outcome"] == "connect_error" and attempt["blame"] == "gateway"
            assert "no recording answers this request: POST serper /search" in attempt["detail"]
            assert "never" not in attempt["detail"]
            problem = answer.json()
            assert problem["blame"] == "gateway" and "no recording answers this request" in problem["detail"]
        status = gateway.get("/v1/status").json()
        assert status["circuits"]["serper"]["state"] == "closed"
        assert gateway.search("stoneware glaze").status == 200
        assert "never asked" not in gateway.output()
        assert "keys_taken_for_replay" in gateway.output() and "keys_taken_from_environment" not in gateway.output()
        assert "q=hello" not in gateway.output(), "nobody recorded that"
    finally:
        assert gateway.stop() == 0


def test_faults_happen_as_the_script_says(recordings, tmp_path):
    script = tmp_path / "faults.toml"
    script.write_text('[faults.first]\nprovider = "serper"\nfault = "status"\nto_call = 1\n'
                      '[faults.then]\nprovider = "serper"\nfault = "rate_limit"\nretry_after_s = 60\nfrom_call = 2\n')
    gateway = replay(recordings, "--replay-faults", script, settings=ROUTE + "[cache]\nprovider_results_enabled = false\n")
    try:
        gateway.wait_for_line(f"calls fail as {script} says")
        ask = dict(cache="bypass", trace=True)
        body = gateway.search("stoneware glaze", **ask).json()
        assert [(a["provider"], a["outcome"]) for a in body["attempts"]] == [("serper", "server_error"), ("tavily", "success")]
        body = gateway.search("stoneware glaze", **ask).json()
        assert [(a["provider"], a["outcome"]) for a in body["attempts"]] == [("serper", "rate_limited"), ("tavily", "success")]
        assert gateway.metric("sluice_injected_faults_total", fault="status") == 1
        assert gateway.metric("sluice_injected_faults_total", fault="rate_limit") == 1
    finally:
        assert gateway.stop() == 0


def test_mistakes_stop_the_start_with_their_place(recordings, tmp_path):
    bad = tmp_path / "bad"
    bad.mkdir()
    first = json.loads(next(iter(sorted(recordings.glob("*.json")))).read_text())
    first["response"]["status"] = 99
    (bad / "one.json").write_text(json.dumps(first))
    result = serve_and_fail(tmp_path, "--replay", bad)
    assert result.returncode == 2 and f"{bad}/one.json: response.status: expected a whole number" in result.stderr
    script = tmp_path / "faults.toml"
    script.write_text('[faults.a]\nfault = "stal"\n')
    for command in (["check"], ["serve", "--listen", "127.0.0.1:0"]):
        result = subprocess.run([SLUICE, *command, "--set", f"replay.dir={recordings}", "--set", f"replay.faults={script}", "--data-dir",
                                 tmp_path / "data"], capture_output=True, text=True, timeout=TIMEOUT_S, cwd=tmp_path)
        assert result.returncode == 2 and f"{script}:2: faults.a.fault: expected one of status" in result.stderr, result.stderr
    result = serve_and_fail(tmp_path, "--replay", recordings, "--record", tmp_path / "r")
    assert result.returncode == 2 and "can't be set together with replay.dir" in result.stderr
    result = serve_and_fail(tmp_path, "--replay-faults", script)
    assert result.returncode == 2 and "needs replay.dir" in result.stderr
    result = serve_and_fail(tmp_path, "--replay", tmp_path / "absent")
    assert result.returncode == 2 and "replay.dir: cannot read" in result.stderr
