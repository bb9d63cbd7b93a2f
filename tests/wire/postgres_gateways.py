"""What the tests of gateways with a PostgreSQL share: the server, databases in it, gateways on them."""
import json

import pytest

from wire import Postgres, Sluice, call

SECRET = "serper-wire-secret-4711"
SHARED_KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
OTHER_KEY = "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"


@pytest.fixture(scope="module")
def postgres():
    server = Postgres()
    yield server
    server.stop()


@pytest.fixture
def url(postgres):
    return postgres.make_database()


def variables(url, key=SHARED_KEY):
    return {"GATEWAY_DATABASE_URL": url, "SLUICE__SECRETS__KEY": "env:SHARED_KEY", "SHARED_KEY": key,
            "SLUICE__DATABASE__TIMEOUT_S": "2"}


@pytest.fixture
def start(upstream):
    """Starts gateways on a database; ends them when the test is over."""
    running = []

    def one(url, settings="", keys=False, **options):
        env = {**variables(url), **options.pop("env", {})}
        running.append(Sluice(upstream, settings, env=env, keys=keys, **options))
        return running[-1]
    yield one
    for gateway in running:
        assert gateway.stop() == 0, gateway.output()
        assert SECRET not in gateway.output() and SHARED_KEY not in gateway.output()


def add_key(gateway, secret=SECRET, provider="serper", **fields):
    return gateway.post("/v1/keys", {"provider": provider, "secret": secret, **fields})


def key_ids(gateway):
    return [key["id"] for key in gateway.get("/v1/keys").json()["keys"]]


def state(gateway):
    answer = call(gateway.socket_path, "GET", "/v1/status")
    return answer.json()["database"]


def finding(gateway, url):
    checks = json.loads(gateway.command("doctor", "--json", env=variables(url)).stdout)["checks"]
    return next(check for check in checks if check["name"] == "database")


def add_token(gateway, url):
    """The header of a new admin token."""
    made = gateway.command("tokens", "add", "--scopes", "admin", "--json", env=variables(url))
    assert made.returncode == 0, made.stderr
    return {"Authorization": f"Bearer {json.loads(made.stdout)['token']}"}
