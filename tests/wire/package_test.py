"""What is shipped: the Debian package as it is built, put in, taken out and purged below a folder, the
unit under systemd's own checks, and the files for containers."""
import os
import re
import shlex
import shutil
import stat
import subprocess

import pytest

from debian_root import BUILD, PATIENCE_S, build_package, run
from wire import ROOT, RUN_LINE, SLUICE, Sluice, call

PACKAGING = ROOT / "packaging"


@pytest.mark.parametrize("script", ["run", "packaging/Dockerfile"])
def test_only_testing_needs_the_packages_of_tests(script, tmp_path):
    """Both install what `scripts/setup build` does, where neither GoogleTest nor benchmark is."""
    (line,) = re.findall(r"cmake --preset release\b[^&\\\n]*", (ROOT / script).read_text())
    run(*line.split(), "-B", tmp_path, "-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON", cwd=ROOT)


def fetch_rapidfuzz(root, tools):
    """scripts/fetch-rapidfuzz of a tree, with nothing but `tools` on the PATH: no network, no Python."""
    for name in ["bash", "dirname", "cat"]:
        (tools / name).symlink_to(shutil.which(name))
    return subprocess.run([root / "scripts" / "fetch-rapidfuzz"], capture_output=True, text=True, timeout=PATIENCE_S,
                          env={"PATH": str(tools)})


def test_headers_that_are_there_are_not_fetched_again(tmp_path):
    fetched = fetch_rapidfuzz(ROOT, tmp_path)
    assert (fetched.returncode, fetched.stdout, fetched.stderr) == (0, "", "")


def test_fetching_headers_names_what_it_lacks(tmp_path):
    tree, tools = tmp_path / "tree", tmp_path / "tools"
    (tree / "scripts").mkdir(parents=True)
    tools.mkdir()
    shutil.copy(ROOT / "scripts" / "fetch-rapidfuzz", tree / "scripts")
    fetched = fetch_rapidfuzz(tree, tools)
    assert fetched.returncode == 1 and "apt-get install python3-pip" in fetched.stderr, fetched.stderr
    assert not (tree / ".deps").exists()


def test_a_build_without_the_headers_names_the_remedy(tmp_path):
    failed = subprocess.run(["cmake", "--preset", "release", "-B", tmp_path, f"-DSLUICE_RAPIDFUZZ_DIR={tmp_path}"],
                            capture_output=True, text=True, timeout=PATIENCE_S, cwd=ROOT)
    assert failed.returncode != 0 and "run scripts/setup" in " ".join(failed.stderr.split()), failed.stderr


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return build_package(tmp_path_factory.mktemp("package"))


@pytest.mark.parametrize("there", [[], ["file"], ["dpkg-shlibdeps"]])
def test_no_package_without_its_dependencies(there, tmp_path):
    """As on a machine that has what building needs, and neither dpkg-dev nor file, or one of them."""
    cpack, tools, made = shutil.which("cpack"), tmp_path / "tools", tmp_path / "made"
    tools.mkdir()
    for name in there:
        (tools / name).symlink_to(shutil.which(name))
    failed = subprocess.run([cpack, "--config", BUILD / "CPackConfig.cmake", "-G", "DEB", "-B", made,
                             "-D", "CMAKE_FIND_USE_CMAKE_SYSTEM_PATH=FALSE"],
                            capture_output=True, text=True, timeout=PATIENCE_S, env={"PATH": str(tools)})
    told = " ".join(failed.stderr.split())  # CMake breaks lines
    assert failed.returncode != 0 and "apt-get install dpkg-dev file" in told, told
    assert not list(made.glob("*.deb"))


def test_the_image_has_what_packing_needs():
    """Of a small Debian, where neither is."""
    built = " ".join(rest for name, rest in instructions() if name == "RUN" and "scripts/setup build" in rest)
    assert {"dpkg-dev", "file"} <= set(built.split())


