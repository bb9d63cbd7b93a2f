"""Title search on the real binary: every row of its contract, what it costs whom, and what is found."""
import html
import re
import socket
import sqlite3
import urllib.parse

import pytest

from title_search import (EXPECTED, MOST_A_MINUTE, TITLES, Client, bucket, budget_file, counts, fill, published, rows,
                          text_of, text_of_html, told, wait_for_room_in_the_minute)
from wire import Connection, Sluice, call, until


@pytest.fixture
def gateway(tmp_path):
    with published(tmp_path) as running:
        yield running


# ---- what is no search costs nothing -------------------------------------------------------------

@pytest.mark.parametrize("target, status", [
    ("/search", 303),
    ("/search?q=", 303),
    ("/search?q=+++", 303),
    ("/search?q=" + "%20" * 70, 303),
    ("/search?q=%C2%AD%E2%80%8D", 303),           # soft hyphen and joiner: nothing is left
    ("/search?other=kubernetes", 303),
    ("/search?q=&q=kubernetes", 303),             # the first one counts
    ("/search?q=k", 200),
    ("/search?q=%20k%20", 200),
    ("/search?q=%F0%9F%99%82", 200),              # one code point
    ("/search?q=" + "a" * 65, 400),
    ("/search?q=" + "%EF%B7%BA" * 4, 400),        # 4 typed, 72 to be matched
    ("/search?q=ab%00cd", 400),
    ("/search?q=%FF%FE", 400),
    ("/search?q=%ED%A0%80ab", 400),               # half of a surrogate pair
    ("/search?q=ab&format=json", 404),
    ("/search?q=kubernetes&format=", 404),
])
def test_what_is_no_search_is_free(gateway, target, status):
    for method in ("GET", "HEAD"):
        answer = Client(gateway).get(target, method)
        assert answer.status == status, answer.body
        if status == 303:
            assert answer.header("Location") == "/"
    assert rows(budget_file(gateway)) == {}


