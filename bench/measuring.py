"""What the benches of served searches share: servers on a core of their own, load, and CPU per request."""
import argparse
import os
import pathlib
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Another folder, named by SLUICE_BUILD, is measured as it is.
BUILD = pathlib.Path(os.environ.get("SLUICE_BUILD", ROOT / "build" / "release"))
SERVER_CORE, LOAD_CORE = "0", "1"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(port, process):
    for _ in range(500):
        if process.poll() is not None:
            raise SystemExit(f"a server ended at start: {process.args}")
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            return
        except OSError:
            time.sleep(0.02)
    raise SystemExit(f"nothing listens on port {port}")


def raise_file_limit(connections):
    """Raises the limit of open files for that many connections; returns how many fit."""
    wanted = connections + 2_000
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))
        return connections
    except (ValueError, PermissionError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return min(connections, hard - 1_000)


class Server:
    """A process on the server core, ended by its id, at the latest with the bench."""
    started = []

    @staticmethod
    def end_all():
        """What is left where a bench ends before its end."""
        for process in Server.started:
            if process.poll() is None:
                process.kill()
                process.wait()

    def __init__(self, args, port, env=None, core=SERVER_CORE, stderr=subprocess.DEVNULL):
        self.port = port
        self.process = subprocess.Popen(["taskset", "-c", core, *map(str, args)],
                                        env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=stderr)
        Server.started.append(self.process)
        wait_for(port, self.process)

    def pids(self):
        pid = self.process.pid
        children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout
        return [pid, *map(int, children.split())]

    def cpu_seconds(self):
        """What the scheduler counted, in nanoseconds: /proc/<pid>/stat has steps of 10 ms, a sixth of a short round."""
        tasks = (task for pid in self.pids() for task in pathlib.Path(f"/proc/{pid}/task").iterdir())
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def rss_anon_kib(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+)", text).group(1))

    def stop(self):
        if self.process.poll() is not None:
            raise SystemExit(f"a server ended by itself: {self.process.args}: the figures mean nothing")
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def counted_by_wrk(out):
    """Of what wrk printed: (requests, those that a socket failed, answers other than 2xx and 3xx)."""
    requests = int(re.search(r"(\d+) requests in", out).group(1))
    broken = sum(map(int, re.findall(r"(?:connect|read|write|timeout) (\d+)", out)))
    refused = int((re.search(r"Non-2xx or 3xx responses: (\d+)", out) or [0, 0])[1])
    return requests, broken, refused


def wrk(url, connections, seconds, script=None):
    """Returns (requests, errors, p50 in ms)."""
    args = ["taskset", "-c", LOAD_CORE, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    if script:
        args += ["-s", str(script)]
    out = subprocess.run([*args, url], capture_output=True, text=True, check=True).stdout
    requests, broken, refused = counted_by_wrk(out)
    errors = broken + refused
    value, unit = re.search(r"50%\s+([\d.]+)(us|ms|s)", out).groups()
    return requests, errors, float(value) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def measure(server, url, connections, seconds, script=None):
    before = server.cpu_seconds()
    requests, errors, p50 = wrk(url, connections, seconds, script)
    if errors:
        raise SystemExit(f"{errors} failed requests at {url}: the figures would mean nothing")
    return (server.cpu_seconds() - before) / requests * 1e6, p50


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.seconds = 2 if args.quick else 5
        self.rounds = 3 if args.quick else 5
        self.misses = []

    def report(self, what, figures, ratio, bound, unit="x"):
        met = ratio <= bound
        if not met:
            self.misses.append(what)
        print(f"{what:<58} {figures:<36} {ratio:7.3f} {unit:<4} bound {bound:g} {'ok' if met else 'NOT MET'}", flush=True)

    def sluice(self, upstream_port, settings="", env=None):
        port = free_port()
        data = tempfile.mkdtemp(dir=self.folder)
        config = pathlib.Path(data) / "sluice.toml"
        config.write_text(f"""
data_dir = "{data}"
[server]
listen = ["127.0.0.1:{port}"]
threads = 1
[routing]
fast = ["serper"]
[providers.serper]
base_url = "http://127.0.0.1:{upstream_port}/serper"
[log]
level = "warn"
{settings}
""")
        keys = {"SERPER_API_KEYS": "bench-key-0001", **(env or {})}
        return Server([BUILD / "sluice", "serve", "--config", config], port, keys)

    def upstream(self, delay_ms):
        port = free_port()
        return Server([BUILD / "tests" / "support" / "sluice_upstream", "--port", port, "--fixtures",
                       ROOT / "tests" / "cases" / "providers", "--delay-ms", delay_ms], port, core=LOAD_CORE)

    def distinct(self, count, word="stoneware"):
        script = pathlib.Path(self.folder) / f"distinct{count}{word}.lua"
        script.write_text(f"""
local n = 0
request = function()
  n = (n + 1) % {count}
  return wrk.format("GET", "/v1/search?q={word}+" .. n)
end
""")
        return script

    def compare(self, what, ours, theirs, connections, bound, script=None, path=None):
        path = path or "/v1/search?q=stoneware"
        mine, peers = [], []
        for n in range(self.rounds):
            # In turns, each first as often as the other: what the machine does meanwhile meets both.
            order = [(mine, ours), (peers, theirs)]
            for figures, server in order if n % 2 == 0 else reversed(order):
                url = f"http://127.0.0.1:{server.port}{path}"
                figures.append(measure(server, url, connections, self.seconds, script)[0])
        ratios = [m / p for m, p in zip(mine, peers)]
        figures = f"{statistics.median(mine):.1f} us / {statistics.median(peers):.1f} us"
        self.report(what, f"{figures} ({min(ratios):.2f} to {max(ratios):.2f})", statistics.median(ratios), bound)


def run(bench_class, doc, parts, targets, left_out_if_quick=()):
    """The command line of a bench: builds the targets, runs the parts (methods), 1 when a bound is not met."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"of: {' '.join(parts)}")
    parser.add_argument("--quick", action="store_true", help="short rounds")
    parser.add_argument("--no-build", action="store_true", help="measure the binaries that are there; so are those of the"
                        " build folder that SLUICE_BUILD names")
    args = parser.parse_args()
    unknown = set(args.parts) - set(parts)
    if unknown:
        parser.error(f"unknown part: {' '.join(unknown)}")
    if not args.no_build and "SLUICE_BUILD" not in os.environ:
        print("building build/release", file=sys.stderr)
        subprocess.run([ROOT / "scripts" / "setup", "test"], check=True)
        for command in (["cmake", "--preset", "release"], ["cmake", "--build", "--preset", "release", "--target", *targets]):
            subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        bench = bench_class(args, folder)
        try:
            for part in args.parts or [p for p in parts if not (args.quick and p in left_out_if_quick)]:
                getattr(bench, part)()
        finally:
            Server.end_all()
    if bench.misses:
        print("bounds not met: " + "; ".join(bench.misses))
        return 1
    return 0
