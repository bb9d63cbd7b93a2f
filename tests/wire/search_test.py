"""The main job on the real binary: a search through Serper and Tavily, cached, failing over."""
import json
import re
import signal

import pytest

from wire import ROOT, Connection, Sluice, call, quote, until


def test_search_by_post(sluice, upstream):
    answer = sluice.search("stoneware glaze chemistry", max_results=3, trace=True)
    assert answer.status == 200
    assert answer.header("Content-Type") == "application/json"
    body = answer.json()
    assert body["object"] == "search"
    assert body["query"] == "stoneware glaze chemistry"
    assert body["lane"] == "fast"
    assert body["provider"] == "serper"
    assert body["cached"] is False and body["stale"] is False
    assert body["elapsed_ms"] >= 0
    assert len(body["results"]) == 3
    assert body["results"][0] == {
        "url": "https://kiln.example.com/guides/glaze-chemistry",
        "title": "Glaze chemistry for studio potters",
        "snippet": "How silica, alumina and fluxes interact when a stoneware glaze matures at cone 6.",
        "rank": 1, "provider": "serper", "site": "kiln.example.com",
        "published_at": "2026-09-14T00:00:00Z"}
    assert [(a["provider"], a["outcome"]) for a in body["attempts"]] == [("serper", "success")]
    assert body["request_id"] == answer.header("X-Request-Id")
    sent = upstream.requests()
    assert len(sent) == 1
    assert json.loads(sent[0]["body"])["q"] == "stoneware glaze chemistry"


def test_search_by_get_shares_the_entry_with_post(sluice, upstream):
    first = sluice.search("shared entry")
    second = sluice.get("/v1/search?q=shared+entry")
    assert first.json()["cached"] is False and second.json()["cached"] is True
    assert first.json()["results"] == second.json()["results"]
    assert first.json()["request_id"] != second.json()["request_id"]
    assert len(upstream.requests()) == 1


def test_deep_lane_asks_tavily(sluice):
    body = sluice.search("deep question", lane="deep", answer=True).json()
    assert body["provider"] == "tavily" and body["lane"] == "deep"
    assert body["answer"] == "Stoneware glazes balance silica, alumina and fluxes."
    assert body["results"][0]["score"] == 0.94


@pytest.mark.parametrize("fixture, trail", [
    ("rate_limited", ["rate_limited", "rate_limited", "success"]),
    ("auth", ["auth_failed", "auth_failed", "success"]),
    ("quota", ["quota_exhausted", "quota_exhausted", "success"]),
    ("plan_pattern", ["plan_limit", "plan_limit", "success"]),
])
def test_key_faults_move_on_key_by_key(upstream, fixture, trail):
    gateway = Sluice(upstream)
    try:
        upstream.control("serper", fixture=fixture)
        body = gateway.search("blame", trace=True).json()
        assert [a["outcome"] for a in body["attempts"]] == trail
        assert body["provider"] == "tavily"
        assert [a.get("blame") for a in body["attempts"]] == ["key", "key", None]
    finally:
        assert gateway.stop() == 0


@pytest.mark.parametrize("fault", ["cut", "garbage", "bomb", "huge", "refuse"])
def test_provider_faults_move_on_to_the_next_provider(sluice, upstream, fault):
    upstream.control("serper", fault=fault)
    body = sluice.search(f"provider fault {fault}", trace=True).json()
    assert body["provider"] == "tavily"
    assert body["attempts"][0]["blame"] == "provider"
    assert sluice.get("/v1/status").json()["keys"]["serper"]["available"] == 2


def test_a_stalled_provider_leaves_time_for_the_next(upstream):
    gateway = Sluice(upstream, "[lanes.fast]\ndeadline_s = 4\nqueue_timeout_s = 1\n")
    try:
        upstream.control("serper", fault="stall")
        body = gateway.search("stall", trace=True).json()
        assert body["provider"] == "tavily"
        assert body["attempts"][0]["outcome"] == "timeout"
        assert 1500 <= body["elapsed_ms"] < 3900
    finally:
        assert gateway.stop() == 0


