"""Every way a search request can be wrong, on the real binary: the status, and what the error names."""
import json

import pytest

from wire import Connection, call, quote

# body or JSON text, part of the detail
BAD_BODIES = [
    ("", "body is empty"), ("   ", "body is empty"), ("[]", "JSON object"), ('"text"', "JSON object"),
    ("5", "JSON object"), ("null", "JSON object"), ("{", ""), ('{"query":}', ""), ('{"query":"a"} x', ""),
    ('{"query":"a",}', ""), (b'{"query":"\xff"}', ""), ('{"query":"\\ud800"}', ""), ("{'query':'a'}", ""),
    ('{"query":"a"', ""), ("[" * 100 + "]" * 100, ""), ('{"query":' + "[" * 40 + "]" * 40 + "}", ""),
    ({}, "query: required"), ({"query": None}, "query: required"), ({"query": ""}, "not blank"),
    ({"query": "   "}, "not blank"), ({"query": "\t\n"}, "not blank"), ({"query": 5}, "query: expected a text"),
    ({"query": ["a"]}, "query: expected a text"), ({"query": {}}, "query: expected a text"),
    ({"query": True}, "query: expected a text"), ({"query": "a" * 2001}, "at most 2000 characters"),
    ({"query": "a\u0000b"}, "without NUL"), ({"queri": "a"}, "did you mean 'query'"),
    ({"query": "a", "max_result": 3}, "did you mean 'max_results'"), ({"q": "a"}, "did you mean 'query'"),
    ({"query": "a", "num_results": 3}, "did you mean 'max_results'"), ({"query": "a", "language": "de"}, "did you mean 'locale'"),
    ({"query": "a", "x" * 300: 1}, "unknown field"), ({"query": "a", "": 1}, "unknown field"),
    ({"query": "a", "lane": "slow"}, "lane: expected one of: fast deep"), ({"query": "a", "lane": 1}, "lane: expected a text"),
    ({"query": "a", "lane": "FAST"}, "lane: expected one of"), ({"query": "a", "lane": ""}, "lane: expected one of"),
    ({"query": "a", "max_results": 0}, "from 1 to 50"), ({"query": "a", "max_results": 51}, "from 1 to 50"),
    ({"query": "a", "max_results": -1}, "from 1 to 50"), ({"query": "a", "max_results": 1.5}, "whole number"),
    ({"query": "a", "max_results": "5"}, "whole number"), ({"query": "a", "max_results": True}, "whole number"),
    ('{"query":"a","max_results":99999999999999999999}', ""), ('{"query":"a","max_results":1e2}', "whole number"),
    ({"query": "a", "page": 0}, "from 1 to 100"), ({"query": "a", "page": 101}, "from 1 to 100"),
    ({"query": "a", "locale": "x"}, "language tag"), ({"query": "a", "locale": "de_DE"}, "language tag"),
    ({"query": "a", "locale": "d" * 36}, "language tag"), ({"query": "a", "locale": "-de"}, "language tag"),
    ({"query": "a", "country": "deu"}, "two-letter"), ({"query": "a", "country": "d1"}, "two-letter"),
    ({"query": "a", "country": ""}, "two-letter"), ({"query": "a", "freshness": "hour"}, "day, week, month, year"),
    ({"query": "a", "freshness": "2026-01-01"}, "day, week"), ({"query": "a", "freshness": "2026-13-01..2026-12-01"}, "day, week"),
    ({"query": "a", "freshness": "2026-02-29..2026-03-01"}, "day, week"), ({"query": "a", "freshness": "2026-02-01..2026-01-01"}, "not after"),
    ({"query": "a", "freshness": "2026-01-01.."}, "day, week"), ({"query": "a", "topic": "sport"}, "topic: expected one of"),
    ({"query": "a", "answer": "yes"}, "true or false"), ({"query": "a", "answer": 1}, "true or false"),
    ({"query": "a", "content": "true"}, "true or false"), ({"query": "a", "trace": "no"}, "true or false"),
    ({"query": "a", "include_domains": "a.example"}, "list of texts"), ({"query": "a", "include_domains": [1]}, "list of texts"),
    ({"query": "a", "include_domains": ["nodots"]}, "host names"), ({"query": "a", "include_domains": ["a..b"]}, "host names"),
    ({"query": "a", "include_domains": [".a.b"]}, "host names"), ({"query": "a", "include_domains": ["a b.c"]}, "host names"),
    ({"query": "a", "include_domains": ["https://a.example"]}, "host names"), ({"query": "a", "include_domains": [""]}, "host names"),
    ({"query": "a", "include_domains": ["a.example/x"]}, "host names"), ({"query": "a", "include_domains": ["x" * 260 + ".com"]}, "host names"),
    ({"query": "a", "include_domains": [f"d{i}.example" for i in range(301)]}, "at most 300"),
    ({"query": "a", "exclude_domains": ["a b"]}, "host names"),
    ({"query": "a", "include_domains": ["a.example"], "exclude_domains": ["A.example"]}, "in both"),
    ({"query": "a", "providers": ["serpr"]}, "did you mean serper"), ({"query": "a", "providers": "serper"}, "list of texts"),
    ({"query": "a", "providers": [""]}, "expected names out of"), ({"query": "a", "strategy": "magic"}, "strategy: expected one of"),
    ({"query": "a", "safe_search": "on"}, "safe_search: expected one of"), ({"query": "a", "session_id": "s" * 129}, "at most 128"),
    ({"query": "a", "session_id": 7}, "expected a text"), ({"query": "a", "cache": "no"}, "cache: expected one of"),
    ('{"query":"a","query":"b"}', "given twice"), ({"query": "a", "search_after_date_filter": "2026-01-01"}, "MM/DD/YYYY"),
    ({"query": "a", "search_before_date_filter": "13/40/2026"}, "MM/DD/YYYY"), ({"query": "a", "search_domain_filter": ["-"]}, "host names"),
    ({"query": "a", "search_recency_filter": "hour"}, "expected one of"), ({"query": "a", "max_tokens_per_page": 0}, "from 1 to"),
]

