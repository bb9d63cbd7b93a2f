"""Calls through real proxies. Each has a source address of its own, so that the provider sees which one
a call came through."""
import collections
import json
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import threading
import time

import pytest

from wire import SLUICE, TIMEOUT_S, KeptPort, Process, Sluice, until

PASSWORD = "hush-hush-0001"


class Proxy:
    """A proxy on a port of its own that can be stopped and started again."""

    def __init__(self, source):
        self.source, self.place, self.process = source, KeptPort(), None
        self.port = self.place.number

    def start(self):
        self.place.release()
        self.process = Process(self.command())
        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0
        until(listens)
        return self

    def stop(self):
        if self.process:
            self.process.stop(signal.SIGKILL)
            self.process = None
            self.place.keep()


class Tinyproxy(Proxy):
    def __init__(self, source, folder):
        super().__init__(source)
        self.config = folder / f"tinyproxy-{source}.conf"

    def command(self):
        self.config.write_text(f"Port {self.port}\nListen 127.0.0.1\nBind {self.source}\nMaxClients 50\nTimeout 30\n")
        return [shutil.which("tinyproxy") or "/usr/bin/tinyproxy", "-d", "-c", self.config]

    def url(self):
        return f"http://127.0.0.1:{self.port}"


class Microsocks(Proxy):
    def command(self):
        return ["microsocks", "-i", "127.0.0.1", "-p", self.port, "-b", self.source, "-u", "me", "-P", PASSWORD]

    def url(self):
        return f"socks5h://me:{PASSWORD}@127.0.0.1:{self.port}"


class CutOff:
    """A SOCKS proxy that lets everybody in and says of every host that it can't be reached."""

    def __init__(self):
        outer = self
        self.asked = 0

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                self.rfile.read(self.rfile.read(2)[1])
                self.wfile.write(b"\x05\x00")
                kind = self.rfile.read(4)[3]
                self.rfile.read({1: 4, 4: 16}.get(kind) or self.rfile.read(1)[0])
                self.rfile.read(2)
                outer.asked += 1
                self.wfile.write(b"\x05\x04\x00\x01" + bytes(6))

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def url(self):
        return f"socks5h://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def proxies(tmp_path):
    """a, b, c: tinyproxy and two of microsocks, which come from 127.0.0.2, .3 and .4."""
    made = {"a": Tinyproxy("127.0.0.2", tmp_path), "b": Microsocks("127.0.0.3"), "c": Microsocks("127.0.0.4")}
    for proxy in made.values():
        proxy.start()
    yield made
    for proxy in made.values():
        proxy.stop()


@pytest.fixture
def gateway(upstream, proxies):
    """Makes gateways over these proxies."""
    made = []

    def make(policy, more="", egress="", countries=None):
        endpoints = "".join(
            f'[egress.endpoints.{name}]\nurl = "{proxy.url()}"\n' + (
                f'country = "{countries[name]}"\n' if name in (countries or {}) else "")
            for name, proxy in proxies.items())
        process = Sluice(upstream, f'{more}\n[egress]\npolicy = "{policy}"\n{egress}\n{endpoints}')
        made.append(process)
        return process
    yield make
    for process in made:
        assert process.stop() == 0, process.output()
        assert PASSWORD not in process.output()


def probed(upstream, interval="0.1", hold="0.2"):
    return (f'health_check_url = "http://127.0.0.1:{upstream.port}/_requests"\nhealth_interval_s = {interval}\n'
            f"hold_s = {hold}\n")


QUERIES = iter(range(1_000_000))


def search(gateway, **fields):
    """A search that nobody has asked yet: its attempts."""
    answer = gateway.search(f"egress {next(QUERIES)}", trace=True, **fields)
    assert answer.status == 200, answer.body
    return answer.json()["attempts"]


def sources(upstream):
    return [request["peer"] for request in upstream.requests()]


