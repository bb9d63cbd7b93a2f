"""`sluice backup` beside a gateway under load, and `sluice restore`: what comes back is what was there, and
whatever interrupts it leaves the old or the new, never a mixture."""
import collections
import concurrent.futures
import contextlib
import gzip
import hashlib
import io
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import stat
import subprocess
import tarfile
import threading
import time

import pytest

from wire import SLUICE, TIMEOUT_S, Process, Sluice, call, until

FILES = ["access.db", "usage.db", "keys.db", "pages.db", "secrets.key"]


def run(*args, env=None, cwd=None):
    return subprocess.run([SLUICE, *map(str, args)], capture_output=True, text=True, timeout=TIMEOUT_S,
                          stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})}, cwd=cwd)


def good(*args, **more):
    result = run(*args, **more)
    assert result.returncode == 0, (args, result.stdout, result.stderr)
    return result.stdout


def contents(archive):
    """The files of an archive by name, in order."""
    with tarfile.open(archive) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}


def rewrite(archive, files):
    with tarfile.open(archive, "w:gz") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def state(data_dir):
    """What an operator sees of a data directory: keys, tokens and spending."""
    where = ("--data-dir", data_dir, "--json")
    keys = json.loads(good("keys", "list", *where))["keys"]
    tokens = json.loads(good("tokens", "list", *where))["tokens"]
    return [(key["id"], key["label"], key["state"]) for key in keys], [(token["id"], token["label"]) for token in tokens]


@pytest.fixture
def data_dir(tmp_path):
    """A data directory with a key and two tokens, that nobody serves from."""
    path = tmp_path / "data"
    secret = tmp_path / "key.txt"
    secret.write_text("serper-kept-key-0001\n")
    good("keys", "add", "serper", "--label", "kept", "--secret-file", secret, "--data-dir", path)
    for label in ("one", "two"):
        good("tokens", "add", "--label", label, "--data-dir", path)
    return path


@pytest.fixture
def archive(data_dir, tmp_path):
    path = tmp_path / "backup.tar.gz"
    good("backup", path, "--data-dir", data_dir)
    return path


def test_an_archive_says_what_is_in_it(data_dir, archive):
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    files = contents(archive)
    manifest = json.loads(files.pop("manifest.json"))
    assert manifest["format"] == 1 and manifest["version"] and manifest["made_at"].endswith("Z")
    assert [file["name"] for file in manifest["files"]] == list(files) and "secrets.key" in files
    for file in manifest["files"]:
        assert file["bytes"] == len(files[file["name"]])
        assert file["sha256"] == hashlib.sha256(files[file["name"]]).hexdigest()
        assert ("schema" in file) == file["name"].endswith(".db")
    assert not [path for path in archive.parent.iterdir() if path.name.startswith("backup.tar.gz.")], "copies were left"


def test_a_file_that_is_there_is_not_overwritten(data_dir, archive, tmp_path):
    before = archive.read_bytes()
    again = run("backup", archive, "--data-dir", data_dir)
    assert again.returncode == 1 and str(archive) in again.stderr and archive.read_bytes() == before
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "elsewhere")
    assert run("backup", dangling, "--data-dir", data_dir).returncode == 1 and not (tmp_path / "elsewhere").exists()


def test_what_can_not_be_backed_up_is_said(tmp_path):
    missing = run("backup", tmp_path / "a", "--data-dir", tmp_path / "nowhere")
    assert missing.returncode == 1 and "nowhere" in missing.stderr
    (tmp_path / "empty").mkdir()
    empty = run("backup", tmp_path / "a", "--data-dir", tmp_path / "empty")
    assert empty.returncode == 1 and "holds nothing" in empty.stderr
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "access.db").write_bytes(b"this is no database" * 100)
    damaged = run("backup", tmp_path / "a", "--data-dir", tmp_path / "damaged")
    assert damaged.returncode == 1 and "access.db" in damaged.stderr
    assert not (tmp_path / "a").exists() and not list(tmp_path.glob("a.*"))


