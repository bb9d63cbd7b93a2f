"""Gateways whose PostgreSQL dies, hangs, comes back, or is not there when they start."""
import collections
import concurrent.futures
import signal
import statistics
import time

import pytest

from postgres_gateways import OTHER_KEY, SECRET, add_key, add_token, finding, key_ids, postgres, start, state, url  # noqa: F401
from wire import TIMEOUT_S, Postgres, call, until


# One provider has a budget, and of the other one's keys one a quota.
LIMIT = 1000
LIMITED = f"[budgets.providers.tavily]\ncalls_day = {LIMIT}\n"
MOST_WRITTEN_AHEAD = LIMIT // 100
WITH_QUOTA, OF_TAVILY = "serper-wire-secret-with-a-quota", "tavily-wire-secret-4711"
FOR_PEOPLE = ("/", "/search?q=migartion", "/p/migration-plan")
FOR_PROGRAMS = ("/v1/pages", "/v1/pages/search?q=migartion")


def fill(gateway):
    """Keys, and a page."""
    for answer in (add_key(gateway), add_key(gateway, secret=WITH_QUOTA, quota={"limit": LIMIT, "per": "day"}),
                   add_key(gateway, provider="tavily", secret=OF_TAVILY),
                   gateway.post("/v1/pages", {"title": "Migration plan"})):
        assert answer.status == 201, answer.body


def calls_by_key(upstream):
    """How often providers were shown which key."""
    return collections.Counter(value.removeprefix("Bearer ") for request in upstream.requests()
                               for name, value in request["headers"].items() if name.lower() in ("x-api-key", "authorization"))


def check_that_all_works(gateway, upstream, what):
    """While the database is there."""
    upstream.forget()
    for number in range(10):
        assert gateway.search(f"{what} {number}").status == 200
    assert gateway.search(f"{what} with a budget", providers=["tavily"]).status == 200
    assert set(calls_by_key(upstream)) == {SECRET, WITH_QUOTA, OF_TAVILY}
    assert {gateway.get(page).status for page in FOR_PEOPLE + FOR_PROGRAMS} == {200}
    assert gateway.get("/readyz?need=titles").status == gateway.get("/readyz").status == 200


def check_refusal(answer):
    """As a program is told it."""
    assert answer.status == 503 and answer.header("Retry-After"), answer.body
    assert answer.json()["code"] == "unavailable" and answer.json()["blame"] == "gateway"


def check_that_pages_are_away(gateway):
    """For people and for programs alike, who are told when to try again."""
    with concurrent.futures.ThreadPoolExecutor(len(FOR_PEOPLE + FOR_PROGRAMS)) as pool:
        for answer in pool.map(lambda page: gateway.get(page, {"Accept": "text/html"}), FOR_PEOPLE):
            assert answer.status == 503 and answer.header("Retry-After") and b"<h1>" in answer.body, answer.body
        for answer in pool.map(gateway.get, FOR_PROGRAMS):
            check_refusal(answer)


def check_that_it_goes_on(gateway, upstream, what):
    """While the database is away."""
    upstream.forget()
    for number in range(40):
        began = time.monotonic()
        assert gateway.search(f"{what} {number}").status == 200
        assert time.monotonic() - began < TIMEOUT_S / 2
    assert gateway.get("/readyz").status == gateway.get("/readyz?need=web").status == 200
    down = state(gateway)
    assert down["state"] == "down" and down["reason"]
    assert gateway.metric("sluice_postgres_up") == 0
    answer = add_key(gateway, secret="serper-wire-secret-4712")
    assert "database" in answer.json()["detail"]
    check_refusal(answer)
    check_that_pages_are_away(gateway)
    unready = gateway.get("/readyz?need=titles")
    assert unready.status == 503 and "database" in unready.json()["detail"]
    # What is limited can't be written down: when what was written ahead is used up, nothing of it is spent.
    with_a_budget = [gateway.search(f"{what} with a budget {n}", providers=["tavily"], trace=True) for n in range(MOST_WRITTEN_AHEAD + 5)]
    for answer in with_a_budget[MOST_WRITTEN_AHEAD:]:
        assert answer.status == 503 and answer.json()["code"] == "unavailable", answer.body
        (attempt,) = answer.json()["attempts"]
        assert attempt["outcome"] == "skipped_budget" and "budgets.on_store_loss" in attempt["detail"]
    made = calls_by_key(upstream)
    assert made[OF_TAVILY] <= MOST_WRITTEN_AHEAD and made[WITH_QUOTA] <= MOST_WRITTEN_AHEAD, made
    upstream.forget()
    for number in range(10):
        assert gateway.search(f"{what} without a quota {number}").status == 200
    assert calls_by_key(upstream) == {SECRET: 10}


