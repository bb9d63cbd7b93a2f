"""The Debian package where it is meant to be: in a Debian 12 that its own systemd booted, with nothing in it but what
the package asks for."""
import re
import shutil
import signal
import subprocess
import time

import pytest

from debian_root import PATIENCE_S, QUIET, base, build_package, need, not_tried, package_of_version, run
from wire import TIMEOUT_S, until

BOOT_S = 60
# As docs/operate.md has it; sudo is not in there.
AS_SERVICE = ["runuser", "-u", "sluice", "--", "sluice"]
CONFIG = ["--config", "/etc/sluice/sluice.toml"]
WATCHDOG_S = 1


class Machine:
    """A system of its own: processes, files, network and services. What leads out of it is what the kernel shares."""

    def __init__(self, tree):
        self.tree = tree
        with open(tree.parent / "console", "w") as console:
            # Ends with the test, whatever ends that.
            self.nspawn = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", "systemd-nspawn", "-q", "-D", tree, "--boot", "--register=no", "--keep-unit",
                 "--private-network", "--console=read-only"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + BOOT_S
        while self.nspawn.poll() is None and time.monotonic() < deadline:
            # At first it is a helper, which ends.
            self.leader = self._child()
            if self.leader and self.does("systemctl", "is-system-running").stdout.strip() in ("running", "degraded"):
                return
        self.stop()
        not_tried("systemd does not boot in a container: " + " / ".join((tree.parent / "console").read_text().splitlines()[-3:]))

    def _child(self):
        pid = self.nspawn.pid
        children = open(f"/proc/{pid}/task/{pid}/children").read().split()
        return int(children[0]) if children else None

    def _inside(self, *words):
        return ["nsenter", "-t", str(self.leader), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", *map(str, words)]

    def does(self, *words, stdin=""):
        """A command in there, which may fail."""
        return subprocess.run(self._inside(*words), capture_output=True, text=True, input=stdin, timeout=PATIENCE_S, env=QUIET)

    def run(self, *words, stdin=""):
        done = self.does(*words, stdin=stdin)
        assert done.returncode == 0, (words, done.stdout, done.stderr, self.journal())
        return done.stdout

    def apt(self, *words):
        return self.run("apt-get", "-y", "-qq", *words)

    def service(self, name):
        """A property of the unit."""
        return self.does("systemctl", "show", "-p", name, "--value", "sluice").stdout.strip()

    def pid(self):
        return int(self.service("MainPID"))

    def journal(self):
        return self.does("journalctl", "-u", "sluice", "-o", "cat", "--no-pager").stdout

    def status_of(self, path, port=8080):
        """The status that the gateway answers with, asked in its network by this machine's client."""
        return subprocess.run(["nsenter", "-t", str(self.leader), "-n", "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}",
                               f"http://127.0.0.1:{port}{path}"], capture_output=True, text=True, timeout=TIMEOUT_S).stdout

    def put(self, path, text, mode=0o644):
        target = self.tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def set_unit(self, text):
        self.put("etc/systemd/system/sluice.service.d/test.conf", f"[Service]\n{text}\n")
        self.run("systemctl", "daemon-reload")

    def stop(self):
        if self.nspawn.poll() is None:
            self.nspawn.send_signal(signal.SIGTERM)
            try:
                self.nspawn.wait(BOOT_S)
            except subprocess.TimeoutExpired:
                self.nspawn.kill()
                self.nspawn.wait()


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    need("systemd-nspawn", "setpriv", "nsenter", "curl")
    return build_package(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="module")
def machine(package, tmp_path_factory):
    tree = tmp_path_factory.mktemp("machine") / "root"
    tree.mkdir()
    run("tar", "-x", "-f", base(), "-C", tree)
    # It is to hold manual pages too.
    (tree / "etc/dpkg/dpkg.cfg.d/99mmdebstrap").unlink()
    (tree / "etc/resolv.conf").unlink(missing_ok=True)
    (tree / "etc/resolv.conf").write_bytes(open("/etc/resolv.conf", "rb").read())
    (tree / "opt/sluice.deb").write_bytes(package.read_bytes())
    # Booted it has no network: what the package needs is fetched before, and installed with it.
    fetch = ("apt-get update -qq && apt-get install -y -qq --no-install-recommends systemd-sysv"
             " && apt-get install -y -qq --no-install-recommends --download-only /opt/sluice.deb")
    run("systemd-nspawn", "-q", "-D", tree, "--register=no", "--keep-unit", "--console=pipe", "sh", "-c", fetch, env=QUIET)
    booted = Machine(tree)
    yield booted
    booted.stop()
    shutil.rmtree(tree)


@pytest.fixture
def service(machine):
    """The package installed as on a fresh machine, and its service running."""
    machine.apt("install", "--no-install-recommends", "/opt/sluice.deb")
    assert machine.service("ActiveState") == "active", machine.run("journalctl", "-n", "30", "--no-pager")
    yield machine
    machine.apt("purge", "sluice")
    (machine.tree / "etc/systemd/system/sluice.service.d/test.conf").unlink(missing_ok=True)
    machine.run("systemctl", "daemon-reload")
    machine.does("systemctl", "reset-failed", "sluice")


def add_key(machine):
    machine.run(*AS_SERVICE, "keys", "add", "serper", *CONFIG, stdin="a-key-ending-in-9876")


def has_key(machine):
    return "9876" in machine.run(*AS_SERVICE, "keys", "list", *CONFIG)


def test_installing_starts_the_service_and_enables_it(service):
    assert service.service("StatusText") == "serving on 127.0.0.1:8080"
    assert service.run("systemctl", "is-enabled", "sluice").strip() == "enabled"
    assert service.status_of("/healthz") == "200"
    assert service.run("stat", "-c", "%U %a", "/var/lib/sluice").split() == ["sluice", "700"]
    files = ("share/man/man1/sluice.1.gz", "share/bash-completion/completions/sluice", "share/zsh/vendor-completions/_sluice",
             "share/fish/vendor_completions.d/sluice.fish", "share/doc/sluice/copyright", "share/doc/sluice/sluice.example.toml")
    for path in files:
        assert (service.tree / "usr" / path).is_file(), path
    assert service.does("systemctl", "--failed", "--quiet").stdout == ""


def test_the_limits_of_the_unit_are_in_force(service):
    pid = service.pid()
    status = dict(re.findall(r"^(\w+):\s*(.*)$", service.run("cat", f"/proc/{pid}/status"), re.M))
    assert status["Uid"].split()[0] == service.run("id", "-u", "sluice").strip()
    assert status["CapEff"] == status["CapBnd"] == status["CapPrm"] == "0" * 16
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert service.run("readlink", f"/proc/{pid}/ns/user") != service.run("readlink", "/proc/1/ns/user")
    for path in ("/usr", "/etc", "/var/lib", "/boot"):
        refused = service.does("nsenter", "-t", pid, "-m", "touch", f"{path}/x")
        assert "Read-only file system" in refused.stderr, (path, refused)
    service.run("nsenter", "-t", pid, "-m", "touch", "/var/lib/sluice/x")
    assert service.run("nsenter", "-t", pid, "-m", "ls", "/home", "/root") == "/home:\n\n/root:\n"
    # In tenths; what is left is that it reaches the network, and its own system calls.
    service.run("systemd-analyze", "security", "--threshold=11", "--no-pager", "sluice")
    service.run("systemd-analyze", "verify", "--man=no", "sluice.service")


def test_reloading_applies_what_changed(service):
    """With what the package brings along: a small system has no /bin/kill."""
    pid = service.pid()
    service.put("etc/sluice/sluice.toml", (service.tree / "etc/sluice/sluice.toml").read_text() + "\n[cache]\nttl_s = 60\n")
    service.run("systemctl", "reload", "sluice")
    until(lambda: "config_reloaded" in service.journal())
    until(lambda: service.service("ActiveState") == "active")
    assert service.pid() == pid


def test_a_service_that_dies_is_started_again(service):
    pid = service.pid()
    service.run("systemctl", "kill", "--signal=KILL", "sluice")
    until(lambda: service.pid() not in (0, pid) and service.service("ActiveState") == "active")
    assert service.service("NRestarts") == "1" and service.status_of("/healthz") == "200"


def test_a_service_that_is_stuck_is_started_again(service):
    service.set_unit(f"WatchdogSec={WATCHDOG_S}")
    service.run("systemctl", "restart", "sluice")
    pid = service.pid()
    service.run("systemctl", "kill", "--signal=STOP", "sluice")
    until(lambda: service.pid() not in (0, pid) and service.service("ActiveState") == "active")
    assert "watchdog" in service.run("journalctl", "--no-pager").lower()


def test_stopping_ends_it_well(service):
    service.run("systemctl", "stop", "sluice")
    assert (service.service("ActiveState"), service.service("Result")) == ("inactive", "success")
    assert "server_stopped" in service.journal()


def test_secrets_come_from_files_that_only_root_reads(service):
    """A key of a provider as a variable, and what keys are encrypted with as a credential, as the unit's own comments
    say it."""
    add_key(service)
    service.run("systemctl", "stop", "sluice")
    service.put("etc/sluice/sluice.env", "SERPER_API_KEYS=a-key-ending-in-1234\n", 0o600)
    service.run("mv", "/var/lib/sluice/secrets.key", "/etc/sluice/secrets.key")
    service.run("chown", "root:root", "/etc/sluice/secrets.key")
    comments = (service.tree / "usr/lib/systemd/system/sluice.service").read_text()
    service.set_unit("\n".join(re.findall(r"^#   (\w+=.*)$", comments, re.M)))
    service.run("systemctl", "start", "sluice")
    assert has_key(service) and "1234" in service.run(*AS_SERVICE, "keys", "list", *CONFIG)
    assert not (service.tree / "var/lib/sluice/secrets.key").exists(), "it made one of its own"
    # Purging leaves alone what the package did not make.
    (service.tree / "etc/sluice/secrets.key").unlink()


def test_a_port_below_1024_needs_what_the_unit_says(service):
    service.put("etc/sluice/sluice.toml", 'data_dir = "/var/lib/sluice"\n[server]\nlisten = ["127.0.0.1:80"]\n')
    assert service.does("systemctl", "restart", "sluice").returncode != 0
    service.does("systemctl", "stop", "sluice")
    service.set_unit("AmbientCapabilities=CAP_NET_BIND_SERVICE\nCapabilityBoundingSet=CAP_NET_BIND_SERVICE\nPrivateUsers=no")
    service.run("systemctl", "start", "sluice")
    assert service.status_of("/healthz", port=80) == "200"


def test_an_upgrade_keeps_data_and_configuration(machine, package, tmp_path):
    (machine.tree / "opt/older.deb").write_bytes(package_of_version(package, "0.0.1", tmp_path).read_bytes())
    machine.apt("install", "--no-install-recommends", "/opt/older.deb")
    add_key(machine)
    config = (machine.tree / "etc/sluice/sluice.toml").read_text() + "# mine\n"
    machine.put("etc/sluice/sluice.toml", config)
    before = machine.pid()
    machine.apt("install", "--no-install-recommends", "/opt/sluice.deb")
    assert machine.run("dpkg-query", "-W", "-f", "${Version}", "sluice") != "0.0.1"
    assert machine.pid() not in (0, before) and machine.status_of("/healthz") == "200" and has_key(machine)
    assert (machine.tree / "etc/sluice/sluice.toml").read_text() == config
    # Who disabled it finds it disabled after the next one.
    machine.run("systemctl", "disable", "--now", "sluice")
    machine.apt("install", "--no-install-recommends", "--allow-downgrades", "/opt/older.deb")
    assert machine.does("systemctl", "is-enabled", "sluice").stdout.strip() == "disabled" and machine.pid() == 0
    machine.apt("purge", "sluice")


def test_removing_keeps_what_purging_removes(machine):
    machine.apt("install", "--no-install-recommends", "/opt/sluice.deb")
    add_key(machine)
    machine.put("etc/sluice/sluice.env", "SERPER_API_KEYS=\n", 0o600)
    pid = machine.pid()
    machine.apt("remove", "sluice")
    assert machine.does("test", "-e", f"/proc/{pid}").returncode != 0
    assert not (machine.tree / "usr/bin/sluice").exists()
    assert (machine.tree / "etc/sluice/sluice.env").exists() and (machine.tree / "var/lib/sluice/keys.db").exists()
    machine.apt("install", "--no-install-recommends", "/opt/sluice.deb")
    assert machine.service("ActiveState") == "active" and has_key(machine)
    machine.apt("purge", "sluice")
    left = machine.run("find", "/etc", "/usr", "/var", "/run", "-xdev", "-path", "/var/log", "-prune", "-o", "-iname", "*sluice*", "-print")
    assert left == "", left
    assert machine.run("id", "-u", "sluice").strip(), "its number could go to another account"