def endpoints(gateway):
    return gateway.get("/v1/status").json()["egress"]["endpoints"]


def states(gateway):
    return {name: endpoint["state"] for name, endpoint in endpoints(gateway).items()}


def test_rotating_spreads(gateway, upstream, proxies):
    process = gateway("rotating")
    named = [search(process)[0]["egress"] for _ in range(60)]
    counts = collections.Counter(sources(upstream))
    assert set(counts) == {"127.0.0.2", "127.0.0.3", "127.0.0.4"}
    assert all(18 <= count <= 22 for count in counts.values()), counts
    assert sources(upstream) == [proxies[name].source for name in named], "the trace names another one"
    assert process.get("/v1/status").json()["egress"]["policy"] == "rotating"
    assert sum(endpoint["calls"] for endpoint in endpoints(process).values()) == 60
    assert process.metric("sluice_egress_calls_total", endpoint="a") == 20
    for text in (process.get("/v1/status").body, process.get("/metrics").body):
        assert PASSWORD.encode() not in text
    assert endpoints(process)["b"]["address"] == f"socks5h://127.0.0.1:{proxies['b'].port}"


def test_static_is_one_for_each_provider(gateway, upstream):
    process = gateway("static")
    for provider in ("serper", "tavily"):
        upstream.forget()
        for number in range(10):
            search(process, providers=[provider], session_id=f"session {number}", country="de")
        assert len(set(sources(upstream))) == 1 and sources(upstream)[0] != "127.0.0.1"


def test_a_provider_has_an_endpoint_of_its_own(gateway, upstream):
    process = gateway("direct", 'egress = "c"')  # the section before is that of tavily
    search(process, providers=["tavily"])
    search(process, providers=["serper"])
    assert sources(upstream) == ["127.0.0.4", "127.0.0.1"]
    assert search(process, providers=["serper"])[0]["egress"] == "direct"


def test_sticky_stays_with_a_session(gateway, upstream, proxies):
    process = gateway("sticky", egress=probed(upstream))
    used = {}
    for number in range(12):
        upstream.forget()
        for _ in range(3):
            search(process, session_id=f"session {number}")
        assert len(set(sources(upstream))) == 1
        used[number] = sources(upstream)[0]
    assert set(used.values()) == {"127.0.0.2", "127.0.0.3", "127.0.0.4"}
    # An endpoint that leaves moves only the sessions that it had.
    proxies["b"].stop()
    until(lambda: states(process)["b"] == "down")
    for number, before in used.items():
        upstream.forget()
        search(process, session_id=f"session {number}")
        now = sources(upstream)
        assert now != ["127.0.0.3"] and (before == "127.0.0.3" or now == [before])


def test_geo_comes_out_in_the_country(gateway, upstream):
    process = gateway("geo", countries={"a": "de", "b": "FR"})
    for country, source in (("de", "127.0.0.2"), ("fr", "127.0.0.3"), ("jp", "127.0.0.4"), (None, "127.0.0.4")):
        upstream.forget()
        search(process, **({"country": country} if country else {}))
        assert sources(upstream) == [source], country


def test_a_dead_proxy_costs_no_search(gateway, upstream, proxies):
    process = gateway("rotating", egress=probed(upstream))
    proxies["b"].stop()
    attempts = [search(process) for _ in range(9)]
    for tries in attempts:
        assert tries[-1]["outcome"] == "success" and tries[-1]["provider"] == "serper", json.dumps(tries)
        assert all((a["egress"], a["outcome"], a["blame"]) == ("b", "connect_error", "gateway") for a in tries[:-1])
        assert len(tries) <= 2
    until(lambda: states(process) == {"a": "up", "b": "down", "c": "up"})
    upstream.forget()
    assert all(len(search(process)) == 1 for _ in range(10))
    assert set(sources(upstream)) == {"127.0.0.2", "127.0.0.4"}
    shown = endpoints(process)["b"]
    assert "proxy" in shown["last_error"] and shown["since"].endswith("Z")
    assert process.metric("sluice_egress_up", endpoint="b") == 0
    assert process.metric("sluice_egress_failures_total", endpoint="b", source="probe") > 0
    # Neither key nor provider has to do with it.
    status = process.get("/v1/status").json()
    assert status["circuits"]["serper"] == {"state": "closed"}
    assert status["keys"]["serper"]["available"] == 2
    # It is back when it works again.
    proxies["b"].start()
    until(lambda: states(process)["b"] == "up")
    process.wait_for_line("egress_endpoint_up")
    assert process.output().count("egress_endpoint_down") == 1
    assert process.output().count("egress_endpoint_up") == 1


