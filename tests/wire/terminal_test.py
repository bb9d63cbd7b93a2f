"""What a gateway that answers anything at all can put on the terminal of `sluice search`: words only."""
import http.server
import json
import threading
import unicodedata

import pytest

from cli_test import run

HOSTILE = "a\x1b[2Jb\x07\x7f\u009bc\u202egpj\u2066d\u200b\u2028e\U000e0041f\r\ng"
RESULT = {"rank": 1, "title": HOSTILE, "url": "https://a.example/\u202e" + HOSTILE, "snippet": HOSTILE}


@pytest.fixture
def answers_with():
    """Serves one body to whoever asks; gives its URL."""
    servers = []

    def serve(body, status=200):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length", 0)))
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def steers(text):
    return sorted({f"U+{ord(c):04X}" for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")})


def raw(value):
    """As JSON in which only what has to be is escaped."""
    return json.dumps(value, ensure_ascii=False).encode()


@pytest.mark.parametrize("args", [[], ["--trace"], ["--json"], ["--explain"], ["--explain", "--json"]])
def test_no_answer_steers_the_terminal(answers_with, args):
    attempt = {"provider": HOSTILE, "outcome": HOSTILE, "latency_ms": 1, "detail": HOSTILE}
    body = {"results": [RESULT], "answer": HOSTILE, "provider": HOSTILE, "attempts": [attempt], "lane": HOSTILE, "strategy": HOSTILE,
            "cache": {"entry": HOSTILE, "mode": HOSTILE}, "route": [{"provider": HOSTILE, "usable": False, "detail": HOSTILE}]}
    result = run("search", "x", "--server", answers_with(raw(body)), *args)
    assert result.returncode == 0, result.stderr
    assert steers(result.stdout + result.stderr) == []
    if "--json" in args:
        assert json.loads(result.stdout) == body, "escapes mean what was there"


@pytest.mark.parametrize("args", [[], ["--json"]])
@pytest.mark.parametrize("body", [raw({"detail": HOSTILE, "code": HOSTILE, "attempts": [{"provider": HOSTILE}]}), HOSTILE.encode(), b"\x1b\xff"])
def test_no_refusal_steers_the_terminal(answers_with, args, body):
    result = run("search", "x", "--server", answers_with(body, 500), *args)
    assert result.returncode == 1
    assert steers(result.stdout + result.stderr) == []
