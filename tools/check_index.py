#!/usr/bin/env python3
"""What ARCHITECTURE.md says about files is true.

The table "Where is X": each row names a file, and a type, function, constant, macro or setting that is
declared in it. The block "The path of a search": its files and functions exist. The block "Map": its
folders exist, and none of src/ is missing. Paths in backticks in the documents for contributors exist."""

import re

import sourcelib
from sourcelib import Finding

DOCUMENTS = ("ARCHITECTURE.md", "CONTRIBUTING.md")
# A path of the tree in backticks, without blanks or free names.
PATH = re.compile(r"`((?:src|tests|tools|fuzz|bench|docs|scripts|cmake|config|deploy)/[\w./-]+)`")
# A step of a path: a file below src/, and perhaps a function of it.
STEP = re.compile(r"(\w+/[\w/]+\.(?:cc|h))(?: (\w+)\(\))?")


def defines(text, symbol):
    """Whether C++ (or Python or CMake) `text` declares `symbol`. A name in quotes is a setting's or
    a command's and may stand in any string."""
    if symbol.startswith('"'):
        return symbol in text
    name = re.escape(symbol.split("::")[-1])
    code = sourcelib.without_comments(text)
    return re.search(
        rf"\b(?:class|struct|enum(?: class)?|union|concept|using|def|namespace)\s+(?:\[\[\w+\]\]\s*)?{name}\b"
        rf"|#\s*define\s+{name}\b"
        rf"|\bfunction\({name}\b"
        rf"|[\w>&*\]]\s+[&*]?(?:\w+::)*{name}\s*[({{=;]", code) is not None


def check_table(architecture, root):
    for number, cells in sourcelib.table(architecture, "Where is X"):
        paths, symbols = sourcelib.quoted(cells[1]), sourcelib.quoted(cells[2])
        if len(paths) != 1 or not symbols:
            yield number, "a row names one file and its symbols"
            continue
        if not (root / paths[0]).is_file():
            yield number, f"there is no {paths[0]}"
            continue
        text = sourcelib.read(paths[0], root)
        for symbol in symbols:
            if not defines(text, symbol):
                yield number, f"{paths[0]} does not define {symbol}"


def check_path(architecture, root):
    for number, line in sourcelib.block(architecture, "The path of a search"):
        for path, function in STEP.findall(line):
            if not (root / "src" / path).is_file():
                yield number, f"there is no src/{path}"
            elif function and not defines(sourcelib.read(f"src/{path}", root), function):
                yield number, f"src/{path} does not define {function}"


def check_map(architecture, root):
    shown = set()
    for number, line in sourcelib.block(architecture, "Map"):
        for folder in re.findall(r"[\w/]+/(?=\s)", line.split("  ")[0] + " "):
            shown.add(folder.rstrip("/"))
            if not (root / folder).is_dir():
                yield number, f"there is no {folder}"
    folders = {path.rpartition("/")[0] for path in sourcelib.files(".h", ".cc", under=["src"], root=root)}
    for folder in sorted(folders - shown):
        yield 0, f"the map does not show {folder}/"


def check_mentions(text, root):
    for number, line in enumerate(text.split("\n"), 1):
        for path in PATH.findall(line):
            if not (root / path).exists():
                yield number, f"there is no {path}"


def check(root):
    findings = []
    architecture = sourcelib.read("ARCHITECTURE.md", root)
    for part in (check_map, check_path, check_table):
        findings += [Finding("ARCHITECTURE.md", *found) for found in part(architecture, root)]
    for document in DOCUMENTS:
        if not (root / document).is_file():
            findings.append(Finding(document, 0, "is missing"))
            continue
        text = sourcelib.read(document, root)
        findings += [Finding(document, *found) for found in check_mentions(text, root)]
    return sorted(set(findings), key=lambda finding: (finding.path, finding.line))


if __name__ == "__main__":
    sourcelib.main(check)