def test_the_callers_fault_stops_everything(sluice, upstream):
    upstream.control("serper", fixture="bad_request")
    answer = sluice.search("refused by the provider", trace=True)
    assert answer.status == 400
    problem = answer.json()
    assert answer.header("Content-Type") == "application/problem+json"
    assert problem["code"] == "query_rejected" and problem["blame"] == "caller"
    assert "Missing query parameter" in problem["detail"]
    assert [a["provider"] for a in problem["attempts"]] == ["serper"]
    assert len(upstream.requests()) == 1


def test_stale_answers_are_the_last_resort(upstream):
    gateway = Sluice(upstream, "[cache]\nttl_s = 0\nprovider_results_enabled = false\n")
    try:
        assert gateway.search("old").json()["stale"] is False
        for provider in ("serper", "tavily"):
            upstream.control(provider, fault="cut")
        body = gateway.search("old").json()
        assert body["stale"] is True and body["cached"] is True and body["results"]
        missing = gateway.search("never seen")
        assert missing.status == 503 and missing.json()["code"] == "upstream_failed"
        assert int(missing.header("Retry-After")) >= 1
        assert gateway.metric("gateway_cache_events_total", event="stale") == 1
    finally:
        assert gateway.stop() == 0


def test_cache_modes(sluice, upstream):
    assert sluice.search("modes", cache="only").json()["code"] == "not_cached"
    assert sluice.search("modes", cache="only").status == 504
    assert sluice.search("modes").json()["cached"] is False
    assert sluice.search("modes", cache="only").json()["cached"] is True
    assert sluice.search("modes", cache="refresh").json()["cached"] is False
    assert sluice.search("modes", cache="bypass").json()["cached"] is False
    assert len(upstream.requests()) == 3


