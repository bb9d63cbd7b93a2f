"""Pages on the real binary: the API, the commands beside a gateway and without one, imports and what interrupts them."""
import json
import os
import pty
import select
import signal
import sqlite3
import subprocess
import time

import pytest

from wire import SLUICE, TIMEOUT_S, Sluice, call, until

IMPORT_TIMEOUT_S = 120


def run(data_dir, *args, stdin=None, code=0):
    """A command on the pages of a data directory that ends with `code`."""
    source = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
    result = subprocess.run([SLUICE, "pages", *map(str, args), "--data-dir", str(data_dir)], capture_output=True, text=True,
                            timeout=IMPORT_TIMEOUT_S, cwd=data_dir.parent, **source)
    assert result.returncode == code, (args, result.stdout, result.stderr)
    return result


def asked(data_dir, *args, **more):
    return json.loads(run(data_dir, *args, "--json", **more).stdout)


def titles(data_dir, *args):
    return [page["title"] for page in asked(data_dir, "list", "--all", "--sort", "title", *args)["pages"]]


def lines(count, **members):
    return "".join(json.dumps({"title": f"Page {number}", "slug": f"page-{number}", **members}) + "\n" for number in range(count))


def pin_hash(data_dir, page):
    with sqlite3.connect(f"file:{data_dir}/pages.db?mode=ro", uri=True) as database:
        row = database.execute("SELECT hash FROM page_pin WHERE page = ?", (page,)).fetchone()
    database.close()
    return row and row[0]


