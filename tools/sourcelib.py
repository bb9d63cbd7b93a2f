"""What the checks share: which files there are, C++ text without comments, tables in Markdown."""

import dataclasses
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Finding:
    """One violation; `line` 0 speaks of the whole file."""

    path: str
    line: int
    message: str

    def __str__(self):
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.message}"


def files(*suffixes, under=(), root=ROOT):
    """Paths, relative to `root`, of the files that belong to the project: tracked ones and new ones
    that Git does not ignore. Without a repository (a source archive), everything but the builds
    and what scripts/setup fetched."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, capture_output=True, check=False)
    if listed.returncode == 0:
        names = listed.stdout.decode().split("\0")
    else:
        names = [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()]
        names = [n for n in names if not n.startswith(("build/", ".deps/", ".git/"))]
    return sorted(
        n for n in set(names)
        if n and (not suffixes or n.endswith(suffixes))
        and (not under or n.startswith(tuple(f"{u}/" for u in under)))
        and (root / n).is_file())


def read(path, root=ROOT):
    return (root / path).read_text(encoding="utf-8", errors="replace")


# In this order: what begins first wins, so a quote inside a comment is a comment.
_LEXEME = re.compile(
    r'(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)'
    r'|(?P<raw>R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)")'
    r'|(?P<string>"(?:\\.|[^"\\\n])*")'
    r"|(?P<number>\b\d[\w.]*(?:'[\w.]+)+)"
    r"|(?P<char>'(?:\\.|[^'\\\n])+')",
    re.DOTALL)


def without_comments(text, keep_strings=False):
    """C++ with comments and, unless asked otherwise, the insides of literals turned into spaces.
    Lines and columns stay where they are."""

    def blank(match):
        kind = match.lastgroup if match.lastgroup != "tag" else "raw"
        if kind == "number" or (keep_strings and kind != "comment"):
            return match.group()
        spaces = re.sub(r"[^\n]", " ", match.group())
        if kind == "comment" or len(spaces) < 2:
            return spaces
        return match.group()[0] + spaces[1:-1] + match.group()[-1]

    return _LEXEME.sub(blank, text)


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def includes(text):
    """(line, name, is_ours) of each #include; ours are those in quotes."""
    code = without_comments(text, keep_strings=True)
    for match in _INCLUDE.finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        yield line, match.group(1) or match.group(2), match.group(1) is not None


def under(markdown, heading):
    """The lines below `heading`, as (number, line)."""
    lines = list(enumerate(markdown.split("\n"), 1))
    for number, line in lines:
        if re.fullmatch(rf"#+ {re.escape(heading)}", line):
            return lines[number:]
    raise ValueError(f"there is no heading '{heading}'")


def block(markdown, heading):
    """The first fenced block below `heading`, as (number, line)."""
    lines = under(markdown, heading)
    fences = [i for i, (_, line) in enumerate(lines) if line.startswith("```")]
    if len(fences) < 2:
        raise ValueError(f"there is no block under the heading '{heading}'")
    return lines[fences[0] + 1:fences[1]]


def table(markdown, heading):
    """Rows of the first table below `heading`, as (number, cells); header and ruler left out."""
    rows = []
    for number, line in under(markdown, heading):
        if line.startswith("|"):
            rows.append((number, [cell.strip() for cell in line.strip().strip("|").split("|")]))
        elif rows or line.startswith("#"):
            break
    if len(rows) < 3:
        raise ValueError(f"there is no table under the heading '{heading}'")
    return rows[2:]


def quoted(cell):
    """The words of a cell that stand in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def finish(findings):
    """Prints the findings, one a line; the exit code."""
    for finding in findings:
        print(finding)
    return 1 if findings else 0


def main(check):
    """Runs a check that takes the root folder and gives findings."""
    try:
        sys.exit(finish(check(ROOT)))
    except ValueError as error:
        print(f"ARCHITECTURE.md: {error}")
        sys.exit(1)
