"""Every paid provider through the real binary: what reaches it, what comes back, who honours what, and
that no key is ever seen outside the request that carries it."""
import json
import urllib.parse

import pytest

from wire import Sluice

PROVIDERS = ["serper", "tavily", "exa", "brave", "google_cse"]
KEYS = {name: f"{name.replace('_', '-')}-secret-key-0001" for name in PROVIDERS}
FIRST = "https://kiln.example.com/guides/glaze-chemistry"


@pytest.fixture(scope="module")
def gateway(upstream):
    base = f"http://127.0.0.1:{upstream.port}"
    more = "".join(f'[providers.{name}]\nbase_url = "{base}/{name}"\nenabled = true\n'
                   for name in PROVIDERS if name not in ("serper", "tavily"))
    env = {f"{name.upper()}_API_KEYS": key for name, key in KEYS.items()}
    process = Sluice(upstream, more, {**env, "GOOGLE_CSE_ENGINE_ID": "engine-0001"}, keys=False)
    yield process
    assert process.stop() == 0, process.output()
    for key in KEYS.values():
        assert key not in process.output()


@pytest.fixture(autouse=True)
def healthy(upstream):
    for name in PROVIDERS:
        upstream.control(name, fixture="ok")
    upstream.forget()


@pytest.mark.parametrize("name", PROVIDERS)
def test_answers(gateway, upstream, name):
    body = gateway.search(f"glaze by {name}", providers=[name], trace=True).json()
    assert body["provider"] == name
    assert body["results"][0]["url"] == FIRST
    assert body["results"][0]["provider"] == name
    assert "constraints" not in body
    assert [(a["provider"], a["outcome"]) for a in body["attempts"]] == [(name, "success")]
    sent = upstream.requests()
    assert len(sent) == 1
    assert KEYS[name] in json.dumps(sent[0])
    assert KEYS[name] not in json.dumps(body)


@pytest.mark.parametrize("name", PROVIDERS)
def test_nothing_found_is_an_answer(gateway, upstream, name):
    upstream.control(name, fixture="empty")
    answer = gateway.search(f"nothing by {name}", providers=[name], trace=True)
    assert answer.status == 200
    assert answer.json()["results"] == []
    assert answer.json()["attempts"][0]["outcome"] == "empty"


@pytest.mark.parametrize("name, how", [("serper", "operator"), ("tavily", "provider"), ("exa", "provider"),
                                       ("brave", "operator"), ("google_cse", "provider")])
def test_who_honours_a_domain(gateway, name, how):
    body = gateway.search(f"domain by {name}", providers=[name], include_domains=["kiln.example.com"]).json()
    assert body["constraints"] == [{"constraint": "include_domains", "provider": name, "how": how}]
    assert body["results"][0]["url"] == FIRST


def test_a_long_list_is_filtered_here(gateway, upstream):
    domains = [f"d{n}.example" for n in range(30)] + ["museum.example.org"]
    body = gateway.search("a long list", providers=["brave"], exclude_domains=domains).json()
    assert [c["how"] for c in body["constraints"]] == ["operator", "filter"]
    sites = {result["site"] for result in body["results"]}
    assert "kiln.example.com" in sites and "museum.example.org" not in sites


def test_what_a_plan_lacks_is_left_out_in_a_second_try(gateway, upstream):
    upstream.control("brave", fixture="plan_option", times=1)
    body = gateway.search("a plan without it", providers=["brave"], content=True, trace=True).json()
    assert [a["outcome"] for a in body["attempts"]] == ["plan_limit", "success"]
    assert body["constraints"] == [{"constraint": "content", "provider": "brave", "how": "shortened"}]
    assert ["extra_snippets" in r["target"] for r in upstream.requests()] == [True, False]


def test_a_key_in_the_address_stays_there(gateway, upstream):
    upstream.control("google_cse", fixture="auth", times=1)
    answer = gateway.search("a refused key", providers=["google_cse"], trace=True)
    assert answer.status == 503
    assert answer.json()["attempts"][0]["outcome"] == "auth_failed"
    assert KEYS["google_cse"] not in answer.body.decode()
    target = urllib.parse.urlsplit(upstream.requests()[0]["target"])
    query = urllib.parse.parse_qs(target.query)
    assert query["key"] == [KEYS["google_cse"]] and query["cx"] == ["engine-0001"]
    assert KEYS["google_cse"] not in gateway.get("/metrics").body.decode()


def test_routes_say_what_they_skip(upstream):
    process = Sluice(upstream, env={"SLUICE__ROUTING__DEEP": "wikipedia,tavily"})
    line = process.wait_for_line(r"route_skips_provider.*wikipedia.*not in this version")
    assert line
    assert process.search("a search adds no line").status == 200
    assert process.stop() == 0
    assert process.output().count('"provider":"wikipedia"') == 1, process.output()


def test_google_says_that_it_ends(gateway):
    assert gateway.wait_for_line(r"provider_notice.*google_cse")