@pytest.fixture
def data_dir(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def gateway():
    process = Sluice()
    yield process
    assert process.stop() == 0, process.output()


def test_a_page_from_adding_to_removing_without_a_gateway(data_dir, tmp_path):
    body = tmp_path / "body.md"
    body.write_text("Some *text*.\n")
    made = asked(data_dir, "add", "C++ build flags", "--body-file", body, "--author", "Ada")
    assert (made["id"], made["slug"], made["lifecycle"], made["current_version"]) == (1, "c-build-flags", "active", 1)
    assert asked(data_dir, "show", 1)["body"] == "Some *text*.\n"
    shown = run(data_dir, "show", 1).stdout
    assert "/p/c-build-flags" in shown and "Some *text*." in shown and "Ada" in shown
    assert "C++ build flags" in run(data_dir, "list").stdout
    changed = asked(data_dir, "update", 1, "--title", "Flags", "--slug", "flags", "--body-file", "-", stdin="New")
    assert (changed["title"], changed["slug"], changed["current_version"], changed["author"]) == ("Flags", "flags", 2, "Ada")
    assert asked(data_dir, "archive", 1)["lifecycle"] == "archived"
    assert asked(data_dir, "list")["pages"] == [] and titles(data_dir) == ["Flags"]
    assert asked(data_dir, "update", 1, "--lifecycle", "active")["lifecycle"] == "active"
    assert run(data_dir, "remove", 1).stdout == "removed 1\n"
    assert "no such page" in run(data_dir, "show", 1, code=1).stderr
    assert titles(data_dir) == []


def test_a_claim_and_its_pin(data_dir):
    run(data_dir, "add", "Mine")
    assert asked(data_dir, "claim", 1)["claimed"] is True and pin_hash(data_dir, 1) is None
    assert "active, claimed " in run(data_dir, "list", "--all").stdout and asked(data_dir, "show", 1)["has_pin"] is False
    assert asked(data_dir, "claim", 1, "--pin", stdin="2468-secret\n")["has_pin"] is True
    assert pin_hash(data_dir, 1).startswith("$argon2id$")
    assert asked(data_dir, "list")["pages"] == [] and asked(data_dir, "list", "--all")["pages"][0]["has_pin"] is True
    assert "active, claimed, PIN " in run(data_dir, "list", "--all").stdout
    assert "state active, claimed, PIN\n" in run(data_dir, "show", 1).stdout
    assert "pin: expected 4 to 128 bytes" in run(data_dir, "claim", 1, "--pin", stdin="246\n", code=2).stderr
    assert "PIN: longer than 128" in run(data_dir, "claim", 1, "--pin", stdin="2" * 1000, code=2).stderr
    assert "no such page" in run(data_dir, "claim", 9, "--pin", stdin="2468\n", code=1).stderr
    assert asked(data_dir, "release", 1)["claimed"] is False and pin_hash(data_dir, 1) is None


def typed(data_dir, *args, answers):
    """Runs a command on a terminal, types each answer after its prompt, and gives the exit code and what was shown."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(SLUICE, [SLUICE, "pages", *map(str, args), "--data-dir", str(data_dir)])
    shown, answers, deadline = b"", list(answers), time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            more = os.read(terminal, 4096)
        except OSError:
            more = b""
        if not more:
            break
        shown += more
        if answers and answers[0][0] in shown:
            os.write(terminal, answers.pop(0)[1])
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode()


def test_a_pin_that_is_typed_is_not_shown(data_dir):
    run(data_dir, "add", "Mine")
    code, shown = typed(data_dir, "claim", 1, "--pin", answers=[(b"PIN: ", b"2468-secret\n"), (b"PIN again: ", b"2468-secret\n")])
    assert code == 0 and "2468" not in shown and pin_hash(data_dir, 1), shown
    code, shown = typed(data_dir, "claim", 1, "--pin", answers=[(b"PIN: ", b"2468-secret\n"), (b"PIN again: ", b"other\n")])
    assert code == 2 and "the two differ" in shown
    code, shown = typed(data_dir, "claim", 1, "--pin", answers=[(b"PIN: ", b"\x03")])
    assert code == 1 and "interrupted" in shown


@pytest.mark.parametrize("args, said", [
    (["add", ""], "title: expected 1 to 200"), (["add", "\u200b\u2800"], "at least one that can be seen"),
    (["update", "1", "--title", "\u202e\u3164"], "at least one that can be seen"), (["add", "x", "--author", "\ufeff"], "author: expected"), (["add", "a\nb"], "title: expected one line"),
    (["add", "x", "--slug", "A b"], "slug: expected"), (["add", "x", "--lifecycle", "live"], "active, unlisted or archived"),
    (["add", "x", "--id", "0"], "id: expected a whole number"), (["add", "x", "--autor", "Ada"], "did you mean '--author'"),
    (["update", "1"], "say what to change"), (["update", "one", "--title", "x"], "one"), (["list", "--sort", "best"], "newest, oldest"),
    (["list", "--limit", "0"], "limit"), (["claim", "1", "--pin", "2468"], "takes no"), (["clam", "1"], "did you mean 'claim'"),
    (["update", "one", "--title", "x"], "id: expected a whole number: as `sluice pages list --all` shows it; found 'one'"),
    (["show", "1.5"], "id: expected a whole number"), (["add", "x", "--id", "ten"], "--id: expected a whole number: a number of your own"),
    (["add", "x", "--id", "9" * 30], "id: expected a whole number from 1"), (["list", "--json=abc"], "--json: expected no value"),
    (["list", "--limit", "many"], "range 1 to 1000"), (["list", "--offset", "-1"], "range 0 to 1000000")],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_mistakes_are_named_and_change_nothing(data_dir, args, said):
    run(data_dir, "add", "First")
    assert said in run(data_dir, *args, code=2).stderr
    assert titles(data_dir) == ["First"] and asked(data_dir, "show", 1)["current_version"] == 1


@pytest.mark.parametrize("args", [["claim", "1", "--pin", "2468-secret"], ["claim", "1", "--pin=2468-secret"], ["claim", "--pin", "2468-secret"],
                                  ["claim", "--pin", "1", "2468-secret"]], ids=" ".join)
def test_a_pin_on_the_command_line_is_not_repeated(data_dir, args):
    run(data_dir, "add", "First")
    refused = run(data_dir, *args, code=2).stderr
    assert "2468" not in refused and ("expected" in refused or "from the terminal" in refused), refused
    assert asked(data_dir, "show", 1)["claimed"] is False


def test_a_body_that_is_not_there_is_named(data_dir):
    run(data_dir, "add", "First")
    for args in (["add", "Second"], ["update", 1]):
        refused = run(data_dir, *args, "--body-file", "nowhere.md", code=1).stderr
        assert "--body-file: " in refused and "nowhere.md" in refused and "No such file" in refused and "list --all" not in refused
    assert titles(data_dir) == ["First"]


def test_the_api_and_the_commands_see_the_same_pages(gateway):
    added = gateway.post("/v1/pages", {"title": "By the API", "body": "text", "claimed": True, "pin": "2468-secret"})
    assert added.status == 201 and added.header("Location") == "/v1/pages/1", added.body
    assert b"2468" not in added.body and b"argon2" not in added.body
    assert pin_hash(gateway.data_dir, 1).startswith("$argon2id$")
    assert titles(gateway.data_dir) == ["By the API"]
    run(gateway.data_dir, "add", "By command")
    assert [page["title"] for page in gateway.get("/v1/pages").json()["pages"]] == ["By command"]
    assert gateway.get("/v1/pages?all=true&sort=title").json()["total"] == 2
    run(gateway.data_dir, "archive", 2)
    assert gateway.get("/v1/pages/2").json()["lifecycle"] == "archived"
    assert gateway.get("/v1/pages/1").json()["body"] == "text"
    assert gateway.post("/v1/pages", {"titel": "x"}).json()["detail"].endswith("did you mean 'title'?")
    assert gateway.post("/v1/pages", {"title": "x", "slug": "by-command"}).status == 409
    assert gateway.get("/v1/pages/99").status == 404
    for unseen in (gateway.post("/v1/pages", {"title": "\u200b"}), call(gateway.address, "PATCH", "/v1/pages/1", body={"title": "\u2066\u2069"})):
        assert unseen.status == 400 and "one that can be seen" in unseen.json()["detail"]
    assert "2468" not in gateway.output()
    text = gateway.get("/metrics").body.decode()
    assert '"pages"' in text and '"pages_reads"' in text


def test_a_page_may_be_as_large_as_is_promised(gateway):
    largest = "line of text\n" * (1024 * 1024 // 13)
    added = gateway.post("/v1/pages", {"title": "Large", "body": largest})
    assert added.status == 201, added.body[:300]
    assert gateway.get("/v1/pages/1").json()["body"] == largest
    refused = gateway.post("/v1/pages", {"title": "Too large", "body": "x" * (1024 * 1024 + 1)})
    assert refused.status == 400 and "body: expected at most 1048576 bytes" in refused.json()["detail"]


def test_tokens_decide_who_administers(gateway):
    token = json.loads(gateway.command("tokens", "add", "--scopes", "search", "--json").stdout)["token"]
    until(lambda: gateway.get("/v1/pages").status == 401)
    assert gateway.get("/v1/pages", {"Authorization": f"Bearer {token}"}).status == 403
    admin = json.loads(gateway.command("tokens", "add", "--scopes", "admin", "--json").stdout)["token"]
    until(lambda: gateway.get("/v1/pages", {"Authorization": f"Bearer {admin}"}).status == 200)


def test_an_import_is_the_same_again(data_dir, tmp_path):
    source = tmp_path / "pages.ndjson"
    source.write_text(lines(2500, body="text", author="Ada") + '{"title":"No slug"}\n{"title":"No slug"}\n')
    assert run(data_dir, "import", source).stdout == "2502 added, 0 changed, 0 unchanged\n"
    assert asked(data_dir, "import", source) == {"added": 0, "changed": 0, "unchanged": 2502, "refused": 0}
    changed = source.read_text().replace('"Page 7"', '"Page seven"')
    assert run(data_dir, "import", "-", stdin=changed).stdout == "0 added, 1 changed, 2501 unchanged\n"
    assert asked(data_dir, "list", "--limit", "1")["pages"][0]["title"] == "Page seven"
    assert asked(data_dir, "list", "--limit", "1")["total"] == 2502


def test_what_is_wrong_is_told_by_its_line_and_nothing_is_written(data_dir, tmp_path):
    source = tmp_path / "pages.ndjson"
    source.write_text(lines(1500) + '{"titel":"x"}\n' + '{"title":"x","slug":"page-3"}\nnot JSON\n')
    refused = run(data_dir, "import", source, code=1)
    assert "line 1501: unknown field 'titel'; did you mean 'title'?" in refused.stderr
    assert 'line 1502: slug: "page-3" is there a second time' in refused.stderr
    assert "line 1503: JSON: " in refused.stderr and "--keep-going" in refused.stderr and "nothing was written" in refused.stderr
    assert titles(data_dir) == []
    going = run(data_dir, "import", source, "--keep-going", code=1)
    assert going.stdout == "1500 added, 0 changed, 0 unchanged\n" and "3 pages left out" in going.stderr
    source.write_text('{"title":"\\u200d\\u00ad"}\n')
    assert "line 1: title: expected 1 to 200 characters, and at least one" in run(data_dir, "import", source, code=1).stderr
    source.write_text("x\n" * 1000)
    told = run(data_dir, "import", source, code=1).stderr
    assert "line 20:" in told and "line 21:" not in told and "1000 pages can't be imported" in told
    source.write_text('{"title":"\\u202e\\u001b[2Jx","slug":"!\\u001b"}\n')
    assert "\x1b" not in run(data_dir, "import", source, code=1).stderr
    assert "No such file" in run(data_dir, "import", tmp_path / "nowhere", code=1).stderr


def test_a_conflict_in_the_store_is_told_by_its_line(data_dir, tmp_path):
    run(data_dir, "add", "Taken", "--slug", "taken", "--id", "500")
    source = tmp_path / "pages.ndjson"
    source.write_text(lines(1000) + '{"title":"x","id":501,"slug":"taken"}\n{"title":"Last","slug":"last"}\n')
    refused = run(data_dir, "import", source, code=1)
    assert 'line 1001: slug: another page has "taken" already' in refused.stderr and "1000 added" in refused.stderr
    going = run(data_dir, "import", source, "--keep-going", code=1)
    assert going.stdout == "1 added, 0 changed, 1000 unchanged\n" and "1 page left out" in going.stderr


def test_a_folder_of_markdown(data_dir, tmp_path):
    book = tmp_path / "book"
    (book / "guides").mkdir(parents=True)
    (book / "guides" / "First steps.md").write_text("---\ntitle: First steps\n---\nGo.\n")
    (book / "heading.md").write_text("# A heading\n\nText.\n")
    (book / "image.png").write_bytes(b"x")
    (book / ".secret.md").write_text("# Secret")
    (book / "away.md").symlink_to("/etc/passwd")
    result = run(data_dir, "import", book)
    assert result.stdout == "2 added, 0 changed, 0 unchanged\n" and "1 symbolic link" in result.stderr
    assert titles(data_dir) == ["A heading", "First steps"]
    assert [page["slug"] for page in asked(data_dir, "list", "--sort", "title")["pages"]] == ["heading", "guides-first-steps"]
    assert asked(data_dir, "show", 2)["body"] == "Text.\n"
    assert run(data_dir, "import", book).stdout == "0 added, 0 changed, 2 unchanged\n"


def stored(data_dir):
    """How many pages are in the file, which has to be sound."""
    with sqlite3.connect(f"file:{data_dir}/pages.db", uri=True) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        [(pages, counted)] = database.execute("SELECT (SELECT count(*) FROM page), pages FROM page_revision").fetchall()
    database.close()
    assert pages == counted
    return pages


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_an_import_that_is_interrupted_leaves_whole_batches(data_dir, tmp_path, number):
    source = tmp_path / "pages.ndjson"
    source.write_text(lines(60_000, body="text " * 20))
    run(data_dir, "add", "First", "--slug", "first")
    for _ in range(3):
        process = subprocess.Popen([SLUICE, "pages", "import", str(source), "--data-dir", str(data_dir)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        before, deadline = stored(data_dir), time.monotonic() + IMPORT_TIMEOUT_S
        while stored(data_dir) == before and process.poll() is None:
            assert time.monotonic() < deadline
        process.send_signal(number)
        _, told = process.communicate(timeout=IMPORT_TIMEOUT_S)
        assert (stored(data_dir) - 1) % 1000 == 0
        assert process.returncode in (0, 1, -number) and ("interrupted" in told) == (process.returncode == 1), told
    assert run(data_dir, "import", source).stdout.endswith("unchanged\n") and stored(data_dir) == 60_001


def test_an_import_beside_a_gateway_holds_nobody_up(gateway, tmp_path):
    source = tmp_path / "pages.ndjson"
    source.write_text(lines(20_000, body="text " * 20))
    process = subprocess.Popen([SLUICE, "pages", "import", str(source), "--data-dir", str(gateway.data_dir)], stdout=subprocess.PIPE)
    number = 0
    while process.poll() is None:
        assert gateway.get("/v1/pages?limit=1").status == 200
        assert gateway.post("/v1/pages", {"title": f"Meanwhile {number}"}).status == 201
        number += 1
    assert process.communicate()[0] == b"20000 added, 0 changed, 0 unchanged\n"
    assert gateway.get("/v1/pages?limit=1").json()["total"] == 20_000 + number


def test_progress_is_drawn_on_a_terminal_only(data_dir, tmp_path):
    source = tmp_path / "pages.ndjson"
    source.write_text(lines(3000))
    assert "\r" not in run(data_dir, "import", source).stderr
    code, shown = typed(data_dir, "import", source, answers=[])
    assert code == 0 and "checking  [" in shown and "importing  [" in shown and " of 0.1 MB" in shown
    assert shown.endswith("0 added, 0 changed, 3000 unchanged\r\n")