def test_a_proxy_that_reaches_nobody_costs_no_circuit(gateway, upstream, proxies):
    """It ends like a proxy before a provider that is gone; the others tell which it is."""
    proxies["b"].stop()
    proxies["b"] = CutOff()
    process = gateway("rotating")
    for _ in range(12):
        tries = search(process, providers=["serper"])
        assert tries[-1]["outcome"] == "success" and len(tries) <= 2, json.dumps(tries)
        assert all((a["egress"], a["outcome"], a["blame"]) == ("b", "connect_error", "gateway") for a in tries[:-1])
    assert proxies["b"].asked == 4 == endpoints(process)["b"]["failures"]
    assert endpoints(process)["b"]["last_error"]
    assert process.get("/v1/status").json()["circuits"]["serper"] == {"state": "closed"}
    # Where no endpoint reaches it, it is the provider.
    for name in "ac":
        proxies[name].stop()
        proxies[name] = CutOff()
    text = process.config.read_text()
    for name in "ac":
        text = re.sub(rf'(endpoints\.{name}\]\nurl = )"[^"]*"', rf'\1"{proxies[name].url()}"', text)
    process.write_config(text)
    process.send_signal(signal.SIGHUP)
    process.wait_for_line("config_reloaded")
    for _ in range(3):
        failed = process.search(f"egress {next(QUERIES)}", trace=True, providers=["serper"])
        assert failed.status in (502, 503), failed.body
    assert process.get("/v1/status").json()["circuits"]["serper"]["state"] == "open"
    assert process.metric("sluice_egress_failures_total", endpoint="b", source="call") == 4


def test_a_flapping_proxy_fails_no_search_and_is_damped(gateway, upstream, proxies):
    hold = 1.0
    process = gateway("rotating", egress=probed(upstream, interval="0.1", hold=str(hold)))
    begun = time.monotonic()
    for _ in range(8):
        proxies["b"].stop()
        for _ in range(6):
            search(process)
        proxies["b"].start()
        for _ in range(6):
            search(process)
    changes = process.output().count("egress_endpoint_")
    assert changes <= 1 + (time.monotonic() - begun) / hold
    assert process.metric("sluice_egress_failures_total", endpoint="b", source="call") > 0, "it was not seen to flap"
    assert process.get("/v1/status").json()["circuits"]["serper"] == {"state": "closed"}


def test_with_all_down_every_one_is_tried(gateway, upstream, proxies):
    process = gateway("rotating", egress=probed(upstream, hold="600"))
    for proxy in proxies.values():
        proxy.stop()
    until(lambda: set(states(process).values()) == {"down"})
    process.wait_for_line("egress_all_down")
    assert process.search("nothing gets out").status in (502, 503)
    # The probes were wrong, or are late: who works is used although it counts as down.
    for proxy in proxies.values():
        proxy.start()
    upstream.forget()
    for _ in range(9):
        search(process)
    assert set(sources(upstream)) == {"127.0.0.2", "127.0.0.3", "127.0.0.4"}
    assert set(states(process).values()) == {"down"}, "nothing comes back before its hold time"
    assert process.output().count("egress_all_down") == 1


