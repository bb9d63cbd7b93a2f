"""What a provider that misbehaves costs the real binary: no more memory than one answer may have, no
more time than its attempt, one connection; and the next provider answers.

Each provider of the binary is tried with each fault of the test upstream.
"""
import os
import pathlib
import re
import threading

import pytest

from wire import ROOT, Sluice

PROVIDERS = sorted(path.name for path in (ROOT / "tests" / "cases" / "providers").iterdir())
FAULTS = ["stall", "cut", "garbage", "bomb", "huge", "slow", "refuse", "reset", "long_header",
          "many_headers"]
MAX_RESPONSE_BYTES = 8 << 20
# The page's own tables, buffers of the helper's answer, what the allocator keeps.
MEMORY_SLACK = 2 << 20
TIMEOUT_S = 0.5
# A loaded machine is late with everything.
TIME_SLACK_MS = 700


def helper_of(provider):
    return "tavily" if provider == "serper" else "serper"


def settings_for(upstream, provider):
    """The provider first and a good one behind it, neither ever left alone by its circuit."""
    env = {"SLUICE__ROUTING__FAST": f"{provider},{helper_of(provider)}",
           "SLUICE__UPSTREAM__MAX_RESPONSE_BYTES": str(MAX_RESPONSE_BYTES),
           "SLUICE__CIRCUIT__FAILURE_THRESHOLD": "1000",
           "SLUICE__LANES__FAST__DEADLINE_S": "6"}
    for name in {provider, helper_of(provider)}:
        section = f"SLUICE__PROVIDERS__{name.upper()}__"
        env[section + "BASE_URL"] = f"http://127.0.0.1:{upstream.port}/{name}"
        env[section + "ENABLED"] = "true"
        env[f"{name.upper()}_API_KEYS"] = f"{name}-chaos-key-0001"
    if provider == "google_cse":
        env["GOOGLE_CSE_ENGINE_ID"] = "chaos-engine"
    env[f"SLUICE__PROVIDERS__{provider.upper()}__TIMEOUT_S"] = str(TIMEOUT_S)
    return env


class Cost:
    """What a gateway has at one moment, and the most that it had since."""

    def __init__(self, gateway):
        self.pid = gateway.process.pid

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def _status(self, field):
        text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"{field}:\s+(\d+)", text)[1]) << 10

    def memory(self):
        return self._status("VmRSS")

    def peak_memory(self):
        return self._status("VmHWM")

    def forget_peak(self):
        pathlib.Path(f"/proc/{self.pid}/clear_refs").write_text("5")


class Watch:
    """The most descriptors that a gateway had while something went on."""

    def __init__(self, cost):
        self.cost, self.most, self.done = cost, cost.descriptors(), threading.Event()
        self.thread = threading.Thread(target=self._look)

    def _look(self):
        while not self.done.wait(0.002):
            self.most = max(self.most, self.cost.descriptors())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_fault_costs_one_answer_one_attempt_and_one_connection(upstream, provider):
    gateway = Sluice(upstream, keys=False, env=settings_for(upstream, provider))
    try:
        upstream.control(provider, fixture="ok")
        assert gateway.search("warm", providers=[helper_of(provider)]).status == 200
        assert gateway.search("warm").json()["provider"] == provider
        cost = Cost(gateway)
        idle, memory = cost.descriptors(), cost.memory()
        for fault in FAULTS:
            upstream.control(provider, fault=fault)
            cost.forget_peak()
            before = cost.memory()
            with Watch(cost) as watch:
                body = gateway.search(f"{fault} of {provider}", trace=True).json()
            first, second = body["attempts"]
            assert (body["provider"], second["outcome"]) == (helper_of(provider), "success"), fault
            assert first["blame"] == "provider", (fault, first)
            assert first["latency_ms"] <= TIMEOUT_S * 1000 + TIME_SLACK_MS, (fault, first)
            # Its own connection, the client's, and the helper's when that was not kept.
            assert watch.most <= idle + 3, (fault, watch.most, idle)
            grown = cost.peak_memory() - before
            assert grown <= MAX_RESPONSE_BYTES + MEMORY_SLACK, (fault, grown)
        upstream.control(provider, fixture="ok")
        assert gateway.search("well again").json()["provider"] == provider
        assert cost.descriptors() <= idle + 1, "a connection was left behind"
        assert cost.memory() <= memory + MEMORY_SLACK, "memory was left behind"
        status = gateway.get("/v1/status").json()
        assert status["keys"][provider]["available"] == 1, "a key was punished for its provider"
        assert status["keys"][provider]["in_flight"] == 0
    finally:
        assert gateway.stop() == 0


def test_a_provider_that_is_not_there_costs_a_moment(upstream):
    """Nothing listens: the connection itself is refused."""
    gateway = Sluice(upstream, env={"SLUICE__PROVIDERS__SERPER__BASE_URL": "http://127.0.0.1:1"})
    try:
        body = gateway.search("nobody there", trace=True).json()
        assert [a["outcome"] for a in body["attempts"]] == ["connect_error", "success"]
        assert body["attempts"][0]["latency_ms"] <= TIME_SLACK_MS
        assert gateway.get("/v1/status").json()["keys"]["serper"]["available"] == 2
    finally:
        assert gateway.stop() == 0