def wait_until_it_is_used_again(gateway, upstream):
    """What was spent meanwhile is written down some moments after the connection is there."""
    until(lambda: state(gateway)["state"] == "up")
    until(lambda: gateway.search(f"used again {time.monotonic()}", providers=["tavily"]).status == 200)

    def spends_a_quota():
        assert gateway.search(f"used again {time.monotonic()}").status == 200
        return WITH_QUOTA in calls_by_key(upstream)
    until(spends_a_quota)


def test_a_database_that_is_killed_stops_no_search_and_is_used_again(postgres, url, upstream, start):
    one, other = start(url, LIMITED), start(url, LIMITED)
    fill(one)
    until(lambda: len(key_ids(other)) == 3)
    for gateway in (one, other):
        check_that_all_works(gateway, upstream, "before it dies")
    try:
        postgres.kill()
        until(lambda: state(one)["state"] == "down" and state(other)["state"] == "down")
        for gateway in (one, other):
            check_that_it_goes_on(gateway, upstream, "while it is dead")
        assert finding(one, url)["finding"] == "bad"
    finally:
        postgres.start()
    for gateway in (one, other):
        wait_until_it_is_used_again(gateway, upstream)
        check_that_all_works(gateway, upstream, "when it is back")
    assert add_key(other, secret="serper-wire-secret-4713").status == 201
    until(lambda: len(key_ids(one)) == 4)
    assert one.output().count('"event":"postgres_unavailable"') == 1
    assert one.output().count('"event":"postgres_available"') == 2


def test_a_database_that_hangs_stops_no_search_and_is_used_again(postgres, url, upstream, start):
    gateway = start(url, LIMITED)
    fill(gateway)
    check_that_all_works(gateway, upstream, "before it hangs")
    postgres.send_signal(signal.SIGSTOP)
    try:
        check_that_pages_are_away(gateway)  # nobody has noticed yet
        until(lambda: state(gateway)["state"] == "down")
        check_that_it_goes_on(gateway, upstream, "while it hangs")
    finally:
        postgres.send_signal(signal.SIGCONT)
    wait_until_it_is_used_again(gateway, upstream)
    check_that_all_works(gateway, upstream, "when it is back")
    assert add_key(gateway, secret="serper-wire-secret-4714").status == 201


@pytest.mark.parametrize("is_noticed", [False, True])
def test_a_database_that_hangs_holds_no_shutdown_up(postgres, url, start, is_noticed):
    """The last figures can't be written: that costs seconds, and nothing that was not written ahead."""
    gateway = start(url, "[server]\ndrain_timeout_s = 1\n", env={"SLUICE__DATABASE__TIMEOUT_S": "60" if not is_noticed else "1"})
    assert add_key(gateway, quota={"limit": LIMIT, "per": "day"}).status == 201
    assert gateway.search("before it hangs").status == 200
    postgres.send_signal(signal.SIGSTOP)
    try:
        assert not is_noticed or until(lambda: state(gateway)["state"] == "down") is None
        assert gateway.stop() == 0, gateway.output()
        assert "the shutdown is stuck" not in gateway.output()
        assert '"event":"server_stopped"' in gateway.output()
    finally:
        postgres.send_signal(signal.SIGCONT)


@pytest.mark.parametrize("what", ["frozen", "killed"])
def test_searches_are_as_fast_without_the_database(postgres, url, upstream, start, what):
    away = Postgres()
    try:
        upstream.control("serper", fixture="ok", delay_ms=10)
        gateways = {"undisturbed": start(url), "alone": start(away.make_database())}
        for gateway in gateways.values():
            assert add_key(gateway).status == 201
        away.kill() if what == "killed" else away.send_signal(signal.SIGSTOP)
        took = {name: [] for name in gateways}
        # In turns, and from the first moment of it on, so that whatever else the machine does hits both.
        for number in range(200):
            for name, gateway in gateways.items():
                began = time.monotonic()
                assert gateway.search(f"speed {number}").status == 200
                took[name].append(time.monotonic() - began)
        until(lambda: state(gateways["alone"])["state"] == "down")
        assert state(gateways["undisturbed"])["state"] == "up"
        assert statistics.median(took["alone"]) <= 1.5 * statistics.median(took["undisturbed"]), took
    finally:
        away.stop()