def test_an_error_names_what_the_operator_named(data_dir, tmp_path):
    """Not the folder that copies are made in, which is gone when somebody reads of it."""
    nowhere = run("backup", tmp_path / "nowhere" / "a.tar.gz", "--data-dir", data_dir)
    assert nowhere.stderr == f"sluice: {tmp_path}/nowhere/a.tar.gz: No such file or directory\n" and nowhere.returncode == 1
    # Written to a disk that has room for so much of each file.
    good("pages", "add", "A page", "--data-dir", data_dir)
    archive = tmp_path / "with-pages.tar.gz"
    good("backup", archive, "--data-dir", data_dir)
    failures = 0
    for most in (33_000, 50_000, 80_000, 120_000):
        for args in (["backup", tmp_path / "b.tar.gz", "--data-dir", data_dir], ["restore", archive, "--data-dir", tmp_path / "target"]):
            full = subprocess.run([SLUICE, *map(str, args)], capture_output=True, text=True, timeout=TIMEOUT_S, restore_signals=False,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
            if full.returncode == 0:
                (tmp_path / "b.tar.gz").unlink(missing_ok=True)
                shutil.rmtree(tmp_path / "target", ignore_errors=True)
                continue
            assert full.returncode == 1 and not re.search(r"(gz\.|restore-)\w{6}", full.stderr), full.stderr
            # Of the side that is written to, not of that which is read.
            written, read = (args[1], data_dir) if args[0] == "backup" else (args[3], args[1])
            assert str(written) in full.stderr and str(read) not in full.stderr, full.stderr
            assert not (tmp_path / "b.tar.gz").exists() and not (tmp_path / "target").exists()
            failures += 1
    assert failures > 2

    damaged = bytearray((data_dir / "access.db").read_bytes())
    damaged[4096:8192] = b"?" * 4096
    (data_dir / "access.db").write_bytes(damaged)
    found = run("backup", tmp_path / "c.tar.gz", "--data-dir", data_dir)
    assert found.returncode == 1 and f"{data_dir}/access.db" in found.stderr and "c.tar.gz" not in found.stderr


def test_restored_elsewhere_it_is_all_there(data_dir, archive, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    good("restore", archive, "--data-dir", elsewhere)
    assert state(elsewhere) == state(data_dir)
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o700
    for path in elsewhere.iterdir():
        assert path.is_file() and stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_backup_under_load_then_served_with_keys_tokens_and_budgets_as_they_were(upstream, tmp_path):
    """The budget of a token is used up before the backup, so that what was spent must come back with it."""
    gateway = Sluice(upstream)
    archive = tmp_path / "backup.tar.gz"
    restored = tmp_path / "restored"
    try:
        made = json.loads(gateway.command("tokens", "add", "--label", "spender", "--budget-calls-total", "3", "--json").stdout)
        rich = json.loads(gateway.command("tokens", "add", "--label", "rich", "--json").stdout)
        bearer = {"Authorization": f"Bearer {made['token']}"}
        free = {"Authorization": f"Bearer {rich['token']}"}
        until(lambda: gateway.post("/v1/search", {"query": "first"}, bearer).status == 200)
        until(lambda: gateway.post("/v1/search", {"query": "a"}, free).status == 200)
        for query in ("second", "third"):
            assert gateway.post("/v1/search", {"query": query}, bearer).status == 200
        assert gateway.post("/v1/search", {"query": "beyond"}, bearer).status == 402
        stop = threading.Event()

        def load(worker):
            statuses = set()
            number = 0
            while not stop.is_set():
                statuses.add(gateway.post("/v1/search", {"query": f"load {worker} {number}"}, free).status)
                number += 1
            return statuses, number

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            workers = [pool.submit(load, worker) for worker in range(3)]
            try:
                for number in range(5):
                    result = gateway.command("backup", str(tmp_path / f"under-load-{number}.tar.gz"))
                    assert result.returncode == 0, result.stderr
                result = gateway.command("backup", str(archive))
                assert result.returncode == 0 and "secrets.key" in result.stdout, result.stderr
            finally:
                stop.set()
            for worker in workers:
                statuses, number = worker.result()
                assert statuses == {200} and number > 0, "nobody waits for a backup"
        refused = gateway.command("restore", str(archive), "--force")
        assert refused.returncode == 1 and "in use" in refused.stderr
        good("restore", archive, "--data-dir", restored)
        settings = gateway.config.read_text()
    finally:
        assert gateway.stop() == 0
    config = tmp_path / "sluice.toml"
    config.write_text(settings)
    successor = Process([SLUICE, "serve", "--config", config, "--data-dir", restored, "--listen", "127.0.0.1:0"])
    try:
        port = int(successor.wait_for_line(r"listens on 127\.0\.0\.1:(\d+)")[1])
        address = ("127.0.0.1", port)
        assert call(address, "POST", "/v1/search", bearer, {"query": "after"}).status == 402, "the budget is new"
        assert call(address, "POST", "/v1/search", free, {"query": "after"}).status == 200, "no key came back"
        unknown = {"Authorization": "Bearer slc_unknown"}
        assert call(address, "POST", "/v1/search", unknown, {"query": "after"}).status == 401
    finally:
        assert successor.stop() == 0


def test_what_is_there_is_given_up_by_decision_only(data_dir, archive, tmp_path):
    saved = state(data_dir)
    good("tokens", "add", "--label", "later", "--data-dir", data_dir)
    changed = state(data_dir)
    refused = run("restore", archive, "--data-dir", data_dir)
    assert refused.returncode == 1 and "--force" in refused.stderr and state(data_dir) == changed
    assert not (data_dir / "serve.lock").exists(), "nobody served from it"
    # A log of the old database must not be taken for one of the new database.
    holder = sqlite3.connect(data_dir / "access.db")
    holder.execute("PRAGMA wal_autocheckpoint = 0")
    holder.execute("CREATE TABLE late (x)")
    holder.commit()
    log = (data_dir / "access.db-wal").read_bytes()
    holder.close()
    (data_dir / "access.db-wal").write_bytes(log)
    good("restore", archive, "--data-dir", data_dir, "--force")
    assert state(data_dir) == saved
    assert not [name for name in os.listdir(data_dir) if name.startswith("restore")]
    assert not sqlite3.connect(data_dir / "access.db").execute("SELECT 1 FROM sqlite_master WHERE name = 'late'").fetchall()


def test_a_file_that_the_backup_has_not_is_gone(data_dir, tmp_path):
    """Keys that are encrypted by the secrets key of another time would only stop the start."""
    with_tokens_only = tmp_path / "tokens"
    good("tokens", "add", "--label", "alone", "--data-dir", with_tokens_only)
    good("backup", tmp_path / "b", "--data-dir", with_tokens_only)
    good("restore", tmp_path / "b", "--data-dir", data_dir, "--force")
    assert not (data_dir / "keys.db").exists() and not (data_dir / "secrets.key").exists()
    assert [label for _, label in state(data_dir)[1]] == ["alone"]


def changed_manifest(files, change):
    manifest = json.loads(files["manifest.json"])
    change(manifest)
    return {**files, "manifest.json": json.dumps(manifest).encode()}


def flip(data):
    return data[:len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1:]


def newer_schema(manifest):
    manifest["files"][0]["schema"] = 999


def newer_format(manifest):
    manifest["format"], manifest["version"] = 2, "9.9.9"


def other_name(manifest):
    manifest["files"][0]["name"] = "../escape"


def twice(manifest):
    manifest["files"].append(manifest["files"][0])


def no_checksum(manifest):
    del manifest["files"][0]["sha256"]


ALTERED = {
    "a flipped bit": (lambda files: {**files, "keys.db": flip(files["keys.db"])}, "keys.db"),
    "another secrets key": (lambda files: {**files, "secrets.key": files["secrets.key"][::-1]}, "secrets.key"),
    "a shorter file": (lambda files: {**files, "usage.db" if "usage.db" in files else "access.db": b""}, "altered"),
    "a longer file": (lambda files: {**files, "secrets.key": files["secrets.key"] + b"0" * 100_000}, "larger than the archive itself says"),
    "a missing file": (lambda files: {name: data for name, data in files.items() if name != "secrets.key"}, "secrets.key"),
    "one file more": (lambda files: {**files, "authorized_keys": b"x"}, "more than it lists"),
    "no list": (lambda files: {name: data for name, data in files.items() if name != "manifest.json"}, "no backup"),
    "a list that is no JSON": (lambda files: {**files, "manifest.json": b"{"}, "list of files"),
    "a huge list": (lambda files: {**files, "manifest.json": b" " * 100_000 + files["manifest.json"]}, "16384"),
    "a newer schema": (lambda files: changed_manifest(files, newer_schema), "use the newer program"),
    "a newer format": (lambda files: changed_manifest(files, newer_format), "9.9.9"),
    "a name outside": (lambda files: changed_manifest({("../escape" if name == "access.db" else name): data
                                                       for name, data in files.items()}, other_name), "list of files"),
    "a file twice": (lambda files: changed_manifest(files, twice), "list of files"),
    "no checksum": (lambda files: changed_manifest(files, no_checksum), "list of files"),
}


@pytest.mark.parametrize("what", ALTERED)
@pytest.mark.parametrize("there", [False, True], ids=["fresh", "force"])
def test_an_altered_archive_changes_nothing(data_dir, archive, tmp_path, what, there):
    change, expected = ALTERED[what]
    target = data_dir if there else tmp_path / "target"
    before = state(data_dir)
    rewrite(archive, change(contents(archive)))
    result = run("restore", archive, "--data-dir", target, *(["--force"] if there else []))
    assert result.returncode == 1 and expected in result.stderr, result.stderr
    assert target.exists() == there, "made for a restore that was refused"
    assert not there or set(os.listdir(target)) <= set(FILES), os.listdir(target)
    assert not re.search(r"restore-\w{6}", result.stderr), "names a folder that is gone"
    assert state(data_dir) == before
    assert not (tmp_path / "escape").exists()


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_archive_changes_nothing(data_dir, archive, tmp_path, part):
    data = archive.read_bytes()
    archive.write_bytes(data[:int(len(data) * part)])
    result = run("restore", archive, "--data-dir", tmp_path / "target")
    assert result.returncode == 1 and str(archive) in result.stderr
    assert not (tmp_path / "target").exists()


def test_what_is_no_archive_is_said(data_dir, tmp_path):
    (tmp_path / "text").write_text("hello")
    (tmp_path / "bomb").write_bytes(gzip.compress(b"\0" * 50_000_000))
    for name in ("absent", "text", "bomb"):
        result = run("restore", tmp_path / name, "--data-dir", tmp_path / "target")
        assert result.returncode == 1 and name in result.stderr and not (tmp_path / "target").exists()
    link = tarfile.TarInfo("manifest.json")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with tarfile.open(tmp_path / "link", "w:gz") as tar:
        tar.addfile(link)
    result = run("restore", tmp_path / "link", "--data-dir", tmp_path / "target")
    assert result.returncode == 1 and "no plain file" in result.stderr


def kill_after(seconds, *args):
    process = subprocess.Popen([SLUICE, *map(str, args)], stdout=subprocess.DEVNULL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_a_restore_that_is_killed_leaves_the_old_or_the_new(data_dir, archive, tmp_path):
    old_dir = tmp_path / "old"
    good("tokens", "add", "--label", "old", "--data-dir", old_dir)
    old, new = state(old_dir), state(data_dir)
    began = time.monotonic()
    shutil.copytree(old_dir, tmp_path / "measured")
    good("restore", archive, "--data-dir", tmp_path / "measured", "--force")
    whole = time.monotonic() - began
    seen = set()
    for number in range(20):
        target = tmp_path / f"target-{number}"
        shutil.copytree(old_dir, target)
        kill_after(whole * number / 20, "restore", archive, "--data-dir", target, "--force")
        good("tokens", "list", "--data-dir", target)  # looking changes nothing, and fails nowhere
        # Whoever changes something next finishes what was decided.
        good("tokens", "add", "--label", "next", "--data-dir", target)
        keys, tokens = state(target)
        found = (keys, [token for token in tokens if token[1] != "next"])
        assert found in (old, new), f"a mixture after {number}"
        assert not (target / "restored").exists()
        seen.add("old" if found == old else "new")
    assert "old" in seen


@pytest.mark.parametrize("moved", range(len(FILES) + 1))
def test_a_decided_restore_is_finished(data_dir, archive, tmp_path, moved):
    """As a process leaves it that dies between two of the moves."""
    expected = state(data_dir)
    target = tmp_path / "target"
    good("tokens", "add", "--label", "old", "--data-dir", target)
    (target / "usage.db-wal").write_bytes(b"a log of the old database")
    restored = target / "restored"
    restored.mkdir(mode=0o700)
    names = [name for name in FILES if name in contents(archive)]
    for name, data in contents(archive).items():
        (restored / name).write_bytes(data)
        (restored / name).chmod(0o600)
    for name in names[:moved]:
        os.replace(restored / name, target / name)
    gateway = Process([SLUICE, "serve", "--data-dir", target, "--listen", "127.0.0.1:0"])
    gateway.wait_for_line("listens on")
    assert gateway.stop() == 0, gateway.output()
    assert state(target) == expected and not restored.exists()


def test_a_backup_that_is_killed_leaves_no_archive(data_dir, tmp_path):
    for number in range(8):
        path = tmp_path / f"killed-{number}"
        kill_after(number * 0.004, "backup", path, "--data-dir", data_dir)
        if path.exists():
            good("restore", path, "--data-dir", tmp_path / f"target-{number}")
            assert state(tmp_path / f"target-{number}") == state(data_dir)
        for left in tmp_path.glob(f"killed-{number}.*"):
            assert stat.S_IMODE(left.stat().st_mode) == 0o700, "others could read the copies"


def at_work(number, folder, pattern, *args):
    """Sends the signal once the command has a folder to work in: its exit code, and what it said."""
    process = subprocess.Popen([SLUICE, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list(folder.glob(pattern)):
        pass
    process.send_signal(number)
    said = process.communicate(timeout=TIMEOUT_S)[1]
    return process.returncode, said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_interrupted_leaves_nothing(data_dir, archive, tmp_path, number):
    path, target = tmp_path / "broken.tar.gz", tmp_path / "target"
    good("tokens", "add", "--label", "old", "--data-dir", target)
    old, ends = state(target), collections.Counter()
    for _ in range(10):
        code, said = at_work(number, tmp_path, "broken.tar.gz.*", "backup", path, "--data-dir", data_dir)
        assert (code, "interrupted: no backup was written" in said) in ((1, True), (0, False)), said
        assert path.exists() == (code == 0) and not list(tmp_path.glob("broken.tar.gz.*"))
        path.unlink(missing_ok=True)
        ends["backup", code] += 1
        code, said = at_work(number, target, "restore-*", "restore", archive, "--data-dir", target, "--force")
        assert (code, "interrupted" in said) in ((1, True), (0, False)), said
        assert not list(target.glob("restore*"))
        if code == 1:
            assert state(target) == old
        else:
            shutil.rmtree(target)
            good("tokens", "add", "--label", "old", "--data-dir", target)
            old = state(target)
        ends["restore", code] += 1
    assert ends["backup", 1] and ends["restore", 1], ends


def test_what_was_killed_is_cleared_away_by_the_next(data_dir, archive, tmp_path):
    path, target = tmp_path / "killed.tar.gz", tmp_path / "target"
    good("tokens", "add", "--label", "old", "--data-dir", target)
    def until_left(folder, pattern, *args):
        while not list(folder.glob(pattern)):
            path.unlink(missing_ok=True)  # it was done before the signal came
            at_work(signal.SIGKILL, folder, pattern, *args)
    until_left(tmp_path, "killed.tar.gz.*", "backup", path, "--data-dir", data_dir)
    until_left(target, "restore-??????", "restore", archive, "--data-dir", target, "--force")
    good("tokens", "add", "--label", "next", "--data-dir", target)
    assert not list(target.glob("restore-*"))
    # What is somebody else's stays: a folder with anything but copies in it, one that others may open, files.
    path.unlink(missing_ok=True)
    for name, mode, file in (("own", 0o700, "notes.txt"), ("open", 0o755, "keys.db")):
        folder = tmp_path / f"killed.tar.gz.{name:_<6}"
        folder.mkdir()
        folder.chmod(mode)
        (folder / file).touch()
    (tmp_path / "killed.tar.gz.sha256").touch()
    for folder in ("restore-folder-of-mine", "restore-mine"):
        (target / folder).mkdir()
    (target / "restore-sha256").touch()
    good("backup", path, "--data-dir", data_dir)
    assert sorted(left.name for left in tmp_path.glob("killed.tar.gz.*")) == [
        "killed.tar.gz.open__", "killed.tar.gz.own___", "killed.tar.gz.sha256"]
    good("tokens", "add", "--label", "next", "--data-dir", target)
    assert len(list(target.glob("restore-*"))) == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_draft_of_another_user_stops_nobody(data_dir):
    draft = data_dir / "restore-AbCdEf"
    draft.mkdir(mode=0o700)
    (draft / "keys.db").touch()
    nobody = 65534
    for path in (data_dir, *data_dir.iterdir()):
        if path != draft:
            os.chown(path, nobody, nobody)
    for folder in data_dir.parents:
        if folder.owner() == "root" and str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    done = subprocess.run([SLUICE, "tokens", "add", "--label", "next", "--data-dir", data_dir], capture_output=True,
                          text=True, timeout=TIMEOUT_S, user=nobody, group=nobody, extra_groups=[])
    assert done.returncode == 0, done.stderr
    assert draft.exists()


def test_a_backup_leaves_the_copies_of_another_alone(data_dir, tmp_path):
    path = tmp_path / "shared.tar.gz"
    processes = [subprocess.Popen([SLUICE, "backup", path, "--data-dir", data_dir], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True) for _ in range(4)]
    ends = [(process.communicate(timeout=TIMEOUT_S)[1], process.returncode) for process in processes]
    assert sorted(code for _, code in ends) == [0, 1, 1, 1], ends
    assert all("is there already" in said for said, code in ends if code == 1), ends
    assert [left.name for left in tmp_path.glob("shared.tar.gz*")] == ["shared.tar.gz"]


def test_an_older_schema_is_brought_up_to_date(data_dir, archive, tmp_path):
    """A backup of an older program: its schema migrates at the next start, as its own file would."""
    files = contents(archive)
    path = tmp_path / "older.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 0")
    connection.execute("VACUUM")
    connection.close()
    data = path.read_bytes()

    def older(manifest):
        for file in manifest["files"]:
            if file["name"] == "access.db":
                file.update(schema=0, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    rewrite(archive, changed_manifest({**files, "access.db": data}, older))
    good("restore", archive, "--data-dir", tmp_path / "target")
    good("tokens", "add", "--label", "fresh", "--data-dir", tmp_path / "target")
    assert [label for _, label in state(tmp_path / "target")[1]] == ["fresh"]
