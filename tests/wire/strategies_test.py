"""Several providers at once, circuits, rates and explanations on the real binary."""
import contextlib
import time

import pytest

from wire import Sluice


def outcomes(body):
    return [(attempt["provider"], attempt["outcome"]) for attempt in body["attempts"]]


@contextlib.contextmanager
def waits_at_most(upstream, settings=""):
    """A gateway whose searches may take so long that none of them took half of it unless it waited for its end."""
    deadline_s = 18
    with Sluice(upstream, f"[lanes.fast]\ndeadline_s = {deadline_s}\n{settings}") as gateway:
        begun = time.monotonic()
        yield gateway
        assert time.monotonic() - begun < deadline_s / 2
        assert gateway.stop() == 0


def test_merge_is_one_list_with_origins(sluice, upstream):
    body = sluice.search("merged", strategy="merge", trace=True).json()
    assert body["provider"] == "merge"
    assert outcomes(body) == [("serper", "success"), ("tavily", "success")]
    urls = [hit["url"] for hit in body["results"]]
    assert len(urls) == len(set(urls))
    assert [hit["rank"] for hit in body["results"]] == list(range(1, len(urls) + 1))
    for hit in body["results"]:
        assert hit["provider"] in {origin["provider"] for origin in hit["origins"]}
    assert len(upstream.requests()) == 2
    assert sluice.search("merged", strategy="merge").json()["cached"] is True
    assert len(upstream.requests()) == 2


def test_merge_does_not_wait_for_one_that_stalls(upstream):
    with waits_at_most(upstream) as gateway:
        upstream.control("serper", fault="stall")
        body = gateway.search("merged stall", strategy="merge", trace=True).json()
        assert outcomes(body) == [("serper", "cancelled"), ("tavily", "success")]
        assert body["results"]
        keys = gateway.get("/v1/status").json()["keys"]["serper"]
        assert keys["available"] == 2 and keys["in_flight"] == 0


def test_merge_with_a_failure_is_degraded(sluice, upstream):
    upstream.control("serper", fault="garbage")
    body = sluice.search("merged failure", strategy="merge").json()
    assert body["degraded"] is True and body["results"]


def test_hedge_does_not_wait_for_a_slow_one(upstream):
    with waits_at_most(upstream, "[hedge]\ninitial_delay_s = 0.2\n") as gateway:
        upstream.control("serper", fault="stall")
        body = gateway.search("hedged", strategy="hedge", trace=True).json()
        assert outcomes(body) == [("serper", "cancelled"), ("tavily", "success")]
        assert gateway.metric("sluice_web_hedges_total", event="won") == 1


def test_strategies_that_are_not_there_are_refused(sluice, upstream):
    answer = sluice.search("auto", strategy="auto")
    assert answer.status == 400
    assert "failover" in answer.json()["detail"] and "hedge" in answer.json()["detail"]
    assert upstream.requests() == []


def test_circuits_are_shown_and_keep_calls_away(upstream):
    gateway = Sluice(upstream)
    try:
        upstream.control("serper", fault="cut")
        for i in range(3):
            gateway.search(f"circuit {i}")
        upstream.forget()
        body = gateway.search("circuit open", trace=True).json()
        assert outcomes(body) == [("serper", "skipped_circuit"), ("tavily", "success")]
        assert "until 20" in body["attempts"][0]["detail"]
        assert len(upstream.requests()) == 1
        status = gateway.get("/v1/status").json()
        assert status["circuits"]["serper"]["state"] == "open"
        assert status["circuits"]["serper"]["reason"].startswith("unparseable")
        assert status["circuits"]["serper"]["reopens_at"].endswith("Z")
        assert status["circuits"]["tavily"] == {"state": "closed"}
        assert status["egress"] == {"policy": "direct", "endpoints": {}}
        assert status["providers"]["tavily"]["recent"]["success_ratio"] == 1
        assert gateway.metric("sluice_web_circuit_trips_total", provider="serper") == 1
        assert gateway.wait_for_line(r"circuit_opened")
    finally:
        assert gateway.stop() == 0


def test_rates_make_calls_wait(upstream):
    gateway = Sluice(upstream, "[providers.serper.rate]\ntokens = 1\ninterval_s = 0.5\n")
    try:
        first = gateway.search("rate one", trace=True).json()
        second = gateway.search("rate two", trace=True).json()
        assert "waited_ms" not in first["attempts"][0]
        assert 200 < second["attempts"][0]["waited_ms"] <= 500
        assert outcomes(second) == [("serper", "success")]
    finally:
        assert gateway.stop() == 0


@pytest.mark.parametrize("as_json", [False, True])
def test_explain_does_nothing(sluice, upstream, as_json):
    done = sluice.command("search", "--explain", "--strategy", "merge", *(["--json"] if as_json else []), "a", "query")
    assert done.returncode == 0, done.stderr
    assert "serper" in done.stdout and "tavily" in done.stdout
    assert upstream.requests() == []
    assert "serper-test-key" not in done.stdout
    if as_json:
        assert '"object":"explanation"' in done.stdout
    else:
        assert "would be asked with key" in done.stdout