@pytest.mark.parametrize("strip, strips", [("/usr/bin/strip", False), (shutil.which("llvm-strip-19"), True)])
def test_what_was_laid_out_is_stripped_by_llvm_or_not_at_all(strip, strips, tmp_path):
    """The other one leaves a binary that ends at once."""
    run("cmake", "--preset", "release", "-B", tmp_path, f"-DCMAKE_STRIP={strip}", "-DSLUICE_TESTS=OFF", cwd=ROOT)
    assert ('set(CPACK_STRIP_FILES "ON")' in (tmp_path / "CPackConfig.cmake").read_text()) == strips


@pytest.fixture(scope="module")
def tree(package, tmp_path_factory):
    """What is in the package."""
    folder = tmp_path_factory.mktemp("tree")
    run("dpkg-deb", "-x", package, folder)
    return folder


def test_the_package_has_these_files_and_no_others(package):
    listed = {}
    for line in run("dpkg-deb", "-c", package).splitlines():
        mode, owner, *_, path = line.split()
        assert owner == "root/root", line
        if not mode.startswith("d"):
            listed[path.removeprefix(".")] = mode
    assert listed == {
        "/etc/sluice/sluice.toml": "-rw-r--r--",
        "/usr/bin/sluice": "-rwxr-xr-x",
        "/usr/lib/systemd/system/sluice.service": "-rw-r--r--",
        "/usr/lib/sysusers.d/sluice.conf": "-rw-r--r--",
        "/usr/share/bash-completion/completions/sluice": "-rw-r--r--",
        "/usr/share/doc/sluice/changelog.gz": "-rw-r--r--",
        "/usr/share/doc/sluice/copyright": "-rw-r--r--",
        "/usr/share/doc/sluice/sluice.example.toml": "-rw-r--r--",
        "/usr/share/fish/vendor_completions.d/sluice.fish": "-rw-r--r--",
        "/usr/share/lintian/overrides/sluice": "-rw-r--r--",
        "/usr/share/man/man1/sluice.1.gz": "-rw-r--r--",
        "/usr/share/zsh/vendor-completions/_sluice": "-rw-r--r--",
    }


def test_the_package_names_what_it_needs(package):
    def field(name):
        return run("dpkg-deb", "-f", package, name).strip()
    assert field("Package") == "sluice" and field("Version") == run(SLUICE, "version").split()[1]
    assert field("Architecture") == run("dpkg", "--print-architecture").strip()
    assert "search providers" in field("Description").splitlines()[0] and "failover" in field("Description")
    needed = field("Depends")
    for library in ("libc6", "libcurl4", "libsqlite3-0", "libsystemd0", "libsodium23", "ca-certificates", "systemd |"):
        assert library in needed, needed


def test_lintian_has_nothing_to_say(package):
    """Where it is wrong the package says so (packaging/debian/lintian-overrides)."""
    told = run("lintian", "--fail-on", "error,warning", "--allow-root", package)
    assert told == "", told


def test_the_packaged_binary_and_configuration_work(tree):
    assert run(tree / "usr/bin/sluice", "version") == run(SLUICE, "version")
    shown = run(tree / "usr/bin/sluice", "check", "--config", tree / "etc/sluice/sluice.toml")
    assert "/var/lib/sluice" in shown and "127.0.0.1:8080" in shown


def test_the_packaged_binary_needs_no_memory_that_the_unit_refuses(tree):
    """Executable stacks: where a binary does not say that it wants none, the C library makes each of them so."""
    assert re.search(r"GNU_STACK +\S+ +\S+ +\S+ +\S+ +\S+ +RW +0x", run("readelf", "-lW", tree / "usr/bin/sluice"))


@pytest.fixture
def root(tmp_path):
    """A file system for dpkg to work on, as whoever runs the test."""
    for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log", "etc"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status").write_text("")
    (tmp_path / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (tmp_path / "etc/group").write_text("root:x:0:\n")
    return tmp_path


def dpkg(root, *args):
    """Maintainer scripts run with DPKG_ROOT in place of a changed root; libraries are not in there."""
    return run("fakeroot", "dpkg", f"--root={root}", "--force-script-chrootless", "--force-depends", "--force-not-root",
               *args, env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})


