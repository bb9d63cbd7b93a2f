"""Every command of the guides, run as it stands there: only the address, the binary and the data
directory are replaced by those of the test."""
import json
import os
import pathlib
import re
import subprocess

import pytest

from wire import SLUICE, TIMEOUT_S, Sluice

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md"))]
# Shown for people, and covered elsewhere: they build, or run for minutes.
LONG = re.compile(r"^(\w+=\S+ )*(\./run|\./test|bench/web|bench/cluster|bench/titles|bench/pages)\b")
# What tests/wire/package_test.py does: build the package, and read the Dockerfile as the image.
PACKAGED = re.compile(r"^(cpack|docker) ")


def commands(page):
    text = (ROOT / page).read_text()
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            line = line.split("  #")[0].strip()
            if line:
                yield line


CASES = [pytest.param(page, line, id=f"{page}: {line[:60]}") for page in PAGES for line in commands(page)]


@pytest.fixture(scope="module")
def token_id(sluice):
    return json.loads(sluice.command("tokens", "add", "--json").stdout)["id"]


@pytest.fixture(scope="module")
def key_id(sluice):
    return json.loads(sluice.command("keys", "list", "--json").stdout)["keys"][0]["id"]


@pytest.fixture(scope="module")
def page_id(sluice):
    return json.loads(sluice.command("pages", "add", "A page of the guides", "--json").stdout)["id"]


@pytest.mark.parametrize("page, line", CASES)
def test_command(sluice, token_id, key_id, page_id, page, line):
    if PACKAGED.match(line):
        for path in re.findall(r"packaging/\S+", line):
            assert (ROOT / path).is_file()
        return
    if LONG.match(line):
        script = re.search(r"(\./run|\./test|bench/web|bench/cluster|bench/titles|bench/pages)", line)[1]
        assert os.access(ROOT / script, os.X_OK)
        return
    line = line.replace("127.0.0.1:8080", f"127.0.0.1:{sluice.port}").replace("revoke ID", f"revoke {token_id}")
    line = re.sub(r"(pages \w+|v1/pages/) ?ID", lambda match: match[1] + " " * match[1].startswith("pages") + str(page_id), line)
    line = re.sub(r"(set|disable|test|remove) ID", rf"\1 {key_id}", line).replace("sluice-data/", f"{sluice.data_dir}/")
    line = re.sub(r"build/release/sluice (\w+)( add| list| revoke| purge| set| disable| test| remove| show| update| archive| claim| release| import)?(?!.*--data-dir)", rf"{SLUICE} \1\2 --data-dir {sluice.data_dir}", line)
    line = line.replace("build/release/sluice", SLUICE).replace("config/", f"{ROOT}/config/")
    workdir = sluice.data_dir / "reader"
    workdir.mkdir(exist_ok=True)
    (workdir / "key.txt").write_text("a-key-of-the-guides-0001\n")
    (workdir / "policies.yaml").write_text((ROOT / "config/policies.example.yaml").read_text())
    (workdir / "pin.txt").write_text("2468\n")
    (workdir / "flags.md").write_text("# Flags\n")
    (workdir / "pages.ndjson").write_text('{"title":"Terraform modules","body":"Text."}\n')
    (workdir / "handbook").mkdir(exist_ok=True)
    (workdir / "handbook" / "start.md").write_text("# Start\n")
    (workdir / "sluice.toml").write_text("[lanes.fast]\ndeadline_s = 5\n")
    result = subprocess.run(["bash", "-ec", line], capture_output=True, text=True, timeout=TIMEOUT_S, cwd=workdir,
                            stdin=subprocess.DEVNULL, env={**os.environ, "SERPER_API_KEYS": "key"})
    assert result.returncode == 0, (line, result.stdout, result.stderr)
    if line.endswith("/v1/keys"):
        assert json.loads(result.stdout)["keys"]
    elif "/v1/pages" in line:
        assert '"title"' in result.stdout or "-X DELETE" in line, result.stdout
    elif line.startswith("curl"):
        kinds = {"explain": "explanation", "usage": "usage"}
        expected = next((kind for word, kind in kinds.items() if word in line), "search")
        assert json.loads(result.stdout).get("object") == expected, (line, result.stdout)


def test_toml_blocks_are_right(tmp_path):
    for page in PAGES:
        for number, block in enumerate(re.findall(r"^```toml\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)):
            block = re.sub(r"^tls_.*\n", "", block, flags=re.M)  # files of the reader's machine
            path = tmp_path / f"{number}.toml"
            path.write_text(block)
            options = ["--config", path]
            if re.search(r"^\[(title_)?faults\.", block, re.M):
                options = ["--set", f"replay.dir={ROOT}/demo/recordings", "--set", f"replay.faults={path}"]
            result = subprocess.run([SLUICE, "check", *options], capture_output=True, text=True, timeout=TIMEOUT_S)
            assert result.returncode == 0, (page, block, result.stderr)


def test_policies_of_the_guide_hold(tmp_path):
    blocks = re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs/policy-tests.md").read_text(), re.M | re.S)
    assert blocks
    for number, block in enumerate(blocks):
        path = tmp_path / f"{number}.yaml"
        path.write_text(block)
        result = subprocess.run([SLUICE, "test", path, "--set", "budgets.anonymous.usd_day=5"], capture_output=True, text=True,
                                timeout=TIMEOUT_S, cwd=tmp_path)
        assert result.returncode == 0, (block, result.stdout, result.stderr)


def anchors(path):
    """What headings of a page are linked to by, as GitHub makes it."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
    headings = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in re.findall(r"^#+ +(.*?) *$", text, re.M))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere():
    for page in [*PAGES, "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]:
        base = (ROOT / page).parent
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", (ROOT / page).read_text()):
            path = base / target if target else ROOT / page
            assert path.exists(), f"{page} links to {target}"
            assert not anchor or anchor in anchors(path), f"{page} links to {target}#{anchor}"