def test_a_gateway_that_starts_without_its_database_lets_nobody_in_until_it_is_there(postgres, url, start):
    first = start(url)
    assert add_key(first).status == 201
    headers = add_token(first, url)
    try:
        postgres.kill()
        gateway = start(url)
        assert "can't be used" in gateway.output()
        for answer in (gateway.search("nobody knows who asks"), gateway.get("/v1/keys"), gateway.get("/v1/keys", headers),
                       gateway.get("/v1/status"), gateway.get("/readyz"),
                       call(gateway.socket_path, "POST", "/v1/search", body={"query": "nor by the socket"})):
            assert answer.status == 503 and "database" in answer.json()["detail"]
        assert gateway.get("/healthz").status == 200
        assert state(gateway)["reason"] == "connect_failed"
    finally:
        postgres.start()
    until(lambda: gateway.get("/readyz").status == 200)
    assert gateway.search("now it is known").status == 200
    assert gateway.get("/v1/keys").status == 401, "there is a token"
    assert gateway.get("/v1/keys", headers).status == 200


def test_the_first_token_is_made_when_the_database_is_there(postgres, url, start):
    try:
        postgres.kill()
        beyond = [start(url, env={"SLUICE__SERVER__TRUSTED_PROXY_CIDRS": "192.0.2.1/32"}) for _ in range(2)]
        assert all("can't be used" in gateway.output() for gateway in beyond)
        assert not any("admin token" in gateway.output() for gateway in beyond)
    finally:
        postgres.start()
    for gateway in beyond:
        gateway.wait_for_line(r'"event":"start_completed"')
    until(lambda: sum("this admin token is shown once" in gateway.output() for gateway in beyond) == 1)
    shown = next(gateway for gateway in beyond if "this admin token" in gateway.output())
    token = {"Authorization": "Bearer " + shown.wait_for_line(r"^  (slc_\S+)$")[1]}
    for gateway in beyond:
        until(lambda: gateway.get("/v1/keys", token).status == 200)
        assert gateway.get("/v1/keys").status == 401


def test_a_first_token_that_is_made_before_the_end_is_shown(postgres, url, start):
    try:
        postgres.kill()
        gateway = start(url, env={"SLUICE__SERVER__TRUSTED_PROXY_CIDRS": "192.0.2.1/32"})
    finally:
        postgres.start()
    gateway.wait_for_line(r'"event":"start_completed"')
    assert gateway.stop() == 0
    assert "this admin token is shown once" in gateway.output()


def test_a_wrong_secrets_key_that_shows_later_lets_nobody_in(postgres, url, start):
    first = start(url)
    assert add_key(first).status == 201
    try:
        postgres.kill()
        gateway = start(url, env={"SHARED_KEY": OTHER_KEY})
    finally:
        postgres.start()
    gateway.wait_for_line(r'"event":"start_incomplete".*"code":"conflict"')
    assert gateway.get("/readyz").status == 503 and gateway.search("closed").status == 503


def when_a_token_is_made(postgres, url, statement):
    postgres.sql(f"CREATE FUNCTION on_token() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {statement}; RETURN NEW; END $$; "
                 "CREATE TRIGGER on_token BEFORE INSERT ON sluice_token FOR EACH ROW EXECUTE FUNCTION on_token()", url)


def test_a_first_token_that_is_under_way_at_the_end_is_shown(postgres, url, start):
    assert start(url).stop() == 0
    when_a_token_is_made(postgres, url, "PERFORM pg_sleep(1.2)")
    try:
        postgres.kill()
        gateway = start(url, env={"SLUICE__SERVER__TRUSTED_PROXY_CIDRS": "192.0.2.1/32"})
    finally:
        postgres.start()
    until(lambda: postgres.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1")
    assert "this admin token" not in gateway.output()
    assert gateway.stop() == 0
    assert postgres.sql("SELECT count(*) FROM sluice_token", url) == "1"
    assert "this admin token is shown once" in gateway.output()


def test_what_others_change_is_followed_before_there_is_a_first_token(postgres, url, start):
    other = start(url)
    when_a_token_is_made(postgres, url, "RAISE EXCEPTION 'none today'")
    try:
        postgres.kill()
        gateway = start(url, env={"SLUICE__SERVER__TRUSTED_PROXY_CIDRS": "192.0.2.1/32"})
    finally:
        postgres.start()
    gateway.wait_for_line(r'"event":"start_incomplete".*none today')
    until(lambda: add_key(other).status == 201)
    def status():
        return call(gateway.socket_path, "GET", "/v1/status").json()
    until(lambda: status()["keys"]["serper"]["available"] == 1)
    postgres.sql("DROP TRIGGER on_token ON sluice_token", url)
    gateway.wait_for_line(r'"event":"start_completed"')
    until(lambda: "this admin token is shown once" in gateway.output())