def test_from_installation_to_purge(package, root):
    dpkg(root, "-i", package)
    assert re.search(r"^sluice:x:\d+:\d+:Sluice search gateway:/var/lib/sluice:/usr/sbin/nologin$",
                     (root / "etc/passwd").read_text(), re.M)
    config, data = root / "etc/sluice/sluice.toml", root / "var/lib/sluice"
    assert config.is_file() and (root / "usr/bin/sluice").is_file()
    # What an administrator changed outlives an upgrade, here to the same version.
    config.write_text("# mine\n")
    data.mkdir()
    (data / "keys.db").write_text("precious")
    dpkg(root, "-i", package)
    assert config.read_text() == "# mine\n"
    dpkg(root, "-r", "sluice")
    assert not (root / "usr/bin/sluice").exists()
    assert config.read_text() == "# mine\n" and (data / "keys.db").read_text() == "precious"
    dpkg(root, "-P", "sluice")
    assert not config.exists() and not data.exists()
    assert "sluice:" in (root / "etc/passwd").read_text(), "its number could go to another account"


@pytest.mark.parametrize("script", ["postinst", "prerm", "postrm"])
def test_maintainer_scripts_are_plain_shell(script):
    run("dash", "-n", PACKAGING / "debian" / script)
    assert os.access(PACKAGING / "debian" / script, os.X_OK)


@pytest.fixture
def unit(tmp_path):
    """The unit as it would be on a machine where the package is installed."""
    text = (PACKAGING / "sluice.service").read_text()
    path = tmp_path / "sluice.service"
    path.write_text(text.replace("/usr/bin/sluice", SLUICE).replace("man:sluice(1)", "man:systemd(1)"))
    return path


def test_the_unit_is_right_and_locked_down(unit):
    verified = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, timeout=PATIENCE_S)
    assert verified.returncode == 0 and unit.name not in verified.stderr, verified.stderr
    # In tenths; what is left is that it reaches the network, and its own system calls.
    run("systemd-analyze", "security", "--offline=true", "--threshold=11", unit)


def test_the_unit_gives_the_gateway_what_it_needs(unit):
    """Of what the unit takes away, memory that is written and executed is what a library might miss."""
    options = dict(re.findall(r"^(\w+)=(.*)$", unit.read_text(), re.M))
    assert options["Type"] == "notify" and int(options["WatchdogSec"]) > 0
    assert options["ConditionPathExists"] == "/etc/sluice/sluice.toml"
    assert options["StateDirectory"] == "sluice" and 'data_dir = "/var/lib/sluice"' in (PACKAGING / "sluice.toml").read_text()
    assert int(options["TimeoutStopSec"]) > 15 + 3, "longer than server.drain_timeout_s and the grace after it"


def instructions():
    text = re.sub(r"\\\n\s*", " ", (PACKAGING / "Dockerfile").read_text())
    return [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]


def image_environment():
    words = [word for name, rest in instructions() if name == "ENV" for word in shlex.split(rest)]
    return dict(word.split("=", 1) for word in words)


def test_the_image_is_built_with_care():
    found = instructions()
    assert {rest.split()[0] for name, rest in found if name == "FROM"} == {"debian:12-slim"}
    assert "ADD" not in [name for name, _ in found]
    last = [(name, rest) for name, rest in found[max(i for i, (name, _) in enumerate(found) if name == "FROM"):]]
    (user,) = [rest for name, rest in last if name == "USER"]
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user), "numbers, which runtimes can tell from root's"
    assert f"--uid {user.split(':')[0]} " in " ".join(rest for name, rest in last if name == "RUN")
    copied = [rest for name, rest in last if name == "COPY"]
    assert all(rest.startswith("--from=build /package/") for rest in copied), "the clone itself is not shipped"
    assert [rest for name, rest in last if name == "VOLUME"] == ["/data"]
    assert not re.search(r"(?i)(secret|password|token|api_key)\S*=\S", (PACKAGING / "Dockerfile").read_text())
    # A layer of apt without its lists, and every line that it is told to be quiet about fails the build.
    for rest in (rest for name, rest in last if name == "RUN" and "apt-get install" in rest):
        assert "--no-install-recommends" in rest and "rm -rf" in rest and "/var/lib/apt/lists" in rest and ";" not in rest
    for path in (".git", "build", "sluice-data", "**/.env"):
        assert path in (ROOT / ".dockerignore").read_text().splitlines()


