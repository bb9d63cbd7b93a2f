"""Commands that only look leave a data directory as it is; these and those that change what is there say so when there
is none."""
import json
import os
import signal
import socket
import sqlite3

import pytest

from cli_test import run
from wire import Sluice

READING = [["tokens", "list"], ["keys", "list"], ["pages", "list"], ["usage"], ["doctor"]]
CHANGING = [["tokens", "revoke", "some-id"], ["keys", "set", "some-id", "--weight", "2"],
            *(["keys", verb, "some-id"] for verb in ("enable", "disable", "remove", "test")),
            *(["pages", verb, "7"] for verb in ("show", "archive", "claim", "release", "remove")), ["pages", "update", "7", "--title", "x"]]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("args", [*READING, *CHANGING, ["check", "--probe"]], ids=" ".join)
def test_a_mistyped_directory_is_told_and_not_made(tmp_path, args):
    nowhere = tmp_path / "mistyped"
    result = run(*args, "--data-dir", nowhere, cwd=tmp_path)
    assert result.returncode == 1, result.stdout
    assert f"there is no data directory {nowhere}" in result.stdout + result.stderr
    assert "--data-dir" in result.stdout + result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("args", READING, ids=" ".join)
def test_an_empty_directory_stays_empty(tmp_path, args):
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o700)
    result = run(*args, "--data-dir", data_dir, cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert contents(data_dir) == {}


@pytest.mark.parametrize("args", READING, ids=" ".join)
@pytest.mark.parametrize("version, advice", [(0, "sluice serve"), (99, "newer program")])
def test_another_schema_is_told_and_not_migrated(tmp_path, args, version, advice):
    gateway = Sluice()
    try:
        gateway.send_signal(signal.SIGTERM)
        gateway.wait()
        for name in ("access.db", "keys.db", "pages.db", "usage.db"):
            with sqlite3.connect(gateway.data_dir / name) as database:
                database.execute(f"PRAGMA user_version = {version}")
            database.close()
        before = contents(gateway.data_dir)
        result = run(*args, "--data-dir", gateway.data_dir, cwd=tmp_path)
        assert result.returncode == 1
        assert f"has schema version {version}" in result.stdout + result.stderr
        assert advice in result.stdout + result.stderr
        assert contents(gateway.data_dir) == before
    finally:
        gateway.folder.cleanup()


def test_doctor_does_not_take_silence_for_absence(tmp_path):
    """A gateway that is there and does not answer is no reason to start another."""
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "sluice.sock"))
        silent.listen(1)
        os.chmod(tmp_path, 0o700)
        result = run("doctor", "--json", "--data-dir", tmp_path)
    finding = {check["name"]: check["finding"] for check in json.loads(result.stdout)["checks"]}
    assert finding["gateway"] == "bad" and result.returncode == 1
