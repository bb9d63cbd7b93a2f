"""The image, built and run by podman. Its first stage compiles for minutes, so that the package of the build under test
stands in for it here; tools/try_image builds the whole Dockerfile and comes here with the result."""
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import tarfile
import time

import pytest

from debian_root import PATIENCE_S, base, build_package, need, not_tried, run
from wire import ROOT, RUN_LINE, SLUICE, TIMEOUT_S, until

# The whole Dockerfile, on a machine with one core.
WHOLE_PATIENCE_S = 3600
IS_WHOLE = os.environ.get("SLUICE_IMAGE") == "whole"
# What it adds to the Debian below it: libraries (ICU alone has 36 MB), the binary, the archive of the package.
MOST_ADDED_BYTES = 110_000_000
# What `docker stop` waits for.
GRACE_S = 10
NO_LIMIT = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 4096)

OWN_AUTHORITIES = "/usr/local/share/ca-certificates"

# What a namespace of its own is: cgroups in the one way that the runtime knows, addresses that it hands out by itself,
# a loopback interface that is up.
# It ends when its input does, which is when the test does.
NAMESPACE = """
set -e
if [ "$(stat -f -c %T /sys/fs/cgroup)" != cgroup2fs ]; then
    umount -R /sys/fs/cgroup
    mount -t cgroup2 none /sys/fs/cgroup
fi
mkdir -p /var/lib/cni
mount -t tmpfs none /var/lib/cni
python3 -c 'import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 0x41))'
echo there
exec cat
"""


class Podman:
    """podman with storage of its own. What it does to mounts and networks is seen by nobody else."""

    def __init__(self, folder):
        self.folder = folder
        self.namespace = subprocess.Popen(["unshare", "--mount", "--net", "sh", "-c", NAMESPACE], text=True,
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        told = self.namespace.stdout.readline()
        if told != "there\n":
            not_tried(f"a namespace of its own is refused: {told.strip()}")

    def _line(self, words, network):
        enter = ["nsenter", "-t", str(self.namespace.pid), "-m", *(["-n"] if network == "own" else []), "--"]
        return [*enter, "podman", "--root", f"{self.folder}/storage", "--runroot", f"{self.folder}/run", "--tmpdir",
                f"{self.folder}/tmp", "--cgroup-manager", "cgroupfs", "--events-backend", "file", *map(str, words)]

    def does(self, *words, network="own", patience=PATIENCE_S, env=None):
        return subprocess.run(self._line(words, network), capture_output=True, text=True, errors="replace", timeout=patience,
                              stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})

    def run(self, *words, **more):
        done = self.does(*words, **more)
        if done.returncode != 0:
            pytest.fail(f"podman {' '.join(map(str, words))}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}", pytrace=False)
        return done.stdout

    def start(self, name, *words, env=None):
        self.run("run", "-d", "--name", name, *LIMITS, *words, env=env)

    def logs(self, name):
        done = self.does("logs", name)
        return done.stdout + done.stderr

    def status_of(self, path):
        """The status that the published port answers with, asked in the network of the runtime."""
        return subprocess.run(["nsenter", "-t", str(self.namespace.pid), "-n", "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}",
                               f"http://127.0.0.1:8080{path}"], capture_output=True, text=True, timeout=TIMEOUT_S).stdout

    def close(self):
        self.does("rm", "-f", "-a", "-v", "-t", "0")
        self.namespace.stdin.close()
        self.namespace.wait(TIMEOUT_S)
        shutil.rmtree(self.folder, ignore_errors=True)


# Limits that need no privilege which a container might lack itself.
LIMITS = ["--cgroups", "disabled", "--ulimit", f"nofile={NO_LIMIT}:{NO_LIMIT}", "--ulimit", "nproc=2048:2048"]