def test_without_a_check_nothing_goes_down(gateway, upstream, proxies):
    process = gateway("rotating")
    proxies["b"].stop()
    for _ in range(15):
        tries = search(process)
        assert tries[-1]["provider"] == "serper", json.dumps(tries)
    assert set(states(process).values()) == {"up"}
    assert endpoints(process)["b"]["failures"] == 5
    assert [target for target in (r["target"] for r in upstream.requests()) if "_requests" in target] == []


def test_a_reload_changes_the_way(gateway, upstream, proxies):
    process = gateway("direct")
    search(process)
    assert sources(upstream) == ["127.0.0.1"]
    text = process.config.read_text()
    process.write_config(text.replace('policy = "direct"', 'policy = "static"\n' + probed(upstream)))
    process.send_signal(signal.SIGHUP)
    process.wait_for_line("config_reloaded")
    upstream.forget()
    def goes_through_a_proxy():
        search(process)
        return sources(upstream)[-1] != "127.0.0.1"
    until(goes_through_a_proxy)
    assert "config_needs_restart" not in process.output()
    proxies["a"].stop()
    until(lambda: states(process)["a"] == "down")
    # A policy without endpoints is refused as a whole.
    process.write_config(text[:text.index("[egress.endpoints")].replace("direct", "sticky"))
    process.send_signal(signal.SIGHUP)
    process.wait_for_line("config_rejected")
    assert process.get("/v1/status").json()["egress"]["policy"] == "static"


def test_keys_are_tried_through_it_too(gateway, upstream):
    process = gateway("direct", 'egress = "c"')
    keys = json.loads(process.command("keys", "list", "--json").stdout)["keys"]
    key = next(each["id"] for each in keys if each["provider"] == "tavily")
    assert process.command("keys", "test", key).returncode == 0
    assert sources(upstream) == ["127.0.0.4"]


def test_explain_names_the_way(gateway, upstream):
    process = gateway("direct", 'egress = "b"')
    body = process.search("egress explained", explain=True).json()
    assert [outlook["egress"] for outlook in body["route"]] == ["direct", "b"]
    done = process.command("search", "--explain", "a", "query")
    assert " through b" in done.stdout and " through direct" not in done.stdout
    assert upstream.requests() == []


@pytest.mark.parametrize("text, key, words", [
    ('[egress]\npolicy = "rotating"\n', "egress.policy", "expected at least one endpoint"),
    ('[egress]\npolicy = "geo"\n[egress.endpoints.a]\nurl = "http://h:1"\n', "egress.policy", "with a country"),
    ('[providers.exa]\negress = "nowhere"\n', "providers.exa.egress", "the name of an endpoint"),
    ('[providers.exa]\negress = "londn"\n[egress.endpoints.london]\nurl = "http://h:1"\n', "providers.exa.egress",
     "did you mean 'london'?"),
    (f'[egress.endpoints.a]\nurl = "http://me:{PASSWORD}@nowhere"\n', "egress.endpoints.a.url", "host:port"),
])
def test_check_says_what_is_wrong(tmp_path, text, key, words):
    path = tmp_path / "sluice.toml"
    path.write_text(text)
    done = subprocess.run([SLUICE, "check", "--config", path], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 2
    assert f"{key}: " in done.stderr and words in done.stderr, done.stderr
    assert PASSWORD not in done.stderr


def test_doctor_probes_every_endpoint(gateway, upstream, proxies):
    process = gateway("rotating", egress=probed(upstream))
    done = process.command("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert [checks[f"egress {name}"]["finding"] for name in "abc"] == ["ok"] * 3, done.stdout
    proxies["b"].stop()
    done = process.command("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert [checks[f"egress {name}"]["finding"] for name in "abc"] == ["ok", "bad", "ok"]
    assert done.returncode == 1 and PASSWORD not in done.stdout
    assert PASSWORD not in process.command("check").stdout
    assert PASSWORD not in process.command("check", "--json").stdout
