"""`sluice serve --record`: what is written, what is not, and who can read it."""
import json
import os
import stat
import subprocess

import pytest

from wire import SLUICE, TIMEOUT_S, Sluice, until

KEY, QUERY = "marker-secret-key-83fa2c", "marker-query-5d71e0"


def recordings(folder):
    return {path.name: path for path in sorted(folder.glob("*.json"))}


@pytest.fixture
def recorder(upstream, tmp_path):
    gateway = Sluice(upstream, "[circuit]\nfailure_threshold = 1000\n", env={"SERPER_API_KEYS": KEY, "TAVILY_API_KEYS": KEY + "-too"},
                     args=["--record", tmp_path / "recordings", "--log-level", "debug"])
    yield gateway, tmp_path / "recordings"
    assert gateway.stop() == 0, gateway.output()


def test_marker_key_is_nowhere_and_the_query_only_in_recordings(upstream, recorder):
    gateway, folder = recorder
    gateway.wait_for_line(f"recording is on: .*{folder}")
    for fixture in ("ok", "auth", "rate_limited", "bad_request", "quota"):
        upstream.control("serper", fixture=fixture)
        gateway.search(QUERY, cache="bypass", trace=True)
    upstream.control("serper", fault="garbage")
    gateway.search(QUERY, cache="bypass", lane="deep")
    sent = len(upstream.requests())
    until(lambda: gateway.metric("sluice_recorded_exchanges_total", outcome="written") == sent)
    written = recordings(folder)
    assert len(written) == sent
    assert any("serper" in name for name in written) and any("tavily" in name for name in written)
    for path in written.values():
        text = path.read_text()
        assert KEY not in text and QUERY in text, path
        exchange = json.loads(text)
        assert exchange["request"]["body"]["query" if exchange["provider"] == "tavily" else "q"] == QUERY
        assert exchange["request"]["removed"], "the header that carried the key is named"
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    pages = [gateway.get(path).body.decode() for path in ("/metrics", "/v1/status")]
    for text in (*pages, gateway.output()):
        assert KEY not in text and QUERY not in text


def test_transport_errors_are_recorded_too(upstream, recorder):
    gateway, folder = recorder
    upstream.control("serper", fault="refuse")
    gateway.search("refused")
    until(lambda: len(recordings(folder)) == 2)
    first = json.loads(next(iter(recordings(folder).values())).read_text())
    assert first["error"]["code"] == "upstream_failed" and first["error"]["blame"] == "provider"
    assert "response" not in first


def test_a_cached_answer_is_no_exchange(upstream, recorder):
    gateway, folder = recorder
    for _ in range(3):
        gateway.search("asked thrice")
    until(lambda: gateway.metric("sluice_recorded_exchanges_total", outcome="written") == 1)
    assert len(recordings(folder)) == 1


def test_nothing_is_recorded_unless_asked_for(sluice):
    sluice.search("not recorded")
    assert "recording" not in sluice.output()
    for outcome in ("written", "dropped", "full", "failed"):
        assert sluice.metric("sluice_recorded_exchanges_total", outcome=outcome) == 0
    assert not list(sluice.data_dir.rglob("*serper*.json"))


def test_check_says_that_recording_is_on(tmp_path):
    result = subprocess.run([SLUICE, "check", "--set", f"record.dir={tmp_path}/r"], capture_output=True, text=True, timeout=TIMEOUT_S,
                            cwd=tmp_path)
    assert result.returncode == 0 and f"recording is on: every exchange with a provider is written to {tmp_path}/r" in result.stdout
    assert not (tmp_path / "r").exists(), "checking makes nothing"


def test_a_folder_that_others_may_read_stops_the_start(tmp_path):
    tmp_path.chmod(0o755)
    result = subprocess.run([SLUICE, "serve", "--listen", "127.0.0.1:0", "--data-dir", tmp_path / "data", "--record", tmp_path],
                            capture_output=True, text=True, timeout=TIMEOUT_S, cwd=tmp_path)
    assert result.returncode == 2 and "record.dir: others may open" in result.stderr and "chmod 700" in result.stderr