@pytest.fixture(scope="module")
def podman(tmp_path_factory):
    need("podman", "unshare", "nsenter", "curl")
    there = Podman(tmp_path_factory.mktemp("podman"))
    there.run("import", base(), "docker.io/library/debian:12-slim")
    tried = there.does("run", "--rm", *LIMITS, "--network", "none", "debian:12-slim", "true")
    if tried.returncode != 0:
        there.close()
        not_tried(f"podman runs no container on this machine: {tried.stderr.strip()}")
    yield there
    there.close()


@pytest.fixture(scope="module")
def image(podman, tmp_path_factory):
    """The name of the image. Of podman's two formats only one keeps the health check; docs/operate.md says so."""
    context, dockerfile = ROOT, ROOT / "packaging/Dockerfile"
    if not IS_WHOLE:
        context = tmp_path_factory.mktemp("context")
        (context / "package").mkdir()
        build_package(context / "package")
        shutil.rmtree(context / "package/_CPack_Packages")
        first, last = re.split(r"(?m)^(?=FROM debian:12-slim$)", dockerfile.read_text())
        dockerfile = context / "Dockerfile"
        assert " AS build\n" in first
        dockerfile.write_text(f"FROM scratch AS build\nCOPY package/*.deb /package/\n{last}")
    # Authorities of this machine's own are trusted while building, where something on the way answers for the rest.
    trusted = ["--volume", f"{OWN_AUTHORITIES}:{OWN_AUTHORITIES}:ro"] if os.path.isdir(OWN_AUTHORITIES) else []
    podman.run("build", "--format", "docker", "--isolation", "chroot", "--network", "host", *trusted, "--ulimit",
               f"nofile={NO_LIMIT}:{NO_LIMIT}", "-f", dockerfile, "-t", "sluice", context, network="host",
               patience=WHOLE_PATIENCE_S if IS_WHOLE else 2 * PATIENCE_S)
    return "sluice"


def documented_line():
    """`docker run ...` as the guide has it, which podman takes as it is; what ended is looked at before it is removed."""
    (line,) = re.findall(r"^docker run (.*)$", (ROOT / "docs/operate.md").read_text(), re.M)
    return [word for word in shlex.split(line) if word != "--rm"]


@pytest.fixture
def gateway(podman, image):
    podman.start("gateway", *documented_line(), env={"SERPER_API_KEYS": "a-key-ending-in-1234"})
    until(lambda: podman.status_of("/healthz") == "200")
    yield "gateway"
    podman.does("rm", "-f", "-t", "0", "gateway")
    podman.does("volume", "rm", "-f", "sluice-data")


def stop(podman, name):
    """Stops a container as a runtime does, and returns its exit code."""
    podman.run("stop", "-t", GRACE_S, name)
    return json.loads(podman.run("inspect", name))[0]["State"]["ExitCode"]


def test_the_version_is_that_of_the_build(podman, image):
    assert podman.run("run", "--rm", *LIMITS, "--network", "none", image, "version") == run(SLUICE, "version")


def test_the_documented_line_serves(podman, gateway):
    assert podman.status_of("/readyz") == "200" and podman.status_of("/v1/search?q=x") == "401"
    (token,) = re.findall(r"^\s+(slc_\S+)$", podman.logs(gateway), re.M)
    assert podman.run("exec", gateway, "id", "-u").strip() == "10001"
    assert podman.run("exec", gateway, "stat", "-c", "%u %a", "/data", "/data/keys.db").split() == ["10001", "700", "10001", "600"]
    assert podman.run("exec", gateway, "sluice", "keys", "list").count("1234") == 1, "commands find it by its data directory"
    asked = podman.does("exec", gateway, "sluice", "search", "x", "--token", token, "--server", "http://127.0.0.1:8080")
    assert "401" not in asked.stderr + asked.stdout


