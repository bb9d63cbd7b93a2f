"""One gateway and a real Redis that works, dies, hangs and comes back."""
import concurrent.futures
import json
import signal
import subprocess

import pytest

from cli_test import run
from wire import Redis, RedisSentinel, Sluice, until


@pytest.fixture
def redis():
    server = Redis()
    yield server
    server.stop()


def started(upstream, redis, settings="", **env):
    return Sluice(upstream, settings, env={"GATEWAY_REDIS_URL": redis.url, **env})


def state(gateway):
    return gateway.get("/v1/status").json()["redis"]


def test_without_redis_nothing_is_shared_and_status_says_so(upstream):
    gateway = Sluice(upstream)
    assert state(gateway) == {"state": "off"}
    assert gateway.metric("sluice_redis_up") == 0
    assert gateway.stop() == 0


def test_an_optional_redis_that_dies_hurts_nobody_and_is_told_once(upstream, redis):
    gateway = started(upstream, redis)
    assert state(gateway) == {"state": "up", "required": False, "server": f"127.0.0.1:{redis.port}"}
    redis.stop()
    until(lambda: state(gateway)["state"] == "down")
    assert state(gateway)["reason"] in ("closed", "connect_failed")
    assert gateway.get("/readyz").status == 200
    for number in range(20):
        assert gateway.search(f"without redis {number}").status == 200
    redis.start()
    until(lambda: state(gateway)["state"] == "up")
    assert gateway.search("with redis again").status == 200
    assert gateway.stop() == 0
    assert gateway.output().count('"event":"redis_unavailable"') == 1
    assert gateway.output().count('"event":"redis_available"') == 2


def test_a_required_redis_that_is_away_refuses_searches_clearly_until_it_is_back(upstream, redis):
    gateway = started(upstream, redis, GATEWAY_REDIS_REQUIRED="true")
    assert gateway.get("/readyz").status == 200
    assert state(gateway)["refusing"] is False
    assert gateway.search("kept before").status == 200
    redis.send_signal(signal.SIGSTOP)
    until(lambda: state(gateway)["state"] == "down")
    assert state(gateway)["refusing"] is True
    answer = gateway.get("/readyz")
    assert answer.status == 503 and "redis" in answer.json()["detail"]
    answer = gateway.search("not now")
    assert answer.status == 503
    assert answer.json()["code"] == "unavailable" and answer.json()["blame"] == "gateway"
    assert answer.header("Retry-After")
    assert gateway.search("kept before").json()["cached"], "what is in memory needs no redis"
    redis.send_signal(signal.SIGCONT)
    until(lambda: gateway.get("/readyz").status == 200)
    assert gateway.search("not now").status == 200
    assert gateway.stop() == 0


