"""The completion scripts in the shells that they are for, and the manual page: whatever the help says of
a command, they know."""
import os
import pty
import re
import select
import subprocess
import time

import pytest

from wire import ROOT, SLUICE, TIMEOUT_S


def run(*args, **more):
    return subprocess.run([str(arg) for arg in args], capture_output=True, text=True, timeout=TIMEOUT_S, check=True,
                          stdin=subprocess.DEVNULL, **more).stdout


def help_of(*path):
    """The commands and the options that the help of a command lists."""
    text = run(SLUICE, *path, "--help")
    _, _, commands = text.partition("Subcommands:\n")
    declared = re.split(r"^Examples?:", text, flags=re.M)[0]
    return re.findall(r"^  (\w+)  ", commands, re.M), re.findall(r"(?:^  |,)(--?[a-z][\w-]*)", declared, re.M)


def tree(*path):
    commands, options = help_of(*path)
    yield path, commands, options
    for command in commands:
        yield from tree(*path, command)


TREE = list(tree())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        (path / shell).write_text(run(SLUICE, "completion", shell))
    (path / "a settings file.toml").write_text("")
    return path


def bash(folder, *words):
    """What bash offers for the last word."""
    script = (f'source {folder}/bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sluice; printf "%s\\n" "${{COMPREPLY[@]}}"')
    offered = run("bash", "--norc", "-uc", script, "bash", "sluice", *words, cwd=folder)
    return [line for line in offered.splitlines() if line]


def fish(folder, *words):
    line = " ".join(["sluice", *words])
    # Text that is to be completed is quoted by fish's own rules; these words need none.
    out = run("fish", "--no-config", "-c", f"source {folder}/fish; complete -C '{line}'", cwd=folder,
              env={**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)})
    return [line.split("\t")[0] for line in out.splitlines()]


@pytest.mark.parametrize("path, commands, options", TREE, ids=lambda value: " ".join(value) if isinstance(value, tuple) else "")
@pytest.mark.parametrize("complete", [bash, fish], ids=["bash", "fish"])
def test_what_the_help_lists_is_offered(folder, complete, path, commands, options):
    offered = complete(folder, *path, "")
    assert set(commands) <= set(offered), offered
    if not commands:
        assert not set(help_of()[0]) & set(offered), "commands of another place"
    assert set(option for option in options if option.startswith("--")) <= set(complete(folder, *path, "--"))


@pytest.mark.parametrize("complete", [bash, fish], ids=["bash", "fish"])
@pytest.mark.parametrize("words, expected", [
    (["se"], {"serve", "search"}), (["keys", "en"], {"enable"}), (["usage", "--by", ""], {"provider", "token", "key", "day"}),
    (["serve", "--log-level", "de"], {"debug"}), (["completion", "z"], {"zsh"}),
    (["keys", "add", "ser"], {"serper"}),
    # The value of an option is no command, though it reads like one.
    (["tokens", "add", "--label", "revoke", "--expires"], {"--expires-in"}),
    (["search", "keys", "--lane", "f"], {"fast"}),
    (["serve", "--listen", ""], set()),
])
def test_words(folder, complete, words, expected):
    assert set(complete(folder, *words)) == expected


def test_bash_takes_an_equals_sign_for_a_word(folder):
    assert bash(folder, "usage", "--by", "=", "d") == ["day"]
    assert set(bash(folder, "usage", "--by", "=")) == {"provider", "token", "key", "day"}
    assert bash(folder, "usage", "--by", "=", "day", "--sin") == ["--since"]


def test_paths(folder):
    assert bash(folder, "serve", "--config", "a set") == ["a settings file.toml"]
    assert fish(folder, "serve", "--config", "a") == ["a settings file.toml"]


class Zsh:
    """zsh at a terminal: it completes for nobody else."""

    def __init__(self, folder):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.environ.update({"HOME": str(folder), "TERM": "dumb", "PS1": "", "ZDOTDIR": str(folder)})
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.seen = ""
        self.send("PS1=; unsetopt zle_bracketed_paste; setopt list_ambiguous; autoload -U compinit; compinit -D; "
                  f"source {folder}/zsh; sluice() {{ print -r -- \\<\\<$*\\>\\> }}; echo re''ady\n")
        self.wait_for("ready")

    def send(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, text):
        end = time.monotonic() + TIMEOUT_S
        while text not in self.seen:
            assert select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0], self.seen
            self.seen += os.read(self.terminal, 4096).decode(errors="replace").replace("\r", "")
        before, self.seen = self.seen.split(text, 1)
        return before

    def completed(self, line):
        """What a line with one way to go on becomes: a function in place of sluice says how it was called."""
        self.send(line + "\t\n")
        self.wait_for("<<")
        return self.wait_for(">>")

    def stop(self):
        os.close(self.terminal)
        os.waitpid(self.process, 0)


@pytest.fixture(scope="module")
def zsh(folder):
    shell = Zsh(folder)
    yield shell
    shell.stop()


@pytest.mark.parametrize("line, expected", [
    ("sluice ser", "serve"), ("sluice keys ena", "keys enable"), ("sluice usage --by to", "usage --by token"),
    ("sluice serve --log-level de", "serve --log-level debug"), ("sluice completion z", "completion zsh"),
    ("sluice tokens add --label revoke --expires", "tokens add --label revoke --expires-in"),
    ("sluice serve --config a", "serve --config a settings file.toml"),
    ("sluice search -n 3 --ex", "search -n 3 --explain"), ("sluice keys set abc --we", "keys set abc --weight"),
])
def test_zsh(zsh, line, expected):
    assert zsh.completed(line).rstrip(" =") == expected


def test_zsh_has_a_function_for_every_command(folder):
    script = (folder / "zsh").read_text()
    for path, _, options in TREE:
        body = re.search(rf"^{'_'.join(['_sluice', *path])}\(\) {{\n(.*?)^}}", script, re.M | re.S)
        assert body, path
        for option in options:
            assert f"'*{option}[" in body[1] or f"'*{option}=[" in body[1], (path, option)


def test_the_manual_page_is_well_formed_and_whole():
    page = ROOT / "packaging" / "sluice.1"
    lint = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", page], capture_output=True, text=True, timeout=TIMEOUT_S)
    # No date: the page belongs to a version, which it names.
    findings = [line for line in lint.stdout.splitlines() if "missing date" not in line]
    assert not findings
    shown = re.sub(r".\x08", "", run("mandoc", "-T", "utf8", "-O", "width=400", page))
    for path, _, options in TREE:
        section = shown.split(f"\n   sluice {' '.join(path)}\n")[1].split("\n   sluice ")[0] if path else shown
        for option in options:
            assert option in section, (path, option)


def test_an_unknown_shell_is_refused():
    result = subprocess.run([SLUICE, "completion", "tcsh"], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert result.returncode == 2 and "bash" in result.stderr + result.stdout