def test_the_run_line_of_the_former_image_serves(podman, image):
    """With the name of the image changed, and no key."""
    podman.start("former", "-p", "8080:8080", "-v", "search-gateway-data:/data",
                 *(word for name, value in RUN_LINE.items() for word in ("-e", f"{name}={value}")), image)
    try:
        until(lambda: podman.status_of("/healthz") == "200")
        assert podman.status_of("/readyz?need=web") == "503", "there is no key"
        told = podman.logs("former")
        assert "listens on" in told and not re.search(r"\"event\":\"config|mistake|\"level\":\"error\"", told), told
        assert "keys.db" in podman.run("exec", "former", "ls", "/data").split()
        assert stop(podman, "former") == 0
    finally:
        podman.does("rm", "-f", "-t", "0", "former")
        podman.does("volume", "rm", "-f", "search-gateway-data")


def test_its_health_check_is_in_the_image_and_right(podman, gateway):
    podman.run("healthcheck", "run", gateway)
    podman.run("kill", "--signal", "STOP", gateway)
    assert podman.does("healthcheck", "run", gateway).returncode == 1
    podman.run("kill", "--signal", "CONT", gateway)


def test_it_stops_in_time_and_keeps_its_data(podman, gateway):
    """The second start is as the compose file has it: nothing may be written but the volume, nothing is privileged."""
    before = time.monotonic()
    assert stop(podman, gateway) == 0 and time.monotonic() - before < GRACE_S
    assert "server_stopped" in podman.logs(gateway)
    podman.run("rm", "-f", gateway)
    podman.start("gateway", "--read-only", "--read-only-tmpfs=false", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true",
                 *documented_line())
    until(lambda: podman.status_of("/healthz") == "200")
    assert "1234" in podman.run("exec", gateway, "sluice", "keys", "list")
    assert "slc_" not in podman.logs(gateway), "the admin token is shown once"
    assert stop(podman, gateway) == 0


@pytest.fixture(scope="module")
def files(podman, image, tmp_path_factory):
    """What is in the image beyond the Debian below it."""
    path = tmp_path_factory.mktemp("files") / "image.tar"
    podman.run("create", "--name", "files", image)
    podman.run("export", "-o", path, "files")
    with tarfile.open(path) as ours, tarfile.open(base()) as below:
        known = {member.name.removeprefix("./") for member in below}
        added = {member.name: member for member in ours if member.name not in known}
    path.unlink()
    return added


def test_nothing_is_in_it_that_only_building_needs(files):
    programs = {name.rsplit("/", 1)[1] for name in files if re.match(r"(usr/)?s?bin/.", name)}
    assert "sluice" in programs
    builders = [name for name in programs
                if re.match(r"(cc|c\+\+|gcc|g\+\+|clang|ld|ld\.\w+|mold|make|cmake|cpack|ninja|git|pip|perl|python)\d?(-[\d.]+)?$", name)]
    assert builders == [] and not any(name.startswith(("src/", "package/", "usr/include/", "usr/lib/llvm")) for name in files)
    assert [name for name in files if name.startswith(("tmp/", "root/", "var/lib/apt/lists/", "var/cache/apt/archives/"))
            and files[name].isfile()] == []


def test_what_it_adds_is_safe_and_small(files):
    for name, member in files.items():
        if member.isfile():
            assert not member.mode & 0o6022, f"{name}: {member.mode:o}"
    assert [name for name, member in files.items() if member.isfile() and re.search(r"\.(env|key|pem|git)$", name)
            and not name.startswith(("usr/share/ca-certificates/", "etc/ssl/certs/"))] == []
    assert sum(member.size for member in files.values()) < MOST_ADDED_BYTES


def test_its_layers_hold_no_secret(podman, image):
    told = json.loads(podman.run("inspect", image))[0]
    assert told["Config"]["User"] == "10001:10001" and list(told["Config"]["Volumes"]) == ["/data"]
    assert not re.search(r"(?i)(secret|password|token|api_key)\S*=\S", json.dumps([told["Config"]["Env"], told["History"]]))