@pytest.mark.parametrize("breaks, mends", [
    (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")),
    (("ACL", "SETUSER", "default", "-@scripting"), ("ACL", "SETUSER", "default", "+@scripting")),
    (("ACL", "SETUSER", "default", "-set"), ("ACL", "SETUSER", "default", "+set")),
])
def test_a_required_redis_that_is_up_and_does_nothing_is_no_readiness(upstream, redis, breaks, mends):
    gateway = started(upstream, redis, GATEWAY_REDIS_REQUIRED="true")
    assert gateway.search("kept before").status == 200
    redis.command(*breaks)
    assert gateway.search("not now").status == 503
    for _ in range(3):
        answer = gateway.get("/readyz")
        assert answer.status == 503 and "redis" in answer.json()["detail"]
    assert state(gateway)["refusing"] is True
    assert gateway.search("kept before").json()["cached"]
    redis.command(*mends)
    until(lambda: gateway.get("/readyz").status == 200)
    assert state(gateway)["refusing"] is False
    assert gateway.search("not now").status == 200
    redis.command(*breaks)
    assert gateway.search("nor now").status == 503
    redis.command(*mends)
    until(lambda: gateway.search("nor now").status == 200)
    assert state(gateway)["refusing"] is False, "a search found out"
    assert gateway.stop() == 0


def test_what_is_in_memory_waits_for_no_redis(upstream, redis):
    """One search hangs on a Redis that stands still; others, which need nothing of it, are answered meanwhile."""
    gateway = started(upstream, redis, "[redis]\ntimeout_s = 20\n[lanes.fast]\ndeadline_s = 30\n")
    assert gateway.search("kept before").status == 200
    redis.send_signal(signal.SIGSTOP)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(gateway.search, "asks redis first")
        for _ in range(50):
            assert gateway.search("kept before").json()["cached"]
        assert not waiting.done()
        redis.send_signal(signal.SIGCONT)
        assert waiting.result().status == 200
    assert gateway.stop() == 0


def test_who_looks_in_a_redis_that_hangs_turns_nobody_away(upstream, redis):
    """It has not got the lane's one place meanwhile, so of two who need one only one waits in vain."""
    gateway = started(upstream, redis, "[redis]\ntimeout_s = 20\n[lanes.fast]\ndeadline_s = 30\nconcurrency = 1\n"
                      "queue_timeout_s = 0.5\n")
    redis.send_signal(signal.SIGSTOP)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        looking = pool.submit(gateway.search, "asks redis first")
        until(lambda: gateway.metric("gateway_cache_events_total", event="miss") == 1)
        others = [pool.submit(gateway.search, "asks for itself", cache="bypass") for _ in range(2)]
        concurrent.futures.wait(others, return_when=concurrent.futures.FIRST_COMPLETED)
        assert not looking.done()
        redis.send_signal(signal.SIGCONT)
        assert sorted(other.result().status for other in others) == [200, 503]
        assert looking.result().status == 200
    assert gateway.metric("gateway_scheduler_shed_total", lane="fast") == 1
    assert gateway.stop() == 0


def test_a_gateway_starts_without_its_redis_and_finds_it_later(upstream, redis):
    redis.stop()
    gateway = started(upstream, redis, GATEWAY_REDIS_REQUIRED="true")
    assert gateway.get("/readyz").status == 503
    redis.start()
    until(lambda: gateway.get("/readyz").status == 200)
    assert gateway.stop() == 0


def test_the_password_is_shown_nowhere(upstream, redis):
    url = f"redis://:hidden-password@127.0.0.1:{redis.port}"
    gateway = Sluice(upstream, env={"GATEWAY_REDIS_URL": url})
    shown = [gateway.get("/v1/status").body.decode(), gateway.get("/metrics").body.decode()]
    checked = gateway.command("check", env={"GATEWAY_REDIS_URL": url})
    assert checked.returncode == 0
    examined = gateway.command("doctor", "--json", env={"GATEWAY_REDIS_URL": url})
    finding = next(row for row in json.loads(examined.stdout)["checks"] if row["name"] == "redis")
    assert finding["finding"] == "hint" and "login_refused" in finding["detail"]
    assert "check user and password of redis.url" in finding["detail"]
    wrong = gateway.command("check", env={"GATEWAY_REDIS_URL": "redis://hidden-password@host:port"})
    assert wrong.returncode == 2 and "address 1" in wrong.stderr
    assert gateway.stop() == 0
    for text in (*shown, checked.stdout, checked.stderr, examined.stdout, wrong.stderr, gateway.output()):
        assert "hidden" not in text


def test_doctor_asks_the_gateway_for_a_redis_that_only_that_knows(upstream, redis):
    gateway = Sluice(upstream, args=["--set", f"redis.url={redis.url}"])
    try:
        def told():
            checks = json.loads(gateway.command("doctor", "--json").stdout)["checks"]
            return next(check for check in checks if check["name"] == "redis")
        until(lambda: "running gateway shares" in told()["detail"] and told()["finding"] == "ok")
        redis.stop()
        until(lambda: told()["finding"] == "hint" and "can't use" in told()["detail"])
    finally:
        assert gateway.stop() == 0


def test_doctor_logs_in_to_redis(upstream, redis):
    gateway = started(upstream, redis)
    examined = gateway.command("doctor", "--json", env={"GATEWAY_REDIS_URL": redis.url})
    finding = next(row for row in json.loads(examined.stdout)["checks"] if row["name"] == "redis")
    assert finding == {"name": "redis", "finding": "ok",
                       "detail": f"127.0.0.1:{redis.port} answers"}
    assert gateway.stop() == 0


@pytest.mark.parametrize("policy, finding", [("volatile-ttl", "ok"), ("noeviction", "ok"),
                                             ("allkeys-lru", "hint"), ("volatile-lru", "hint")])
def test_doctor_warns_of_a_redis_that_forgets_counts_first(upstream, redis, policy, finding):
    redis.command("CONFIG", "SET", "maxmemory", "100mb")
    redis.command("CONFIG", "SET", "maxmemory-policy", policy)
    gateway = started(upstream, redis)
    examined = gateway.command("doctor", "--json", env={"GATEWAY_REDIS_URL": redis.url})
    found = next(row for row in json.loads(examined.stdout)["checks"] if row["name"] == "redis")
    assert found["finding"] == finding
    assert (policy in found["detail"]) == (finding == "hint")
    assert gateway.stop() == 0


def test_a_failover_of_sentinels_is_followed_without_a_restart(upstream, redis):
    """The master is killed, sentinels make its replica the master, and both replicas of the gateway share through that."""
    replica = Redis("--replicaof", "127.0.0.1", redis.port)
    sentinel = RedisSentinel(redis)
    url = f"redis+sentinel://127.0.0.1:1,127.0.0.1:{sentinel.port}/main"
    gateways = [Sluice(upstream, env={"GATEWAY_REDIS_URL": url}) for _ in range(2)]
    try:
        assert [state(gateway)["server"] for gateway in gateways] == [f"127.0.0.1:{redis.port}"] * 2
        until(lambda: "master-link-status\nok" in sentinel.command("sentinel", "replicas", "main"))
        redis.stop()
        for gateway in gateways:
            until(lambda: state(gateway)["state"] == "up" and state(gateway)["server"] == f"127.0.0.1:{replica.port}")
        assert gateways[0].search("after the failover").status == 200
        until(lambda: int(replica.command("dbsize")) > 0)
        assert gateways[1].search("after the failover").json()["cached"]
        assert all(gateway.stop() == 0 for gateway in gateways)
    finally:
        sentinel.stop()
        replica.stop()


def is_a_replica(redis):
    try:
        return "role:slave" in redis.command("info", "replication")
    except subprocess.CalledProcessError:
        return False  # a sentinel that makes it one closes the connections of its clients


def test_an_old_master_that_comes_back_takes_no_write_of_ours(upstream, redis):
    """It was killed and comes back empty, as a master for a moment; then it is made the master again while both run."""
    replica = Redis("--replicaof", "127.0.0.1", redis.port)
    sentinel = RedisSentinel(redis)
    url = f"redis+sentinel://127.0.0.1:{sentinel.port}/main"
    gateways = [Sluice(upstream, env={"GATEWAY_REDIS_URL": url}) for _ in range(2)]
    number = iter(range(100_000))

    def serves_at(port):
        """Searches go on meanwhile, whatever the servers are by then."""
        for gateway in gateways:
            assert gateway.search(f"during a failover {next(number)}").status == 200
        return all(state(gateway)["state"] == "up" and state(gateway)["server"] == f"127.0.0.1:{port}"
                   for gateway in gateways)

    def shares():
        query = f"shared {next(number)}"
        assert gateways[0].search(query).status == 200
        return gateways[1].search(query).json()["cached"]
    try:
        until(lambda: "master-link-status\nok" in sentinel.command("sentinel", "replicas", "main"))
        redis.stop()
        until(lambda: serves_at(replica.port))
        before = [gateway.metric("sluice_redis_faults_total", reason="moved") for gateway in gateways]
        redis.start()
        assert "role:master" in redis.command("info", "replication")
        # Sentinels make it a replica of the new one within ten seconds; nobody is led back to it by then.
        until(lambda: serves_at(replica.port) and is_a_replica(redis))
        assert [gateway.metric("sluice_redis_faults_total", reason="moved") for gateway in gateways] == before
        until(shares)
        until(lambda: "master-link-status\nok" in sentinel.command("sentinel", "replicas", "main"))
        until(lambda: sentinel.command("sentinel", "failover", "main") == "OK")
        until(lambda: serves_at(redis.port))
        until(shares)
        assert all(gateway.stop() == 0 for gateway in gateways)
    finally:
        sentinel.stop()
        replica.stop()


def test_sentinels_that_know_no_such_master_are_told(upstream, redis, tmp_path):
    sentinel = RedisSentinel(redis)
    try:
        url = f"redis+sentinel://127.0.0.1:{sentinel.port}/mian"
        gateway = started(upstream, redis, GATEWAY_REDIS_URL=url)
        assert state(gateway)["state"] == "down" and state(gateway)["reason"] == "master_unknown"
        doctor = run("doctor", "--data-dir", gateway.data_dir, "--set", f"redis.url={url}", cwd=tmp_path)
        assert "can't be used: master_unknown" in doctor.stdout
        assert gateway.stop() == 0
    finally:
        sentinel.stop()


def test_doctor_warns_of_a_list_with_two_masters(redis, tmp_path):
    (tmp_path / "sluice-data").mkdir(mode=0o700)
    other = Redis()
    replica = Redis("--replicaof", "127.0.0.1", redis.port)
    try:
        two = run("doctor", "--set", f"redis.url={redis.url},{other.url}", cwd=tmp_path).stdout
        assert f"127.0.0.1:{redis.port} and 127.0.0.1:{other.port} both take writes" in two
        one = run("doctor", "--set", f"redis.url={redis.url},{replica.url}", cwd=tmp_path).stdout
        assert f"127.0.0.1:{redis.port} answers" in one and "both" not in one
    finally:
        other.stop()
        replica.stop()