def test_the_image_understands_the_run_line(tmp_path):
    environment = {**{key: value for key, value in os.environ.items() if not key.startswith("SLUICE__")},
                   **image_environment(), **RUN_LINE, "SERPER_API_KEYS": "k"}
    shown = run(SLUICE, "check", cwd=tmp_path, env=environment)
    assert re.search(r'^data_dir += "/data" ', shown, re.M) and "0.0.0.0:8080" in shown and "GATEWAY_DATABASE_URL" in shown


def test_the_image_starts_and_tells_its_health(tmp_path):
    """As the image does it, with a data directory and a port of the test."""
    entry = {name: rest for name, rest in instructions() if name in ("ENTRYPOINT", "CMD", "HEALTHCHECK")}
    assert entry["ENTRYPOINT"] == '["sluice"]' and entry["CMD"] == '["serve"]'
    probe = re.findall(r'"([^"]+)"', entry["HEALTHCHECK"].split("CMD")[1])
    assert probe[0] == "sluice"
    gateway = Sluice(listen="0.0.0.0:0,127.0.0.1:0", keys=False)
    environment = {**os.environ, "SLUICE__DATA_DIR": str(gateway.data_dir)}
    try:
        assert gateway.wait_for_line(r"^\s+(slc_\S+)"), "an admin token, since it listens beyond loopback"
        assert run(SLUICE, *probe[1:], env=environment, cwd=tmp_path) == "alive\n"
        assert call(gateway.address, "GET", "/readyz?need=web").status == 503, "no key, and yet it is alive"
    finally:
        gateway.stop()
    ended = subprocess.run([SLUICE, *probe[1:]], env=environment, cwd=tmp_path, capture_output=True, timeout=PATIENCE_S)
    assert ended.returncode == 1


def test_compose_has_no_password_of_its_own():
    text = (PACKAGING / "compose.yaml").read_text()
    example = (PACKAGING / "compose.env.example").read_text()
    given = re.findall(r"^(\w+)=(.*)$", example, re.M)
    assert given and all(value == "" for _, value in given)
    for name, rest in re.findall(r"(?<!\$)\$\{(\w+)([^}]*)\}", text):
        assert name in dict(given), f"{name} is not in the example"
        is_needed = "PASSWORD" in name or "SECRETS" in name
        assert rest.startswith(":?") if is_needed else rest == ":-", f"{name} has a default"
    services = re.split(r"^  (?=\w+:$)", text.split("\nvolumes:\n")[0].split("services:\n")[1], flags=re.M)[1:]
    assert len(services) == 3
    for service in services:
        assert "healthcheck:" in service or "dockerfile: packaging/Dockerfile" in service
        assert "cap_drop: [ALL]" in service and "no-new-privileges:true" in service
        for port in re.findall(r'^      - "([^"]*:\d+)"$', service, re.M):
            assert port.startswith("127.0.0.1:"), "open to the network only by decision"


def test_compose_is_understood(tmp_path):
    """By a program that knows the schema, with the example filled in."""
    filled = tmp_path / "env"
    filled.write_text(re.sub(r"(?m)^(\w+)=$", r"\1=filled", (PACKAGING / "compose.env.example").read_text()))
    compose = ["docker-compose", "-f", PACKAGING / "compose.yaml", "--env-file"]
    shown = run(*compose, filled, "config")
    for line in ("redis://:filled@redis:6379", "read_only: true", "context: " + str(ROOT), "127.0.0.1:8080:8080"):
        assert line in shown, (line, shown)
    refused = subprocess.run([*compose, PACKAGING / "compose.env.example", "config", "-q"], capture_output=True, text=True,
                             timeout=PATIENCE_S)
    assert refused.returncode != 0 and "set it in packaging/.env" in refused.stderr, refused


def test_nothing_that_is_shipped_can_be_written_by_others(tree):
    for path in tree.rglob("*"):
        assert not path.lstat().st_mode & (stat.S_IWGRP | stat.S_IWOTH), path
