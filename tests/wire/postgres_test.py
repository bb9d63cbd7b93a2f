"""Gateways that keep keys, tokens and pages in a real PostgreSQL."""
import concurrent.futures
import json
import shutil
import subprocess
import tempfile

import pytest

from postgres_gateways import (OTHER_KEY, SECRET, SHARED_KEY, add_key, add_token, finding, key_ids, postgres, start, state, url,  # noqa: F401
                               variables)
from wire import SLUICE, TIMEOUT_S, Process, Sluice, call, until


def refused(url, key=SHARED_KEY, **env):
    """The completed process of a gateway that does not start."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([SLUICE, "serve", "--data-dir", folder, "--listen", "127.0.0.1:0"], capture_output=True,
                              text=True, timeout=TIMEOUT_S, env={**variables(url, key), **env})


def test_without_one_everything_is_in_files_and_status_says_so(upstream):
    gateway = Sluice(upstream)
    assert gateway.get("/v1/status").json()["database"] == {"kind": "sqlite"}
    assert gateway.stop() == 0


def test_keys_are_shared_by_replicas_and_nobody_reads_them_in_the_database(postgres, url, start):
    one, other = start(url), start(url)
    assert state(one) == {"kind": "postgresql", "state": "up", "server": f"127.0.0.1:{postgres.port}"}
    assert one.metric("sluice_postgres_up") == 1
    added = add_key(one, label="shared")
    assert added.status == 201
    until(lambda: key_ids(other) == [added.json()["id"]])
    assert other.search("with a key that the other one was given").status == 200
    assert call(other.address, "PATCH", f"/v1/keys/{added.json()['id']}", body={"state": "disabled"}).status == 200
    until(lambda: one.get("/v1/keys").json()["keys"][0]["state"] == "disabled")
    assert call(one.address, "DELETE", f"/v1/keys/{added.json()['id']}").status == 204
    until(lambda: key_ids(other) == [])
    kept = add_key(one)
    dumped = subprocess.run([postgres.programs / "pg_dump", url], capture_output=True, text=True, timeout=TIMEOUT_S,
                            check=True)
    assert kept.json()["id"] in dumped.stdout
    assert SECRET not in dumped.stdout and SECRET.encode().hex() not in dumped.stdout


def test_tokens_are_shared_by_replicas_and_commands(url, start):
    one, other = start(url, keys=True), start(url, keys=True)
    made = one.command("tokens", "add", "--scopes", "admin", "--json", env=variables(url))
    assert made.returncode == 0, made.stderr
    token = json.loads(made.stdout)
    headers = {"Authorization": f"Bearer {token['token']}"}
    for gateway in (one, other):
        until(lambda: gateway.get("/v1/keys").status == 401)
        assert gateway.get("/v1/keys", headers).status == 200
    listed = other.command("tokens", "list", "--json", env=variables(url))
    assert [row["id"] for row in json.loads(listed.stdout)["tokens"]] == [token["id"]]
    assert other.command("tokens", "revoke", token["id"], env=variables(url)).returncode == 0
    for gateway in (one, other):
        until(lambda: gateway.search("with a token that was revoked").status == 200)
        until(lambda: gateway.post("/v1/search", {"query": "with a token that was revoked"}, headers).status == 401)


def test_pages_are_shared_by_replicas_and_commands(url, start):
    one, other = start(url), start(url)
    added = one.post("/v1/pages", {"title": "Kubernetes deployment checklist", "body": "# Steps"})
    assert added.status == 201, added.body
    assert other.get("/p/kubernetes-deployment-checklist").status == 200
    done = other.command("pages", "add", "Migration plan", "--json", env=variables(url))
    assert done.returncode == 0, done.stderr
    for replica in (one, other):
        assert [hit["title"] for hit in replica.get("/v1/pages/search?q=migartion").json()["results"]] == ["Migration plan"]
    assert call(other.address, "DELETE", f"/v1/pages/{added.json()['id']}").status == 204
    assert one.get("/v1/pages/search?q=kubernetes").json()["results"] == []


def dump(postgres, url, file):
    subprocess.run([postgres.programs / "pg_dump", "--format=custom", "--file", file, url], capture_output=True,
                   timeout=TIMEOUT_S, check=True)


def restore(postgres, url, file):
    """What is there gives way to what is in `file`, in one transaction, also under who is connected."""
    subprocess.run([postgres.programs / "pg_restore", "--clean", "--if-exists", "--single-transaction", "--dbname", url,
                    file], capture_output=True, timeout=TIMEOUT_S, check=True)


def put_in_place(postgres, url, other):
    """The database at `url` becomes the one at `other`, as when another server takes a name over."""
    name, new = (one.rsplit("/", 1)[1] for one in (url, other))
    for one in (name, new):
        postgres.sql(f"ALTER DATABASE {one} ALLOW_CONNECTIONS false")
        postgres.sql(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{one}'")
    postgres.sql(f"ALTER DATABASE {name} RENAME TO {name}_before")
    postgres.sql(f"ALTER DATABASE {new} RENAME TO {name}")
    postgres.sql(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


def revisions(postgres, url):
    """How many changes it counts, of keys, tokens and pages."""
    return postgres.sql("SELECT k.revision, t.revision, p.revision FROM sluice_key_revision k, sluice_token_revision t,"
                        " sluice_page_revision p", url)


def test_a_database_that_was_restored_is_read_again(postgres, url, start, tmp_path):
    """As it was at the backup; and also when it came to the same number of changes again on another way."""
    plenty = "[titles]\napi_limit_minute = 100000\napi_limit_hour = 100000\n"  # until() asks as often as it can
    replicas = [start(url, plenty), start(url, plenty)]
    admin = add_token(replicas[0], url)
    until(lambda: all(gateway.get("/v1/keys").status == 401 for gateway in replicas))

    def change(gateway, method, target, body):
        answer = call(gateway.address, method, target, admin, body)
        assert answer.status in (200, 201), answer.body
        return answer.json()

    def seen(gateway, also, title):
        """Keys by id, whether a token opens anything, titles that are found, and the page as it is shown."""
        keys = gateway.get("/v1/keys", admin).json().get("keys", [])
        found = gateway.get(f"/v1/pages/search?q={title}").json().get("results", [])
        page = gateway.get("/p/the-page")
        return ({key["id"]: key["state"] for key in keys}, gateway.get("/v1/keys", also).status,
                sorted(hit["title"] for hit in found), [mark in page.body for mark in (b"first", b"live", b"later")])

    kept = change(replicas[0], "POST", "/v1/keys", {"provider": "serper", "secret": SECRET})["id"]
    page = change(replicas[0], "POST", "/v1/pages", {"title": "Migration plan", "slug": "the-page", "body": "first"})["id"]
    backup = tmp_path / "backup"
    dump(postgres, url, backup)
    side_url = postgres.make_database()
    restore(postgres, side_url, backup)
    side = start(side_url)
    until(lambda: side.get("/v1/keys", admin).status == 200)

    # As many changes here as there.
    tokens, new_keys = {}, {}
    for name, gateway, place in (("live", replicas[0], url), ("later", side, side_url)):
        tokens[name] = add_token(gateway, place)
        first = change(gateway, "POST", "/v1/keys", {"provider": "serper", "secret": f"serper-wire-{name}-0001"})["id"]
        second = change(gateway, "POST", "/v1/keys", {"provider": "serper", "secret": f"serper-wire-{name}-0002"})["id"]
        new_keys[name] = {first: "active", second: "active"}
        change(gateway, "PATCH", f"/v1/pages/{page}", {"title": f"Migration {name}", "body": name})
    assert revisions(postgres, url) == revisions(postgres, side_url)
    live = ({kept: "active", **new_keys["live"]}, 200, ["Migration live"], [False, True, False])
    for gateway in replicas:
        until(lambda: seen(gateway, tokens["live"], "migration") == live)

    put_in_place(postgres, url, side_url)
    later = ({kept: "active", **new_keys["later"]}, 200, ["Migration later"], [False, False, True])
    for gateway in replicas:
        until(lambda: state(gateway)["state"] == "up" and seen(gateway, tokens["later"], "migration") == later)
        until(lambda: gateway.get("/v1/keys", tokens["live"]).status == 401)

    restore(postgres, url, backup)
    for gateway in replicas:
        until(lambda: seen(gateway, tokens["later"], "migration") ==
              ({kept: "active"}, 401, ["Migration plan"], [True, False, False]))
        assert gateway.post("/v1/search", {"query": "after a restore"}, admin).status == 200


def test_tables_that_are_empty_or_away_for_a_moment_end_nobody(postgres, url, start):
    """As a restore has them, which makes tables first and fills them later."""
    gateway = start(url)
    admin = add_token(gateway, url)
    until(lambda: gateway.get("/v1/keys", admin).status == 200)

    def jobs():
        return sum(gateway.metric("sluice_postgres_jobs_total", outcome=outcome) for outcome in ("succeeded", "failed"))

    tables = postgres.sql("SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'sluice%'", url).split()
    assert len(tables) > 10, tables
    for table in tables:
        postgres.sql(f"TRUNCATE {table} CASCADE", url)
        looked = jobs()
        until(lambda: jobs() > looked + 4)
        assert gateway.get("/").status in (200, 503) and gateway.get("/v1/pages/search?q=anything").status in (200, 503)
        postgres.sql(f"ALTER TABLE {table} RENAME TO moved", url)
        assert gateway.get("/").status in (200, 503) and gateway.get("/v1/pages", admin).status in (200, 401, 503)
        assert gateway.get("/p/nothing").status in (404, 503)
        postgres.sql(f"ALTER TABLE moved RENAME TO {table}", url)
    for table in ("sluice_page", "sluice_page_revision"):
        postgres.sql(f"ALTER TABLE {table} RENAME TO moved", url)
        answer = gateway.get("/")
        assert answer.status == 503 and b"sluice_page" not in answer.body, answer.body
        postgres.sql(f"ALTER TABLE moved RENAME TO {table}", url)
    assert gateway.get("/").status == 503, "the row that counts pages is gone for good"
    assert gateway.get("/healthz").status == 200


def test_commands_reach_the_database_where_no_gateway_runs(url):
    with tempfile.TemporaryDirectory() as folder:
        def command(*args, stdin=""):
            return subprocess.run([SLUICE, *args, "--data-dir", folder], input=stdin, capture_output=True, text=True,
                                  timeout=TIMEOUT_S, env=variables(url))
        empty = command("keys", "list")
        assert empty.returncode == 1 and "`sluice serve` makes its tables" in empty.stderr
        assert command("keys", "add", "serper", stdin=SECRET).returncode == 0
        listed = command("keys", "list", "--json")
        assert [key["last4"] for key in json.loads(listed.stdout)["keys"]] == ["4711"]
        assert command("check", "--json").returncode == 0
    with tempfile.TemporaryDirectory() as elsewhere:
        listed = subprocess.run([SLUICE, "keys", "list", "--json", "--data-dir", elsewhere], capture_output=True,
                                text=True, timeout=TIMEOUT_S, env=variables(url))
        assert [key["last4"] for key in json.loads(listed.stdout)["keys"]] == ["4711"]


def test_replicas_that_start_at_once_make_the_tables_once(postgres, url, start):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        gateways = list(pool.map(lambda _: start(url, keys=True), range(3)))
    assert len({tuple(sorted(key_ids(gateway))) for gateway in gateways}) == 1
    assert len(key_ids(gateways[0])) == 3, "keys of the environment are taken once"
    assert postgres.sql("SELECT store FROM sluice_schema ORDER BY 1", url).split("\n") == ["access", "keys", "pages", "spending"]


def test_another_secrets_key_is_refused_and_so_is_none(url, start):
    gateway = start(url)
    assert add_key(gateway).status == 201
    wrong = refused(url, OTHER_KEY)
    assert wrong.returncode == 1, wrong.stderr
    assert "secrets key" in wrong.stderr and OTHER_KEY not in wrong.stderr and SHARED_KEY not in wrong.stderr
    none = refused(url, SLUICE__SECRETS__KEY="")
    assert none.returncode == 1 and "copy it from another replica" in none.stderr
    assert len(key_ids(gateway)) == 1


def test_tables_of_a_newer_program_are_refused(postgres, url, start):
    gateway = start(url)
    postgres.sql("UPDATE sluice_schema SET version = 99 WHERE store = 'keys'", url)
    newer = refused(url)
    assert newer.returncode == 1 and "version 99" in newer.stderr
    assert finding(gateway, url)["finding"] == "ok", "the tables of tokens are as before"
    assert add_key(gateway).status == 201, "who runs goes on"


def test_the_password_is_shown_nowhere(postgres, url, start):
    postgres.sql("CREATE ROLE walled LOGIN PASSWORD 'hidden-password'")
    with_password = url.replace("postgres@", "walled:hidden-password@")
    gateway = start(url)
    checked = gateway.command("check", env=variables(with_password))
    assert checked.returncode == 0
    examined = gateway.command("doctor", "--json", env=variables(with_password))
    found = next(row for row in json.loads(examined.stdout)["checks"] if row["name"] == "database")
    assert found["finding"] == "bad" and "permission denied" in found["detail"], found
    wrong = gateway.command("check", env=variables("postgresql://walled:hidden-password@host:port/db"))
    assert wrong.returncode == 2 and "database.url" in wrong.stderr
    for text in (checked.stdout, checked.stderr, examined.stdout, wrong.stderr, gateway.output()):
        assert "hidden" not in text


def test_doctor_says_how_the_database_is(url, start, tmp_path):
    def examine():
        done = subprocess.run([SLUICE, "doctor", "--json", "--data-dir", str(tmp_path)], capture_output=True, text=True,
                              timeout=TIMEOUT_S, env=variables(url))
        return next(row for row in json.loads(done.stdout)["checks"] if row["name"] == "database")
    new = examine()
    assert new["finding"] == "hint" and "`sluice serve` makes its tables" in new["detail"]
    start(url)
    assert examine()["finding"] == "ok"


@pytest.mark.parametrize("is_there, fix", [
    (False, "check host and port of database.url"), (True, "check user, password and database of database.url")])
def test_doctor_names_the_fix_of_a_database_before_the_first_start(postgres, tmp_path, is_there, fix):
    url = f"postgresql://postgres@127.0.0.1:{postgres.port if is_there else 1}/no_such_database"
    done = subprocess.run([SLUICE, "doctor", "--json", "--data-dir", str(tmp_path / "not-made-yet")], capture_output=True,
                          text=True, timeout=TIMEOUT_S, env=variables(url))
    found = {row["name"]: row for row in json.loads(done.stdout)["checks"]}
    assert found["database"]["finding"] == "bad" and fix in found["database"]["detail"], found
    assert found["data directory"]["finding"] == "bad" and "--data-dir" in found["data directory"]["detail"]


def usage(gateway):
    """Calls by provider, as that gateway tells them."""
    return {row["provider"]: row["calls"] for row in gateway.get("/v1/usage?by=provider").json()["rows"]}


def test_what_all_replicas_spent_is_in_one_report(upstream, url, start):
    one, other = start(url), start(url)
    assert add_key(one).status == 201
    until(lambda: len(key_ids(other)) == 1)
    for number in range(3):
        assert one.search(f"spent by one {number}").status == 200
    for number in range(2):
        assert other.search(f"spent by the other {number}").status == 200
    # Each makes its own figures exact when it is asked.
    until(lambda: [usage(one), usage(other)] == [{"serper": 5}] * 2)
    with tempfile.TemporaryDirectory() as elsewhere:
        report = subprocess.run([SLUICE, "usage", "--json", "--data-dir", elsewhere], capture_output=True, text=True,
                                timeout=TIMEOUT_S, env=variables(url))
    assert [row["calls"] for row in json.loads(report.stdout)["rows"]] == [5]


def test_a_replica_goes_on_from_what_it_spent_itself(upstream, url, start, tmp_path):
    other = start(url)
    assert add_key(other).status == 201
    base = f"http://127.0.0.1:{upstream.port}/serper"
    statuses = []
    for _ in range(2):
        gateway = Process([SLUICE, "serve", "--data-dir", tmp_path, "--listen", "127.0.0.1:0", "--set", "routing.fast=serper",
                           "--set", f"providers.serper.base_url={base}", "--set", "budgets.providers.serper.calls_day=3"],
                          variables(url))
        address = ("127.0.0.1", int(gateway.wait_for_line(r"listens on 127\.0\.0\.1:(\d+)")[1]))
        for number in range(2):
            query = {"query": f"within a budget {len(statuses)}"}
            statuses.append(call(address, "POST", "/v1/search", body=query).status)
        assert gateway.stop() == 0
    assert statuses == [200, 200, 200, 402]
    assert not (tmp_path / "usage.db").exists()
    assert other.search("with a budget of its own").status == 200


def test_of_two_copies_of_a_data_directory_one_is_told(upstream, url, start, tmp_path):
    """They would spend under one name, and each would write over what the other one spent."""
    folders = [tmp_path / "one", tmp_path / "copy"]
    folders[0].mkdir(mode=0o700)
    first = start(url, data_dir=folders[0])
    assert add_key(first).status == 201 and first.search("before the copy").status == 200
    assert first.stop() == 0
    shutil.copytree(folders[0], folders[1], ignore=shutil.ignore_patterns("*.sock", "*.lock"))
    first, copy = (start(url, data_dir=folder) for folder in folders)
    until(lambda: all(len(key_ids(gateway)) == 1 for gateway in (first, copy)))
    for number in range(3):
        assert copy.search(f"by the copy {number}").status == 200
        assert first.search(f"by the first {number}").status == 200
    first.wait_for_line(r"its data directory is a copy of this one: stop it, remove the file replica there")
    assert "is a copy of this one" not in copy.output()
    until(lambda: usage(copy) == {"serper": 4})
    assert copy.stop() == 0
    (folders[1] / "replica").unlink()
    first.stop()
    first, copy = (start(url, data_dir=folder) for folder in folders)
    until(lambda: all(len(key_ids(gateway)) == 1 for gateway in (first, copy)))
    assert first.search("by the first again").status == 200 and copy.search("by the copy again").status == 200
    until(lambda: [usage(first), usage(copy)] == [{"serper": 6}] * 2)
    assert "is a copy" not in first.output() + copy.output()


def test_a_copy_that_does_not_start_takes_nothing_over(upstream, url, start, tmp_path):
    """Its address is taken, or its secrets key is another one: the one that runs goes on writing."""
    folders = [tmp_path / "one", tmp_path / "copy"]
    folders[0].mkdir(mode=0o700)
    first = start(url, data_dir=folders[0])
    assert add_key(first).status == 201 and first.search("before the copy").status == 200
    shutil.copytree(folders[0], folders[1], ignore=shutil.ignore_patterns("*.sock", "*.lock"))
    for listen, key, reason in ((first.address[1], SHARED_KEY, "in use"), (0, OTHER_KEY, "secrets key")):
        failed = subprocess.run([SLUICE, "serve", "--data-dir", folders[1], "--listen", f"127.0.0.1:{listen}"],
                                capture_output=True, text=True, timeout=TIMEOUT_S, env=variables(url, key))
        assert failed.returncode == 1 and reason in failed.stderr, failed.stderr
        assert first.search(f"after the copy failed: {reason}").status == 200
    until(lambda: usage(first) == {"serper": 3})
    assert first.stop() == 0
    assert "is a copy of this one" not in first.output()


def test_tables_of_the_former_version_that_were_restored_are_brought_up_to_date(postgres, url, start):
    """Restoring its backup leaves in place what only the newer version has."""
    first = start(url)
    assert add_key(first).status == 201
    assert first.post("/v1/pages", {"title": "Migration plan"}).status == 201
    add_token(first, url)
    assert first.stop() == 0
    for table, trigger in (("sluice_key_revision", "sluice_key_noted"), ("sluice_token_revision", "sluice_token_noted"),
                           ("sluice_page_revision", "sluice_page_revision_noted")):
        postgres.sql(f"DROP TRIGGER {trigger} ON {table}", url)
    postgres.sql("INSERT INTO sluice_history SELECT store, 70, 'lost' FROM sluice_schema", url)
    postgres.sql("UPDATE sluice_schema SET version = 1", url)
    again = start(url)
    assert postgres.sql("SELECT store FROM sluice_history WHERE mark = 'lost' AND store <> 'spending'", url) == ""
    assert again.get("/p/migration-plan").status == 200 and again.get("/v1/keys").status == 401


def test_a_certificate_is_checked_for_who_signed_it_and_for_its_name(postgres, url, start, tmp_path):
    def openssl(*args):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", *map(str, args)], check=True, capture_output=True, timeout=TIMEOUT_S)
    for name in ("ca", "strange"):
        openssl("-keyout", tmp_path / f"{name}.key", "-out", tmp_path / f"{name}.pem", "-subj", f"/CN={name}")
    openssl("-keyout", tmp_path / "server.key", "-out", tmp_path / "server.pem", "-subj", "/CN=localhost", "-addext",
            "subjectAltName=DNS:localhost", "-CA", tmp_path / "ca.pem", "-CAkey", tmp_path / "ca.key")
    for file in ("server.key", "server.pem"):
        postgres.give(file, (tmp_path / file).read_bytes())
    for setting, value in (("ssl_cert_file", "server.pem"), ("ssl_key_file", "server.key"), ("ssl", "on")):
        postgres.sql(f"ALTER SYSTEM SET {setting} = '{value}'")
    postgres.sql("SELECT pg_reload_conf()")

    def place(host, options="sslmode=verify-full"):
        return url.replace("127.0.0.1", host) + "?" + options

    def examine(url, ca):
        done = subprocess.run([SLUICE, "doctor", "--json", "--data-dir", str(tmp_path)], capture_output=True, text=True,
                              timeout=TIMEOUT_S, env={**variables(url), "SLUICE__UPSTREAM__CA_FILE": str(tmp_path / ca)})
        return next(row for row in json.loads(done.stdout)["checks"] if row["name"] == "database")
    gateway = start(place("localhost", f"sslmode=verify-full&sslrootcert={tmp_path}/ca.pem"))
    encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'sluice'"
    assert state(gateway)["state"] == "up" and postgres.sql(encrypted, url) == "t"
    assert examine(place("localhost"), "ca.pem")["finding"] == "ok"
    strange = examine(place("localhost"), "strange.pem")
    assert strange["finding"] == "bad" and "tls_failed" in strange["detail"] and "certificate verify" in strange["detail"]
    misnamed = examine(place("127.0.0.1"), "ca.pem")
    assert misnamed["finding"] == "bad" and "tls_failed" in misnamed["detail"] and "does not match" in misnamed["detail"]
