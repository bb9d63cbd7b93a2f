"""What the wire tests share: the processes they start and a plain HTTP/1.1 client on a socket.

Nothing here sleeps for a fixed time: a process says when it listens, and sockets have timeouts.
"""
import atexit
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SLUICE = os.environ.get("SLUICE_BINARY", str(ROOT / "build" / "dev" / "sluice"))
UPSTREAM = os.environ.get("UPSTREAM_BINARY", str(ROOT / "build" / "dev" / "tests" / "support" / "sluice_upstream"))
TIMEOUT_S = 20


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def header(self, name):
        """The first header of that name, or None."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def headers_of(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]


class Connection:
    """One TCP (or Unix) connection that sends bytes as they are and reads answers one by one."""

    def __init__(self, address, timeout=TIMEOUT_S, source=None):
        """`source` is the address that it comes from, when it matters."""
        if isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(address)
        else:
            self.socket = socket.create_connection(address, timeout, source and (source, 0))
        self.buffer = b""

    def send(self, data):
        self.socket.sendall(data)

    def _more(self):
        data = self.socket.recv(65536)
        self.buffer += data
        return bool(data)

    def _until(self, mark):
        while mark not in self.buffer:
            if not self._more():
                raise EOFError(f"the connection ended within an answer: {self.buffer[:200]!r}")
        part, self.buffer = self.buffer.split(mark, 1)
        return part

    def _exactly(self, count):
        while len(self.buffer) < count:
            if not self._more():
                raise EOFError("the connection ended within a body")
        part, self.buffer = self.buffer[:count], self.buffer[count:]
        return part

    def read(self, head_only=False, interim=False):
        """The next answer. Interim ones (1xx) are passed over unless asked for."""
        while True:
            lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
            status = int(lines[0].split(" ", 2)[1])
            headers = [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:]]
            if status >= 200 or interim:
                break
        answer = Answer(status, headers, b"")
        if not head_only and status >= 200 and status not in (204, 304):
            length = answer.header("Content-Length")
            assert length is not None, "an answer without Content-Length"
            answer.body = self._exactly(int(length))
        return answer

    def at_end(self):
        """Whether the server has closed, with nothing left to read."""
        try:
            return not self.buffer and not self._more()
        except ConnectionResetError:
            return True

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def call(address, method, target, headers=None, body=None, host="127.0.0.1"):
    """One request on a connection of its own."""
    head = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Connection: close"]
    data = b""
    if body is not None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        head.append(f"Content-Length: {len(data)}")
        if not any(key.lower() == "content-type" for key, _ in (headers or {}).items()):
            head.append("Content-Type: application/json")
    head += [f"{key}: {value}" for key, value in (headers or {}).items()]
    with Connection(address) as connection:
        connection.send("\r\n".join(head).encode() + b"\r\n\r\n" + data)
        return connection.read(head_only=method == "HEAD")


def until(condition):
    """Asks `condition`, which is a request to a server, again and again until it is true."""
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not happen"


class Process:
    """A child that is ended by its id when the test is over, at the latest with the last one. Keeps what it writes."""
    started = []

    @staticmethod
    def end_all():
        """What tests that failed left behind."""
        for process in Process.started:
            if process.poll() is None:
                process.kill()
                process.wait()

    def __init__(self, args, env=None):
        clean = {key: value for key, value in os.environ.items()
                 if not key.startswith(("SLUICE__", "SERPER_", "TAVILY_"))}
        self.lines, self.condition, self.ended = [], threading.Condition(), False
        self.told_to_end = False
        self.process = subprocess.Popen([str(arg) for arg in args], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        env={**clean, **(env or {})}, text=True, errors="replace")
        Process.started.append(self.process)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self.condition:
                self.lines.append(line)
                self.condition.notify_all()
        with self.condition:
            self.ended = True
            self.condition.notify_all()

    def output(self):
        with self.condition:
            return "".join(self.lines)

    def wait_for_line(self, pattern):
        """The first match of `pattern` in a line, waiting for it."""
        def found():
            return next(filter(None, (re.search(pattern, line) for line in self.lines)), None)
        with self.condition:
            self.condition.wait_for(lambda: found() or self.ended, TIMEOUT_S)
            match = found()
        assert match, f"no line matches {pattern!r} in:\n{self.output()}"
        return match

    def send_signal(self, number):
        self.told_to_end |= number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)
        self.process.send_signal(number)

    def is_running(self):
        return self.process.poll() is None

    def wait(self):
        """The exit code of a process that ends by itself, or was told to end before."""
        try:
            code = self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the process did not end:\n{self.output()}")
        self.told_to_end = True
        self.reader.join(TIMEOUT_S)
        assert not re.search(r"(?m)^==\d+==ERROR: |runtime error: ", self.output()), self.output()
        return code

    def stop(self, number=signal.SIGTERM):
        """Ends the process and returns its exit code. One that nobody has told to end, and that is gone, is a fault of
        its own: what the test did with it from then on was done without it."""
        ended_by_itself = not self.is_running() and not self.told_to_end
        if self.is_running():
            self.send_signal(number)
        code = self.wait()
        assert not ended_by_itself, f"the process ended by itself, with {code}:\n{self.output()}"
        return code


atexit.register(Process.end_all)


class Upstream(Process):
    """Every paid provider at once, answering from fixtures; see tests/support/upstream_main.cc."""

    def __init__(self):
        super().__init__([UPSTREAM, "--port", "0", "--fixtures", ROOT / "tests" / "cases" / "providers"])
        self.port = int(self.wait_for_line(r"listening 127\.0\.0\.1:(\d+)")[1])
        self.address = ("127.0.0.1", self.port)

    def control(self, provider, **what):
        answer = call(self.address, "POST", "/_control", body={"provider": provider, **what})
        assert answer.status == 200, answer.body

    def requests(self):
        return json.loads(call(self.address, "GET", "/_requests").body)

    def forget(self):
        call(self.address, "DELETE", "/_requests")


def free_port():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return holder.getsockname()[1]


class KeptPort:
    """A port for a server that stops and starts again. Nobody listens there meanwhile, and what other tests start
    finds it taken."""

    def __init__(self):
        self.number, self.holder = free_port(), None

    def keep(self):
        self.holder = socket.socket()
        self.holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.holder.bind(("127.0.0.1", self.number))

    def release(self):
        if self.holder:
            self.holder.close()
            self.holder = None


# How the published image of the former gateway is run, with no key: each variable is known and means what it says.
RUN_LINE = {"GATEWAY_DATABASE_URL": "sqlite+aiosqlite:////data/gateway.db", "GATEWAY_REDIS_URL": "", "GATEWAY_REDIS_REQUIRED": "false",
            "SERPER_API_KEYS": "", "TAVILY_API_KEYS": "", "EXA_API_KEYS": "", "BRAVE_API_KEYS": "", "GOOGLE_CSE_API_KEYS": "",
            "GOOGLE_CSE_ENGINE_ID": ""}


class Redis:
    """A real redis-server without a file on disk. scripts/setup installs it; without it tests fail."""

    def __init__(self, *options):
        self.place = KeptPort()
        self.port = self.place.number
        self.url = f"redis://127.0.0.1:{self.port}"
        self.options = options
        self.folder = tempfile.TemporaryDirectory()  # where a replica puts what it was sent
        self.start()

    def start(self):
        """Also after stop(): on the same port, and empty."""
        self.place.release()
        self.process = Process(["/usr/bin/redis-server", "--port", self.port, "--bind", "127.0.0.1",
                                "--save", "", "--appendonly", "no", "--dir", self.folder.name, *self.options])
        self.process.wait_for_line(r"Ready to accept connections")

    def stop(self, number=signal.SIGKILL):
        self.process.stop(number)
        self.place.keep()

    def send_signal(self, number):
        self.process.send_signal(number)

    def command(self, *words):
        """The reply as redis-cli prints it, without the line break."""
        done = subprocess.run(["/usr/bin/redis-cli", "-p", str(self.port), *map(str, words)],
                              capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
        return done.stdout.rstrip("\n")


class SlowProxy(Process):
    """What comes for its port goes on to `port`, so many seconds later while it is slow; see tests/support/slow_proxy.py."""

    def __init__(self, port, seconds):
        super().__init__([sys.executable, ROOT / "tests" / "support" / "slow_proxy.py", 0, port, seconds])
        self.port = int(self.wait_for_line(r"listening (\d+)")[1])

    def be_slow(self, slow=True):
        self.send_signal(signal.SIGUSR1 if slow else signal.SIGUSR2)


class RedisSentinel:
    """A real sentinel that watches `master` under the name "main" and decides alone that it is down."""

    def __init__(self, master, down_after_ms=1000):
        self.port = free_port()
        self.folder = tempfile.TemporaryDirectory()
        config = pathlib.Path(self.folder.name) / "sentinel.conf"
        config.write_text(f"port {self.port}\nbind 127.0.0.1\ndir {self.folder.name}\n"
                          f"sentinel monitor main 127.0.0.1 {master.port} 1\n"
                          f"sentinel down-after-milliseconds main {down_after_ms}\nsentinel failover-timeout main 5000\n")
        self.process = Process(["/usr/bin/redis-server", config, "--sentinel"])
        self.process.wait_for_line(r"Sentinel ID is")

    def stop(self):
        self.process.stop(signal.SIGKILL)

    command = Redis.command


class Postgres:
    """A real PostgreSQL in a folder of its own. scripts/setup installs it; without it tests fail."""

    def __init__(self):
        programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda bin: int(bin.parent.name))
        assert programs, "scripts/setup test installs postgresql"
        self.programs, self.place, self.databases = programs[-1], KeptPort(), 0
        self.port = self.place.number
        self.folder = tempfile.TemporaryDirectory()
        if os.geteuid() == 0:  # PostgreSQL does not run as root
            shutil.chown(self.folder.name, "postgres", "postgres")
        self.data = pathlib.Path(self.folder.name) / "data"
        made = Process(self._command("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--no-sync",
                                     "-E", "UTF8", "--locale=C.UTF-8"))
        assert made.process.wait(60) == 0, made.output()
        self.start()

    def _command(self, program, *args):
        drop = ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups",
                "--pdeathsig=KILL", "--"]
        return [*(drop if os.geteuid() == 0 else []), self.programs / program, *args]

    def start(self):
        """Also after kill(): on the same port, with what was committed."""
        self.place.release()
        # Children of one that was killed live on for a moment, and until they are gone none starts.
        deadline = time.monotonic() + 60
        while True:
            self.process = Process(self._command("postgres", "-D", self.data, "-p", self.port, "-h", "127.0.0.1",
                                                 "-k", "", "-F"))
            with self.process.condition:
                self.process.condition.wait_for(
                    lambda: self.process.ended or "ready to accept connections" in "".join(self.process.lines), 60)
            if not self.process.ended:
                return
            assert time.monotonic() < deadline, self.process.output()

    def kill(self):
        self.process.stop(signal.SIGKILL)
        self.place.keep()

    def stop(self):
        self.place.release()
        self.process.send_signal(signal.SIGCONT)
        self.send_signal(signal.SIGCONT)
        self.process.stop(signal.SIGQUIT)
        self.folder.cleanup()

    def send_signal(self, number):
        """To the server, and to each of its processes that serves a connection."""
        parent = self.process.process.pid
        self.process.send_signal(number)
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rsplit(") ", 1)[1].split()
                if int(fields[1]) == parent:
                    os.kill(int(stat.parent.name), number)
            except (OSError, IndexError):
                pass  # it ended meanwhile

    def give(self, name, content):
        """A file beside its data that only it can read."""
        path = self.data / name
        path.write_bytes(content)
        path.chmod(0o600)
        if os.geteuid() == 0:
            shutil.chown(path, "postgres", "postgres")

    def make_database(self):
        """The URL of a new one."""
        self.databases += 1
        self.sql(f"CREATE DATABASE test{self.databases}")
        return f"postgresql://postgres@127.0.0.1:{self.port}/test{self.databases}"

    def sql(self, statement, url=None):
        """What psql prints: a row a line, columns with |."""
        url = url or f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        done = subprocess.run([self.programs / "psql", "-AtX", "-v", "ON_ERROR_STOP=1", "-c", statement, url],
                              capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        return done.stdout.rstrip("\n")


class Sluice(Process):
    def __init__(self, upstream=None, settings="", env=None, keys=True, args=(), listen="127.0.0.1:0",
                 routing=True, data_dir=None):
        """`data_dir` stays when the process has ended; without it there is one that does not."""
        self.folder = None if data_dir else tempfile.TemporaryDirectory()
        self.data_dir = pathlib.Path(data_dir or self.folder.name)
        self.config = self.data_dir / "sluice.toml"
        base = f"http://127.0.0.1:{upstream.port}" if upstream else "http://127.0.0.1:9"
        route = '[routing]\nfast = ["serper", "tavily"]\n' if routing else ""
        self.write_config(f"""
{route}[providers.serper]
base_url = "{base}/serper"
[providers.tavily]
base_url = "{base}/tavily"
{settings}
""")
        secrets = {"SERPER_API_KEYS": "serper-test-key-0001,serper-test-key-0002",
                   "TAVILY_API_KEYS": "tvly-test-key-0001"} if keys else {}
        super().__init__([SLUICE, "serve", "--config", self.config, "--data-dir", self.data_dir,
                          "--listen", listen, *args], {**secrets, **(env or {})})
        host, port = self.wait_for_line(r"listens on (127\.0\.0\.1|\[::1?\]):(\d+)").groups()
        self.port = int(port)
        self.address = (host.strip("[]"), self.port)
        self.socket_path = str(self.data_dir / "sluice.sock")

    def write_config(self, text):
        self.config.write_text(text)

    def get(self, target, headers=None):
        return call(self.address, "GET", target, headers)

    def post(self, target, body, headers=None):
        return call(self.address, "POST", target, headers, body)

    def search(self, query, **fields):
        return self.post("/v1/search", {"query": query, **fields})

    def metric(self, name, **labels):
        """The value of one sample at /metrics; 0 when it is not there."""
        for line in self.get("/metrics").body.decode().splitlines():
            match = re.match(r"(\w+)(?:\{(.*)\})? (\S+)$", line)
            if match and match[1] == name:
                found = dict(re.findall(r'(\w+)="([^"]*)"', match[2] or ""))
                if found == labels:
                    return float(match[3])
        return 0.0

    def command(self, *args, env=None, stdin=""):
        """Another command of the binary, beside this server. Returns the completed process."""
        return subprocess.run([SLUICE, *args, "--config", str(self.config), "--data-dir", str(self.data_dir)],
                              capture_output=True, text=True, timeout=TIMEOUT_S, input=stdin,
                              env={**os.environ, **(env or {})})

    def stop(self, number=signal.SIGTERM):
        try:
            return super().stop(number)
        finally:
            if self.folder:
                self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def quote(text):
    return urllib.parse.quote(text, safe="")
