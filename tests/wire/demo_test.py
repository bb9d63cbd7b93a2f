"""`./run --demo` behind the build: each step shows what it says, and the commands at the end work."""
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time

from wire import SLUICE, Process, call

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAY = ROOT / "demo" / "play"
MINUTE_S = 60


def steps(output):
    """The text of each step, by its number."""
    # Results are numbered too, but lie between the head of a step and its last line.
    return {int(match[1]): match[2] for match in re.finditer(r"^\n(\d)\. [^\n]*\n(.*?^Look: [^\n]*)", output, re.M | re.S)}


def test_each_step_shows_what_it_says():
    result = subprocess.run([PLAY, SLUICE, "--listen", "127.0.0.1:0", "--exit"], capture_output=True, text=True, timeout=MINUTE_S,
                            stdin=subprocess.DEVNULL, cwd="/")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "\x1b" not in result.stdout, "colours where there is no terminal"
    step = steps(result.stdout)
    assert sorted(step) == [1, 2, 3, 4, 5, 6], result.stdout
    assert "results from serper" in step[1] and "cached" not in step[1].split("Look:")[0]
    assert ", cached" in step[2].split("Look:")[0]
    assert "serper: server_error" in step[3] and "brave: success" in step[3] and "results from brave" in step[3]
    assert "results from tavily" in step[4] and "tavily: success" in step[4]
    assert "tavily: would be asked with key" in step[5] and "exa: would be asked with key" in step[5]
    assert ", stale: every provider failed" in step[6] and "tavily: server_error" in step[6] and "exa: connect_error" in step[6]
    for text in step.values():
        assert f"$ {SLUICE} search --server http://127.0.0.1:" in text, "each step prints its command"
    assert "example" in step[1] and not re.search(r"https?://(?!127\.0\.0\.1)(?![\w.-]*example\.(?:com|org|net|edu))", result.stdout)


def test_it_keeps_serving_until_it_is_told_to_stop():
    demo = Process([PLAY, SLUICE, "--listen", "127.0.0.1:0"])
    try:
        url = demo.wait_for_line(r"Serving on http://127\.0\.0\.1:(\d+) until Ctrl-C")
        address = ("127.0.0.1", int(url[1]))
        for target in re.findall(r"curl -s 'http://127\.0\.0\.1:\d+([^']*)'", demo.output()):
            answer = call(address, "GET", target)
            assert answer.status == 200, (target, answer.body)
            if "strategy=merge" in target:
                providers = {origin["provider"] for hit in answer.json()["results"] for origin in hit.get("origins", [])}
                assert providers == {"serper", "brave", "tavily", "exa", "google_cse"}, answer.json()
    finally:
        assert demo.stop(signal.SIGINT) == 0, demo.output()


def test_a_terminal_gets_colours_and_time_to_read_and_the_same_answers():
    master, slave = pty.openpty()
    demo = subprocess.Popen([PLAY, SLUICE, "--exit", "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                            env={**os.environ, "TERM": "xterm"}, start_new_session=True)
    os.close(slave)
    text, until = b"", time.monotonic() + MINUTE_S
    try:
        while b"4. A trace" not in text and time.monotonic() < until:
            if select.select([master], [], [], 1)[0]:
                text += os.read(master, 65536)
        assert b"\x1b[1m1. A search" in text, text
        step = steps(re.sub(r"\x1b\[[0-9;]*m", "", text.decode()).replace("\r\n", "\n"))
        assert ", cached" in step[2].split("Look:")[0], step[2]
        assert "serper: server_error" in step[3] and "brave: success" in step[3], step[3]
        assert "fault serper_fails_once" in step[3], "the made-up key hides no word of the trace"
    finally:
        demo.send_signal(signal.SIGTERM)
        assert demo.wait(MINUTE_S) in (0, 143)
        os.close(master)


def test_an_address_that_is_taken_is_told():
    first = Process([PLAY, SLUICE, "--listen", "127.0.0.1:0"])
    try:
        port = first.wait_for_line(r"answers on http://127\.0\.0\.1:(\d+)")[1]
        second = subprocess.run([PLAY, SLUICE, "--exit", "--listen", f"127.0.0.1:{port}"], capture_output=True, text=True,
                                timeout=MINUTE_S, stdin=subprocess.DEVNULL)
        assert second.returncode == 1 and "another address is chosen with --listen" in second.stderr
    finally:
        first.stop(signal.SIGTERM)