BAD_TARGETS = [
    ("", "query: required"), ("?", "query: required"), ("?q=", "not blank"), ("?q=%20", "not blank"), ("?q=+", "not blank"),
    ("?q=%", "percent-encoded"), ("?q=%zz", "percent-encoded"), ("?q=%ff", "percent-encoded"), ("?q=%ed%a0%80", "percent-encoded"),
    ("?q=a%00b", "without NUL"), ("?q=a&q=b", "given twice"), ("?q=a&query=b", "given twice"), ("?q=a&lane=slow", "lane"),
    ("?q=a&max_results=ten", "whole number"), ("?q=a&max_results=5x", "whole number"), ("?q=a&max_results=51", "from 1 to 50"),
    ("?q=a&answer=maybe", "true or false"), ("?q=a&unknown=1", "unknown field"), ("?q=a&pag=2", "did you mean 'page'"),
    ("?q=a&include_domains=nodots", "host names"), ("?q=a&providers=tavly", "did you mean tavily"), ("?=x&q=a", "unknown field"),
    ("?q=" + "a" * 2001, "at most 2000"),
]

GOOD_BODIES = [
    {"query": "a" * 2000}, {"query": "ok", "lane": None, "max_results": None}, {"query": " padded "}, {"query": "日本語 検索"},
    {"query": "ok", "include_domains": []}, {"query": "ok", "include_domains": ["Example.COM", "münchen.example"]},
    {"query": "ok", "freshness": "2026-01-01..2026-02-01"}, {"query": "ok", "freshness": "week"}, {"query": "ok", "country": "DE", "locale": "de-DE"},
    {"query": "ok", "topic": "news"}, {"query": "ok", "max_results": 50}, {"query": "ok", "providers": ["tavily", "serper", "tavily"]},
    {"query": "ok", "search_domain_filter": ["a.example"], "max_tokens_per_page": 512, "search_tool_name": "x"},
    {"query": "ok", "search_recency_filter": "month"}, {"query": "ok", "safe_search": "strict"}, {"query": "ok", "session_id": "s"},
]


