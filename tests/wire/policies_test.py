"""`sluice test`: policies held against a configuration, as a pipeline runs it."""
import datetime
import json
import os
import pathlib
import subprocess

import pytest

from wire import SLUICE, TIMEOUT_S

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "config/policies.example.yaml"

HOLDS = """
policies:
  - name: serper comes first
    request: {query: kiln}
    expect: {first: serper}
"""
FAILS = HOLDS + """
  - name: brave comes first
    request: {query: kiln}
    given: {keys: [serper]}
    expect: {first: brave}
"""


def run(folder, *args, text=None, env=None):
    if text is not None:
        (folder / "policies.yaml").write_text(text)
    return subprocess.run([SLUICE, "test", *map(str, args)], capture_output=True, text=True, timeout=TIMEOUT_S, cwd=folder,
                          stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], **(env or {})})


def test_the_example_holds_for_the_defaults(tmp_path):
    result = run(tmp_path, EXAMPLE)
    assert result.returncode == 0, (result.stdout, result.stderr)
    assert result.stdout.splitlines()[-1] == "7 policies hold" and result.stderr == ""


def test_a_policy_that_does_not_hold_says_what_is_otherwise_and_why(tmp_path):
    result = run(tmp_path, "policies.yaml", text=FAILS)
    assert result.returncode == 1 and result.stderr == ""
    assert result.stdout.splitlines() == [
        "ok    serper comes first",
        "FAIL  brave comes first (policies.yaml:7)",
        "      first: expected first provider brave, got serper: brave was skipped: skipped_no_key, no key is configured",
        "1 policy fails, 1 holds"]


def test_it_is_the_configuration_that_decides(tmp_path):
    assert run(tmp_path, "policies.yaml", text=HOLDS).returncode == 0
    assert run(tmp_path, "policies.yaml", "--set", "routing.fast=brave,serper").returncode == 1
    (tmp_path / "sluice.toml").write_text('[providers.serper]\nenabled = false\n')
    result = run(tmp_path, "policies.yaml")
    assert result.returncode == 1 and "switched off by providers.serper.enabled" in result.stdout
    assert run(tmp_path, "policies.yaml", env={"SLUICE__PROVIDERS__SERPER__ENABLED": "true"}).returncode == 0


def test_as_json_each_policy_has_its_decision(tmp_path):
    result = run(tmp_path, "policies.yaml", "--json", text=FAILS)
    report = json.loads(result.stdout)
    assert result.returncode == 1 and report["ok"] is False and report["file"] == "policies.yaml"
    assert abs(datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(
        report["at"].replace("Z", "+00:00"))) < datetime.timedelta(minutes=5)
    first, second = report["policies"]
    assert first == {"name": "serper comes first", "line": 3, "holds": True, "differences": [], "decision": first["decision"]}
    assert first["decision"]["asks"] == ["serper", "brave"] and first["decision"]["usd"] == 0.006
    assert [d["member"] for d in second["differences"]] == ["first"]
    assert second["decision"]["skips"][0]["reason"] == "skipped_no_key"


@pytest.mark.parametrize("text, expected", [
    ("", "policies.yaml:1: the file is empty"),
    (HOLDS.replace("first", "fist"), "policies.yaml:5: policies[0].expect: unknown member 'fist'; did you mean 'first'?"),
    ("policies: &all []\nagain: *all\n", "policies.yaml:1: anchors (&name) are not taken"),
    ("policies: [\n", "policies.yaml:2: "),
    ("#" * (1024 * 1024 + 1), "1048576"),
], ids=["empty", "unknown member", "anchor", "no yaml", "too large"])
def test_a_file_that_can_not_be_used_ends_with_2(tmp_path, text, expected):
    result = run(tmp_path, "policies.yaml", text=text)
    assert result.returncode == 2 and expected in result.stderr and result.stdout == ""


def test_a_file_that_is_not_there_and_a_wrong_configuration_end_with_2(tmp_path):
    missing = run(tmp_path, "nowhere.yaml")
    assert missing.returncode == 2 and "nowhere.yaml" in missing.stderr
    wrong = run(tmp_path, "policies.yaml", "--set", "routing.fsat=serper", text=HOLDS)
    assert wrong.returncode == 2 and "did you mean routing.fast" in wrong.stderr
    as_json = run(tmp_path, "policies.yaml", "--json", text="policies: 5")
    assert as_json.returncode == 2
    assert json.loads(as_json.stdout)["errors"] == [{"line": 1, "message": "policies: expected a list of policies"}]


def test_nothing_is_left_behind_and_no_key_is_needed_or_used(tmp_path):
    """Neither the data directory nor what is in it, and a gateway may be running there."""
    result = run(tmp_path, "policies.yaml", text=HOLDS + "given: {keys: []}\n", env={"SERPER_API_KEYS": "a-key-of-the-environment"})
    assert result.returncode == 1 and "got nobody" in result.stdout
    assert sorted(os.listdir(tmp_path)) == ["policies.yaml"]


def test_no_colour_where_nobody_sees_it(tmp_path):
    assert "\033" not in run(tmp_path, "policies.yaml", text=FAILS, env={"TERM": "xterm"}).stdout