def test_other_methods_are_refused_for_free(gateway):
    answer = call(gateway.address, "POST", "/search?q=kubernetes", body=b"q=kubernetes",
                  headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert answer.status == 405
    assert {"GET", "HEAD"} <= set(re.split(r",\s*", answer.header("Allow")))
    assert rows(budget_file(gateway)) == {}


def test_nothing_else_takes_part(gateway):
    for target in ("/?q=kubernetes", "/?q=kubernetes&page=2", "/theme/dark?q=kubernetes", "/p/none?q=kubernetes",
                   "/healthz?q=kubernetes", "/v1/pages/search?q=kubernetes"):
        Client(gateway).get(target)
    assert counts(gateway) == (0, 0)


@pytest.mark.parametrize("typed", ["ab", "a" * 64, "日本語", "ＡＢ", "İstanbul", "עברית", "🙂🙂", "e\u0301e\u0301"])
def test_what_is_a_search_is_counted(gateway, typed):
    assert Client(gateway).search(typed).status == 200
    assert counts(gateway) == (1, 1)


# ---- who asks ------------------------------------------------------------------------------------

WALK = [
    ("127.0.0.9", ["198.51.100.1"], "127.0.0.9"),
    ("127.0.0.1", [], "127.0.0.1"),
    ("127.0.0.1", ["198.51.100.1"], "198.51.100.1"),
    ("127.0.0.1", ["6.6.6.6, 198.51.100.1"], "198.51.100.1"),
    ("127.0.0.1", ["198.51.100.1, 10.0.0.2"], "198.51.100.1"),
    ("127.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
    ("127.0.0.1", ["198.51.100.1, junk, 10.0.0.2"], "10.0.0.2"),
    ("127.0.0.1", ["junk"], "127.0.0.1"),
    ("127.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
    ("127.0.0.1", ["::ffff:198.51.100.1"], "198.51.100.1"),
    ("127.0.0.1", ["[2001:db8:1:2:3::9]:443"], "2001:db8:1:2::/64"),
    ("127.0.0.1", ["2001:db8:1:2:ffff::1"], "2001:db8:1:2::/64"),
    ("127.0.0.1", ["198.51.100.01"], "127.0.0.1"),
    ("127.0.0.1", ["6.6.6.6", "198.51.100.1"], "198.51.100.1"),
    ("127.0.0.1", ["198.51.100.1, , 10.0.0.2"], "10.0.0.2"),
    ("127.0.0.1", [", ".join(["198.51.100.1"] + ["10.0.0.2"] * 31)], "198.51.100.1"),
    ("127.0.0.1", [", ".join(["198.51.100.1"] + ["10.0.0.2"] * 32)], "10.0.0.2"),
]


def test_the_client_behind_proxies(tmp_path):
    with Sluice(data_dir=tmp_path, env={"TRUSTED_PROXY_CIDRS": "127.0.0.1/32,10.0.0.0/8,fd00::/8",
                               "SEARCH_LIMIT_MINUTE": "1000", "SEARCH_LIMIT_HOUR": "1000"}) as gateway:
        seen = {}
        for peer, forwarded, client in WALK:
            answer = Client(gateway, peer).search("kubernetes", headers=[f"X-Forwarded-For: {line}" for line in forwarded])
            assert answer.status == 200
            seen[client] = seen.get(client, 0) + 1
            for window in ("min", "hour"):
                assert rows(budget_file(gateway)).get(bucket(window, client)) == seen[client], (peer, forwarded)


WALK_V6 = [
    (["[2001:db8:1:2:3::9]:443"], "2001:db8:1:2::/64"),
    (["2001:db8:1:2:ffff::1, fd00::7"], "2001:db8:1:2::/64"),
    (["198.51.100.1"], "198.51.100.1"),
    (["::ffff:198.51.100.1, ::1"], "198.51.100.1"),
    (["2001:db8:1:2::9, fe80::1%eth0"], "::/64"),
    ([], "::/64"),
]


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_the_client_behind_a_proxy_of_ipv6(tmp_path):
    """Loopback's address stands for that of a proxy. A peer of IPv4 that is mapped into IPv6 is not among them, since none
    comes over TCP: a socket of IPv6 takes only that. What it would be counted as is in tests/unit/io/client_ip_test.cc."""
    env = {"SEARCH_LIMIT_MINUTE": "1000", "SEARCH_LIMIT_HOUR": "1000"}
    with Sluice(data_dir=tmp_path, listen="[::]:0",
                env={"TRUSTED_PROXY_CIDRS": "::1/128,10.0.0.0/8,fd00::/8", **env}) as gateway:
        seen = {}
        for forwarded, client in WALK_V6:
            answer = Client(gateway, "::1").search("kubernetes", headers=[f"X-Forwarded-For: {line}" for line in forwarded])
            assert answer.status == 200
            seen[client] = seen.get(client, 0) + 1
            for window in ("min", "hour"):
                assert rows(budget_file(gateway)).get(bucket(window, client)) == seen[client], forwarded
        with pytest.raises(ConnectionRefusedError):
            Connection(("127.0.0.1", gateway.port))
    (tmp_path / "untrusted").mkdir()
    with Sluice(data_dir=tmp_path / "untrusted", listen="[::1]:0", env={"TRUSTED_PROXY_CIDRS": "fd00::/8", **env}) as gateway:
        answer = Client(gateway, "::1").search("kubernetes", headers=["X-Forwarded-For: 198.51.100.1"])
        assert answer.status == 200
        assert rows(budget_file(gateway)) == {bucket("min", "::/64"): 1, bucket("hour", "::/64"): 1}


def test_a_bad_network_stops_the_start(tmp_path):
    with pytest.raises(AssertionError, match=r"(?s)trusted_proxy_cidrs.*junk"):
        Sluice(data_dir=tmp_path, env={"TRUSTED_PROXY_CIDRS": "10.0.0.0/8,junk"})


# ---- the outcomes --------------------------------------------------------------------------------

def test_found_and_found_again(gateway):
    first = Client(gateway).search("kubrenetes")
    assert first.status == 200 and "Kubernetes deployment checklist" in text_of(first)
    for name, value in (("Cache-Control", "private, no-store"), ("Referrer-Policy", "no-referrer"),
                        ("X-Robots-Tag", "noindex")):
        assert first.header(name) == value
    assert "script-src 'self'" in first.header("Content-Security-Policy")
    again = Client(gateway).search("kubrenetes")
    assert again.status == 200 and again.body == first.body
    assert counts(gateway) == (2, 2)
    assert [line["cache"] for line in told(gateway, 2)] == ["miss", "hit"]


def test_nothing_matches(gateway):
    answer = Client(gateway).search("zzzzqqqq")
    assert answer.status == 200 and "match" in text_of(answer)


def test_the_minute_is_full(gateway):
    wait_for_room_in_the_minute()
    client = Client(gateway)
    for _ in range(MOST_A_MINUTE):
        assert client.search("migration").status == 200
    for method in ("GET", "HEAD"):
        answer = client.search("migration", method=method)
        assert answer.status == 429
        assert 1 <= int(answer.header("Retry-After")) <= 60
    assert counts(gateway) == (MOST_A_MINUTE, MOST_A_MINUTE)
    assert Client(gateway, "127.0.0.2").search("migration").status == 200
    assert client.get("/search?q=k").status == 200, "what costs nothing stays free"


def test_the_hour_is_full(tmp_path):
    wait_for_room_in_the_minute()
    with Sluice(data_dir=tmp_path, env={"SEARCH_LIMIT_HOUR": "5"}) as gateway:
        for _ in range(5):
            assert Client(gateway).search("migration").status == 200
        answer = Client(gateway).search("migration")
        assert answer.status == 429
        assert 1 <= int(answer.header("Retry-After")) <= 3600
        assert counts(gateway) == (5, 5), "the minute got its place back"


def test_the_file_of_counts_is_held_by_somebody(gateway):
    assert Client(gateway).search("migration").status == 200
    holder = sqlite3.connect(budget_file(gateway), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        answer = Client(gateway).search("migration")
        assert answer.status == 503 and answer.header("Retry-After") == "1"
        assert "Kubernetes" not in text_of(answer)
        assert {Client(gateway).search("migration").status for _ in range(100)} == {503}
        waited = gateway.metric("sluice_sqlite_jobs_total", database="search_budget", outcome="failed")
        assert 1 <= waited < 60, "one a second may find out that the file is held"
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    assert counts(gateway) == (1, 1)
    until(lambda: Client(gateway).search("migration").status == 200)
    assert counts(gateway) == (2, 2), "what was refused meanwhile cost nothing"


# ---- what is found -------------------------------------------------------------------------------

def test_the_forty_queries(tmp_path):
    with Sluice(data_dir=tmp_path, env={"SEARCH_LIMIT_MINUTE": "1000", "SLUICE__TITLES__API_LIMIT_MINUTE": "1000"}) as gateway:
        fill(gateway)
        for case in EXPECTED:
            answer = Client(gateway).get("/v1/pages/search?q=" + urllib.parse.quote_plus(case["query"]))
            assert answer.status == 200, answer.body
            best = answer.json()["results"][0]
            assert best["title"] == case["top_title"], case["query"]
            assert best["score"] == pytest.approx(case["top_score"], abs=1e-4)
            page = Client(gateway).search(case["query"])
            assert case["top_title"] in text_of(page)


# A title, what somebody types who looks for it, and whether the two are the same where they are compared.
UNICODE = [
    # combining marks, in what is typed and in the title; accents stay, so that without them it is another word
    ("Crème brûlée für Gäste", "CRE\u0300ME BRU\u0302LE\u0301E FU\u0308R GA\u0308STE", True),
    ("Vie\u0323\u0302t Nam lie\u0302n he\u0323\u0302", "Việt NAM liên hệ", True),
    ("Crème brûlée für Gäste", "creme brulee fuer gaeste", False),
    # the Turkish i's: the dotted capital has a small letter of two code points, the dotless one stays itself
    ("İzmir toplantı notları", "i\u0307zmir TOPLANTı notları", True),
    ("İzmir toplantı notları", "izmir toplanti notlari", False),
    ("Diyarbakır kılavuzu", "DİYARBAKIR KILAVUZU", False),
    # from right to left: marks of direction are nothing, letters of old encodings have their shape in them
    ("מדריך לפרסום מהיר", "\u200fמדריך\u200e לפרסום מהיר\u200f", True),
    ("מדריך לפרסום מהיר", "מהיר פירסום מדריך", False),
    ("دليل النشر السريع", "\ufea9\ufedf\ufef4\ufede \ufe8d\ufedf\ufee8\ufeb8\ufeae \ufe8d\ufedf\ufeb4\ufeae\ufef3\ufeca", True),
    ("\ufdfa arşivi", "صلى الله عليه وسلم ARŞIVI", True),
    # emoji, joined and with a variation selector
    ("\U0001f680 Launch day \U0001f469\u200d\U0001f4bb", "\U0001f680 LAUNCH day \U0001f469\U0001f4bb", True),
    ("\u2764\ufe0f for volunteers", "\u2764 FOR volunteers", True),
    ("\u2615\U0001f370 rota", "\U0001f370\u2615 rotta", False),
    ("\U0001f98a\U0001f43b\U0001f43c", "\U0001f98a\U0001f43b", False),
    # wide and narrow letters, and other blanks
    ("ＡＰＩ\u3000ガイドライン", "api ｶﾞｲﾄﾞﾗｲﾝ", True),
    ("Zwei\u2003\u2003Räume", "\u3000ｚｗｅｉ\u00a0räume ", True),
    # folding that is more than small letters
    ("Straße zum Großmarkt", "STRASSE ZUM GROSSMARKT", True),
    ("Οδηγός για νέους", "ΟΔΗΓΌΣ ΓΙΑ ΝΈΟΥΣ", True),
    ("Die Daten\u00adschutz\u00aderklärung", "die datenschutzerklärung", True),
    ("Oﬃce ﬂoor plan", "office FLOOR plan", True),
]


def test_titles_of_every_script_are_found(tmp_path):
    with Sluice(data_dir=tmp_path, env={"SEARCH_LIMIT_MINUTE": "1000", "SLUICE__TITLES__API_LIMIT_MINUTE": "1000"}) as gateway:
        titles = sorted({title for title, _, _ in UNICODE})
        fill(gateway, [*TITLES, *({"id": 1000 + i, "title": title, "version": 1} for i, title in enumerate(titles))])
        for title, typed, is_same in UNICODE:
            assert typed != title
            answer = Client(gateway).get("/v1/pages/search?q=" + urllib.parse.quote_plus(typed))
            assert answer.status == 200, answer.body
            assert answer.json()["results"], typed
            best = answer.json()["results"][0]
            assert best["title"] == title, typed
            assert (best["score"] == 100) == is_same, (typed, best["score"])
            page = Client(gateway).search(typed)
            first_row = re.search(r"<tbody>\s*<tr>(.*?)</tr>", page.body.decode(), re.S)[1]
            assert title in text_of_html(first_row), typed
            assert f'value="{html.escape(typed)}"' in page.body.decode(), "the form keeps what was typed"