@pytest.mark.parametrize("body, detail", BAD_BODIES, ids=range(len(BAD_BODIES)))
def test_bad_body(sluice, upstream, body, detail):
    data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    answer = sluice.post("/v1/search", data)
    assert answer.status == 400, answer.body
    problem = answer.json()
    assert problem["code"] == "invalid_request" and problem["blame"] == "caller"
    assert detail in problem["detail"], problem["detail"]
    assert answer.header("Content-Type") == "application/problem+json"
    assert upstream.requests() == [], "a malformed request reached a provider"


@pytest.mark.parametrize("query, detail", BAD_TARGETS, ids=range(len(BAD_TARGETS)))
def test_bad_target(sluice, query, detail):
    answer = sluice.get("/v1/search" + query)
    assert answer.status == 400, answer.body
    assert detail in answer.json()["detail"], answer.json()["detail"]


@pytest.mark.parametrize("body", GOOD_BODIES, ids=range(len(GOOD_BODIES)))
def test_good_body(sluice, body):
    answer = sluice.post("/v1/search", body)
    assert answer.status == 200, answer.body


@pytest.mark.parametrize("query", ["?q=a&lane=&max_results=", "?q=a&answer=True&trace=1", "?q=%E6%97%A5%E6%9C%AC",
                                   "?q=a+b&include_domains=a.example,b.example", "?query=a", "?&q=a&", "?q=a&freshness=day"])
def test_good_target(sluice, query):
    assert sluice.get("/v1/search" + query).status == 200


@pytest.mark.parametrize("method, target, headers, status, code", [
    ("GET", "/nowhere", {}, 404, "not_found"), ("GET", "/v1/search/", {}, 404, "not_found"), ("GET", "/v1/Search?q=a", {}, 404, "not_found"),
    ("GET", "/v1%2Fsearch?q=a", {}, 404, "not_found"), ("PUT", "/v1/search", {}, 405, "method_not_allowed"),
    ("DELETE", "/v1/search", {}, 405, "method_not_allowed"), ("POST", "/healthz", {}, 405, "method_not_allowed"),
    ("BREW", "/v1/search", {}, 405, "method_not_allowed"), ("GET", "/v1/search?q=a", {"Accept": "text/html"}, 406, "not_acceptable"),
    ("GET", "/v1/search?q=a", {"Accept": "image/*, text/html"}, 406, "not_acceptable"),
    ("POST", "/v1/search", {"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
    ("POST", "/v1/search", {"Content-Type": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"),
    ("POST", "/v1/search", {"Content-Type": "multipart/form-data; boundary=x"}, 415, "unsupported_media_type"),
    ("POST", "/v1/search", {"Content-Type": "application/xml"}, 415, "unsupported_media_type"),
])
def test_method_path_and_types(sluice, method, target, headers, status, code):
    body = {"query": "a"} if method in ("POST", "PUT", "BREW") else None
    answer = call(sluice.address, method, target, headers, body)
    assert (answer.status, answer.json()["code"]) == (status, code)
    if status == 405:
        assert answer.header("Allow")


@pytest.mark.parametrize("headers", [
    {"Accept": "*/*"}, {"Accept": "application/*"}, {"Accept": "text/html, application/json;q=0.5"}, {},
])
def test_accept_that_takes_json(sluice, headers):
    assert sluice.get("/v1/search?q=accept", headers).status == 200


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON",
                                          "application/vnd.api+json", "text/json", ""])
def test_content_types_that_are_json(sluice, content_type):
    assert sluice.post("/v1/search", {"query": "type"}, {"Content-Type": content_type}).status == 200


def test_options_and_head(sluice):
    options = call(sluice.address, "OPTIONS", "/v1/search")
    assert options.status == 204
    assert options.header("Allow") == "GET, HEAD, OPTIONS, POST"
    got = sluice.get("/v1/search?q=head")
    head = call(sluice.address, "HEAD", "/v1/search?q=head")
    assert head.status == 200 and head.body == b""
    assert head.header("Content-Type") == got.header("Content-Type")


def test_an_unknown_field_never_quotes_control_bytes(sluice):
    answer = sluice.post("/v1/search", {"query": "a", "\u001b[31mred'\n": 1})
    assert answer.status == 400
    assert "\x1b" not in answer.json()["detail"] and "\n" not in answer.json()["detail"]
