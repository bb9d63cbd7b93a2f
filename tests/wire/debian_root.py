"""What the tests of packages and images share: the package as it is built, and a Debian 12 of their own, made from
the mirrors of Debian, so that nothing of this machine hides what is missing."""
import fcntl
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from wire import SLUICE

BUILD = pathlib.Path(SLUICE).parent
# Building, stripping and packing what may be a large binary; a step of apt in a fresh system.
PATIENCE_S = 120
# A Debian from the mirrors, on a machine that has other things to do.
BASE_PATIENCE_S = 400
# The exit code by which ctest counts a file as skipped (SKIP_RETURN_CODE).
SKIPPED = 77
NOT_TRIED = []
QUIET = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}


def run(*args, **more):
    """What a command prints; one that fails fails the test."""
    done = subprocess.run([str(arg) for arg in args], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, **{"timeout": PATIENCE_S, **more})
    assert done.returncode == 0, (args, done.stdout, done.stderr)
    return done.stdout


def not_tried(reason):
    """What can't be tried on this machine is never left out in silence: ctest counts the file as skipped and names
    it at the end, and with SLUICE_TRY=1 it fails."""
    if os.environ.get("SLUICE_TRY") == "1":
        pytest.fail(f"can't be tried here: {reason}")
    NOT_TRIED.append(reason)
    pytest.skip(f"not tried here: {reason}")


def need(*programs):
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        not_tried(f"no {', '.join(missing)}; scripts/setup test installs what is missing")
    if os.geteuid() != 0:
        not_tried("only root can make and enter a Debian of its own")


def build_package(folder):
    run("cpack", "--config", BUILD / "CPackConfig.cmake", "-G", "DEB", "-B", folder)
    (built,) = folder.glob("*.deb")
    return built


def package_of_version(package, version, folder):
    """The same package under another version."""
    run("dpkg-deb", "-R", package, folder / "unpacked")
    control = folder / "unpacked/DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*$", f"Version: {version}", control.read_text()))
    other = folder / f"sluice_{version}.deb"
    run("dpkg-deb", "--root-owner-group", "-b", folder / "unpacked", other)
    return other


def base():
    """The smallest Debian 12 that has apt, like the image debian:12-slim, as a tar file. It is made once for a folder
    of builds."""
    need("mmdebstrap")
    path = BUILD / "debian-12.tar"
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            making = path.with_suffix(".making.tar")
            left_out = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "doc", "locale")]
            try:
                done = subprocess.run(["mmdebstrap", "--variant=minbase", *left_out,
                                       "--dpkgopt=path-include=/usr/share/doc/*/copyright",
                                       # Without it one of the two ways to a merged /usr comes in, with all of Perl.
                                       "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr", "bookworm", making],
                                      capture_output=True, text=True, timeout=BASE_PATIENCE_S, stdin=subprocess.DEVNULL)
            except subprocess.TimeoutExpired:
                not_tried(f"mmdebstrap made no Debian 12 in {BASE_PATIENCE_S} s")
            if done.returncode != 0:
                not_tried("mmdebstrap could not make a Debian 12: " + " / ".join(done.stderr.splitlines()[-3:]))
            making.rename(path)
    return path