def test_identical_cold_searches_cost_one_call(sluice, upstream):
    upstream.control("serper", fixture="ok", delay_ms=1500)
    connections = [Connection(sluice.address) for _ in range(100)]
    for connection in connections:
        connection.send(b"GET /v1/search?q=stampede HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    answers = [connection.read() for connection in connections]
    bodies = [answer.json() for answer in answers]
    for connection in connections:
        connection.close()
    assert len({body["request_id"] for body in bodies}) == 100
    said = [answer.header("Cache-Status") for answer in answers]
    assert sorted(set(said)) == ["sluice; fwd=miss; collapsed", "sluice; fwd=miss; stored"]
    assert said.count("sluice; fwd=miss; stored") == 1
    assert all(body["results"] == bodies[0]["results"] for body in bodies)
    assert len(upstream.requests()) == 1


def test_an_answer_that_is_paid_for_is_kept_though_its_client_left(sluice, upstream):
    upstream.control("serper", fixture="ok", delay_ms=1500)
    before = sluice.metric("gateway_cache_events_total", event="salvaged")
    connection = Connection(sluice.address)
    connection.send(b"GET /v1/search?q=paid+for HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    until(lambda: len(upstream.requests()) == 1)
    connection.close()
    until(lambda: sluice.metric("gateway_cache_events_total", event="salvaged") == before + 1)
    answer = sluice.search("paid for")
    assert answer.json()["cached"] is True
    assert answer.header("Cache-Status").startswith("sluice; hit; ttl=")
    assert int(answer.header("Age")) == answer.json()["age_s"]
    assert len(upstream.requests()) == 1


def test_lanes_share_one_call_to_a_provider(sluice, upstream):
    first = sluice.search("Shared Call", providers=["serper"], trace=True).json()
    second = sluice.search("shared call", providers=["serper"], lane="deep", trace=True).json()
    assert second["cached"] is False and second["results"] == first["results"]
    assert [a["detail"] for a in second["attempts"]] == ["result cache"]
    assert len(upstream.requests()) == 1


def test_clients_that_leave_penalise_nobody(sluice, upstream):
    upstream.control("serper", fault="stall")
    for i in range(30):
        connection = Connection(sluice.address)
        connection.send(b"GET /v1/search?q=leaver+%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % i)
        connection.close()
    upstream.control("serper", fixture="ok")
    assert sluice.search("after the leavers").status == 200
    keys = sluice.get("/v1/status").json()["keys"]["serper"]
    assert keys["available"] == 2


def test_without_keys_everything_says_so(upstream):
    gateway = Sluice(upstream, keys=False)
    try:
        assert gateway.get("/healthz").status == 200
        ready = gateway.get("/readyz?need=web")
        assert ready.status == 503 and ready.json()["code"] == "no_usable_key"
        for_titles = gateway.get("/readyz")
        assert for_titles.status == 200 and "sluice keys add" in for_titles.json()["without"]["web"]
        assert "without web searches" in gateway.command("doctor").stdout
        answer = gateway.search("no keys")
        assert answer.status == 503
        assert "SERPER_API_KEYS" in answer.json()["detail"]
        assert "no provider key yet, so web searches" in gateway.output() and "pages: http://127.0.0.1:" in gateway.output()
    finally:
        assert gateway.stop() == 0


def test_the_key_of_a_provider_that_is_switched_off_is_none(upstream):
    """The start, readiness and searches agree on it."""
    off = {f"SLUICE__PROVIDERS__{name}__ENABLED": "false" for name in ("SERPER", "TAVILY")}
    gateway = Sluice(upstream, env=off)
    try:
        assert gateway.get("/readyz").status == 503 and gateway.search("switched off").status == 503
        for lane in ("fast", "deep"):
            assert f"no key for any enabled provider of routing.{lane}" in gateway.output()
    finally:
        assert gateway.stop() == 0


def test_ops_paths(sluice):
    assert sluice.search("something to count").status == 200
    assert sluice.get("/healthz").json() == {"status": "ok"}
    assert sluice.get("/readyz").json() == {"status": "ready"}
    status = sluice.get("/v1/status").json()
    assert set(status) >= {"version", "uptime_s", "scheduler", "cache", "keys", "providers"}
    assert status["keys"]["serper"]["available"] == 2
    # Requests are counted by thread, and show once the thread has added them up.
    until(lambda: b"sluice_http_requests_total" in sluice.get("/metrics").body)
    metrics = sluice.get("/metrics")
    assert metrics.header("Content-Type").startswith("text/plain; version=0.0.4")
    for name in (b"gateway_cache_events_total", b"gateway_provider_latency_ms_bucket",
                 b"sluice_web_attempts_total", b"sluice_http_requests_total"):
        assert name in metrics.body
    page = (ROOT / "docs" / "metrics.md").read_text()
    for family in re.findall(r"^# TYPE (\S+)", metrics.body.decode(), re.M):
        assert f"`{family}`" in page, f"docs/metrics.md says nothing of {family}"
    spec = sluice.get("/openapi.json").json()
    assert spec["openapi"] == "3.1.0" and "/v1/search" in spec["paths"]


TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float), "null": type(None)}


def mismatches(value, schema, spec, path="$"):
    """Where a value is not as a schema of the description has it, as far as the description uses JSON Schema."""
    if "$ref" in schema:
        schema = spec["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, TYPES[name]) and (name == "boolean") == isinstance(value, bool) for name in types):
        return [f"{path}: {value!r} is not {types}"]
    if value not in schema.get("enum", [value]):
        return [f"{path}: {value!r} is none of {schema['enum']}"]
    found = []
    if isinstance(value, dict):
        found += [f"{path}.{name} is missing" for name in schema.get("required", []) if name not in value]
        others = schema.get("additionalProperties", True)
        for name, member in value.items():
            inner = schema.get("properties", {}).get(name, others)
            if inner is False:
                found.append(f"{path}.{name} is not described")
            elif inner is not True:
                found += mismatches(member, inner, spec, f"{path}.{name}")
    if isinstance(value, list):
        found += [m for i, item in enumerate(value) for m in mismatches(item, schema["items"], spec, f"{path}[{i}]")]
    return found


@pytest.fixture
def busy(upstream):
    """With calls that went well, a circuit that is open and a budget."""
    gateway = Sluice(upstream, "[circuit]\nfailure_threshold = 1\n[budgets.gateway]\nusd_day = 5\n")
    upstream.control("serper", fault="refuse")
    assert gateway.search("something to describe").json()["provider"] == "tavily"
    yield gateway
    assert gateway.stop() == 0, gateway.output()


def test_the_status_is_as_the_description_says(busy):
    spec = busy.get("/openapi.json").json()
    answer = spec["paths"]["/v1/status"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    status = busy.get("/v1/status").json()
    assert status["circuits"]["serper"]["state"] == "open" and status["spend"]["limits"] == {"usd_day": 5}
    assert mismatches(status, answer, spec) == []
    del status["scheduler"]["fast"]["running"]
    status["circuits"]["serper"]["state"] = "ajar"
    status["keys"]["serper"]["lost"] = 1
    assert len(mismatches(status, answer, spec)) == 3, "the comparison sees what is wrong"


def test_the_admin_socket_purges_and_the_network_can_not(sluice):
    sluice.search("to be purged")
    assert sluice.post("/admin/cache/purge", {}).status == 404
    answer = call(sluice.socket_path, "POST", "/admin/cache/purge", body={})
    assert answer.status == 200 and answer.json()["purged"] >= 1
    assert sluice.search("to be purged").json()["cached"] is False


def test_trace_context_and_request_ids(sluice):
    sent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    answer = sluice.get("/healthz", {"traceparent": sent, "X-Request-Id": "mine"})
    version, trace, span, flags = answer.header("traceparent").split("-")
    assert (version, trace, flags) == ("00", sent.split("-")[1], "01") and span != sent.split("-")[2]
    assert len(answer.header("X-Request-Id")) == 32


def test_a_foreign_page_can_not_spend_or_read(sluice):
    for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
        answer = sluice.get("/v1/search?q=csrf", headers)
        assert answer.status == 403 and answer.json()["code"] == "foreign_origin"
    rebound = call(sluice.address, "GET", "/v1/search?q=csrf", host="evil.example")
    assert rebound.status == 403
    assert sluice.get("/v1/search?q=csrf", {"Origin": f"http://127.0.0.1"}).status in (200, 403)


def test_marker_key_and_query_are_nowhere(upstream):
    """A secret and a query are in no log line, metric, status or file of the data directory."""
    key, query = "marker-secret-key-83fa2c", "marker-query-5d71e0"
    gateway = Sluice(upstream, env={"SERPER_API_KEYS": key}, args=["--log-level", "debug"])
    try:
        for fixture in ("ok", "auth", "rate_limited", "bad_request"):
            upstream.control("serper", fixture=fixture)
            gateway.search(query, cache="bypass", trace=True)
            gateway.get(f"/v1/search?q={query}&cache=refresh")
        upstream.control("serper", fault="garbage")
        gateway.search(query, cache="bypass")
        gateway.post("/v1/search", {"query": query, "nope": 1})
        pages = [gateway.get(path).body for path in ("/metrics", "/v1/status", "/readyz")]
        files = [path.read_bytes() for path in gateway.data_dir.rglob("*") if path.is_file()]
        gateway.send_signal(signal.SIGHUP)
        gateway.wait_for_line("config_reloaded|config_rejected")
        for text in (*pages, *files, gateway.output().encode()):
            assert key.encode() not in text and query.encode() not in text
    finally:
        assert gateway.stop() == 0
    assert key not in gateway.output() and query not in gateway.output()
